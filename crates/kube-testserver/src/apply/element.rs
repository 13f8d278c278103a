//! The elements of field paths, as text.
//!
//! Kubernetes writes an element as a prefix and a value: `f:spec` is the field `spec`, `k:{"name":"a"}` the
//! list element with that key, `v:"x"` the value `x` of a set, `i:0` a position. This text is also how
//! elements are kept in memory, because it is what [`FieldSet`](super::FieldSet) stores.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::shape::Ty;

/// The element of a field.
pub(super) fn field(name: &str) -> String {
    let mut element = String::with_capacity(2 + name.len());
    element.push_str("f:");
    element.push_str(name);
    element
}

/// The element of a value in a set, or why it has none.
pub(super) fn set_item(item: &Value) -> Result<String, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(format!("v:{scalar}")),
    }
}

/// The element of an object in a list with keys, or why it has none. Keys that the object leaves out count
/// with their default.
pub(super) fn keyed_item(item: &Value, keys: &[Box<str>], ty: Ty<'_>) -> Result<String, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut found: Vec<(&str, &Value)> = Vec::with_capacity(keys.len());
    for key in keys {
        let default = || ty.and_then(|ty| ty.field(key)).and_then(|field| field.default.as_ref());
        if let Some(value) = fields.get(&**key).or_else(default) {
            found.push((key, value));
        }
    }
    if found.is_empty() {
        let keys: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
             default values for any key fields)",
            keys.join(" ")
        ));
    }
    found.sort_unstable_by_key(|(key, _)| *key);
    let mut element = String::from("k:{");
    for (index, (key, value)) in found.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(element, "{comma}\"{key}\":{value}");
    }
    element.push('}');
    Ok(element)
}

/// Brings the text of an element into the one form that this module writes. `None` is for kinds of elements
/// that a later Kubernetes may have; they are dropped when read.
pub(super) fn canonical(element: &str) -> Result<Option<String>, String> {
    let Some((kind, rest)) = element.split_once(':') else {
        return Err(format!("missing colon: {element}"));
    };
    let invalid = |error: serde_json::Error| format!("{element}: {error}");
    match kind {
        "f" => Ok(Some(element.to_owned())),
        "v" => {
            let value: Value = serde_json::from_str(rest).map_err(invalid)?;
            Ok(Some(format!("v:{value}")))
        }
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).map_err(invalid)?;
            let names: Vec<Box<str>> = keys.keys().map(|key| key.as_str().into()).collect();
            keyed_item(&Value::Object(keys), &names, None).map(Some)
        }
        "i" => {
            let index: i64 = rest.parse().map_err(|error| format!("{element}: {error}"))?;
            Ok(Some(format!("i:{index}")))
        }
        _ if kind.len() == 1 => Ok(None),
        _ => Err(format!("missing colon: {element}")),
    }
}

/// An element as people read it: `.spec`, `[name="a"]`, `[="x"]`, `[0]`.
pub(super) fn display(element: &str) -> String {
    match element.split_at_checked(2) {
        Some(("f:", name)) => format!(".{name}"),
        Some(("v:", value)) => format!("[={value}]"),
        Some(("i:", index)) => format!("[{index}]"),
        Some(("k:", _)) => {
            let keys: Vec<String> =
                keys(element).iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        _ => element.to_owned(),
    }
}

/// The order in which Kubernetes lists elements: fields, keyed items, values, positions. Numbers go by size,
/// which is why this is not the order of the texts.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let rank = |element: &str| match element.as_bytes().first() {
        Some(b'f') => 0,
        Some(b'k') => 1,
        Some(b'v') => 2,
        _ => 3,
    };
    let by_value = || match rank(a) {
        1 => {
            let (a, b) = (keys(a), keys(b));
            let pairs = a.iter().zip(&b);
            pairs
                .map(|((a_key, a), (b_key, b))| a_key.cmp(b_key).then_with(|| compare_scalars(a, b)))
                .find(|ordering| ordering.is_ne())
                .unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        2 | 3 => compare_scalars(&value(a), &value(b)),
        _ => Ordering::Equal,
    };
    rank(a).cmp(&rank(b)).then_with(by_value).then_with(|| a.cmp(b))
}

fn keys(element: &str) -> Vec<(String, Value)> {
    let keys: Map<String, Value> =
        element.get(2..).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    keys.into_iter().collect()
}

fn value(element: &str) -> Value {
    element.get(2..).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn compare_scalars(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_defaults_are_left_to_the_type() {
        let keys = ["protocol".into(), "containerPort".into()];
        let item = json!({"containerPort": 80, "protocol": "TCP", "name": "x"});
        assert_eq!(
            keyed_item(&item, &keys, None),
            Ok(r#"k:{"containerPort":80,"protocol":"TCP"}"#.to_owned())
        );
        let missing = keyed_item(&json!({"name": "x"}), &keys, None).expect_err("no key");
        assert_eq!(
            missing,
            "associative list with keys has an element that omits all key fields \
             [\"protocol\" \"containerPort\"] (and doesn't have default values for any key fields)"
        );
    }

    #[test]
    fn only_scalars_are_values_of_sets() {
        assert_eq!(set_item(&json!("a")), Ok(r#"v:"a""#.to_owned()));
        assert_eq!(set_item(&json!(1)), Ok("v:1".to_owned()));
        assert!(set_item(&json!({})).is_err());
        assert!(set_item(&json!(null)).is_err());
    }

    #[test]
    fn other_spellings_become_canonical() {
        assert_eq!(canonical(r#"k:{"b": 1, "a": "x"}"#), Ok(Some(r#"k:{"a":"x","b":1}"#.to_owned())));
        assert_eq!(canonical("f:a:b"), Ok(Some("f:a:b".to_owned())));
        assert_eq!(canonical("i:01"), Ok(Some("i:1".to_owned())));
        assert_eq!(canonical("x:later"), Ok(None));
        assert!(canonical("k:{").is_err());
        assert!(canonical("spec").is_err());
    }

    #[test]
    fn elements_are_shown_like_kubernetes_does() {
        assert_eq!(display("f:spec"), ".spec");
        assert_eq!(
            display(r#"k:{"containerPort":80,"protocol":"TCP"}"#),
            r#"[containerPort=80,protocol="TCP"]"#
        );
        assert_eq!(display(r#"v:"a""#), r#"[="a"]"#);
        assert_eq!(display("i:3"), "[3]");
    }

    #[test]
    fn numbers_are_ordered_by_size() {
        assert!(compare(r#"k:{"port":9}"#, r#"k:{"port":10}"#).is_lt());
        assert!(compare("f:z", r#"k:{"a":1}"#).is_lt());
        assert!(compare("v:\"b\"", "v:\"a\"").is_gt());
        assert!(compare("i:2", "i:10").is_lt());
    }
}
