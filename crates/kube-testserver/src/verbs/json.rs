//! JSON as Kubernetes reads it: of a field that comes twice the last one counts, but it is noticed; and what is
//! wrong is said in the words of Go.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::paths::FieldPath;

/// A document, and whether any of its objects has a field twice.
#[derive(Debug, PartialEq)]
pub(super) struct Parsed {
    pub(super) value: Value,
    pub(super) repeats: bool,
}

/// Reads a document in one pass; an error is worded as Go words it.
pub(super) fn parse(body: &[u8]) -> Result<Parsed, String> {
    let repeats = Cell::new(false);
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = Values(&repeats)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| in_words_of_go(body, &error))?;
    Ok(Parsed { value, repeats: repeats.get() })
}

/// Builds a value, and remembers whether a field came twice.
#[derive(Clone, Copy)]
struct Values<'a>(&'a Cell<bool>);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(self)?;
            if object.insert(key, value).is_some() {
                self.0.set(true);
            }
        }
        Ok(Value::Object(object))
    }
}

/// The findings that are reported about one document, as in Kubernetes.
const MAX_FINDINGS: usize = 100;

/// A field of a document that clients are told about, by its path: `spec.containers[0].image`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The kind does not have it.
    Unknown(String),
    /// The same field was there before.
    Repeated(String),
}

/// Returns the first unknown and repeated fields of a document, each once: those of the document in its order, then the unknown
/// ones that it does not have. `unknown` are the paths of the fields that were dropped.
pub(super) fn findings(body: &[u8], unknown: &[String]) -> Vec<Finding> {
    let mut sorted: Vec<&str> = unknown.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut scan = Scan::default();
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    // A document that does not parse was refused before.
    let _ = Fields { scan: &mut scan, unknown: &sorted }.deserialize(&mut deserializer);
    let Scan { mut found, reported, .. } = scan;
    let rest = sorted.into_iter().filter(|path| !reported.contains(*path));
    found.extend(rest.map(|path| Finding::Unknown(path.to_owned())));
    found.truncate(MAX_FINDINGS);
    found
}

/// A walk over the fields of a document.
#[derive(Default)]
struct Scan {
    path: FieldPath,
    found: Vec<Finding>,
    /// The paths of the findings.
    reported: HashSet<String>,
}

impl Scan {
    /// Reports the field at the current path.
    fn report(&mut self, finding: fn(String) -> Finding) {
        if self.found.len() < MAX_FINDINGS && self.reported.insert(self.path.shown()) {
            self.found.push(finding(self.path.shown()));
        }
    }
}

/// Visits a value. No field is compared with whole paths: each step narrows the unknown ones down to those below it.
struct Fields<'a> {
    scan: &'a mut Scan,
    /// The unknown fields whose paths begin with the path of the value, sorted.
    unknown: &'a [&'a str],
}

/// Narrows sorted texts with a common beginning of `at` bytes down to those that go on with `next`.
fn narrowed<'a>(sorted: &'a [&'a str], at: usize, next: &str) -> &'a [&'a str] {
    let rest = |text: &'a str| text.as_bytes().get(at..).unwrap_or_default();
    let first = sorted.partition_point(|text| rest(text) < next.as_bytes());
    let below = &sorted[first..];
    &below[..below.partition_point(|text| rest(text).starts_with(next.as_bytes()))]
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        for at in 0.. {
            let length = self.scan.path.as_str().len();
            let parent = self.scan.path.push_index(at);
            let unknown = narrowed(self.unknown, length, &self.scan.path.as_str()[length..]);
            let more = list.next_element_seed(Fields { scan: &mut *self.scan, unknown })?;
            self.scan.path.go_back(parent);
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            let length = self.scan.path.as_str().len();
            let parent = self.scan.path.push_field(&name);
            let path = self.scan.path.as_str();
            let unknown = narrowed(self.unknown, length, &path[length..]);
            // The path itself comes before everything below it.
            let is_unknown = unknown.first().is_some_and(|first| first.len() == path.len());
            match (is_unknown, !names.insert(name)) {
                (true, false) => self.scan.report(Finding::Unknown),
                (false, true) => self.scan.report(Finding::Repeated),
                _ => {}
            }
            fields.next_value_seed(Fields { scan: &mut *self.scan, unknown })?;
            self.scan.path.go_back(parent);
        }
        Ok(())
    }
}

/// What Go says about a document that is no JSON.
fn in_words_of_go(body: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let said = error.to_string();
    let place = if said.starts_with("expected value") || said.starts_with("expected ident") {
        "looking for beginning of value"
    } else if said.starts_with("key must be a string") || said.starts_with("trailing comma") {
        "looking for beginning of object key string"
    } else if said.starts_with("expected `:`") {
        "after object key"
    } else if said.starts_with("expected `,` or `}`") || said.starts_with("invalid number") {
        "after object key:value pair"
    } else if said.starts_with("expected `,` or `]`") {
        "after array element"
    } else if said.starts_with("trailing characters") {
        "after top-level value"
    } else if said.starts_with("control character") {
        "in string literal"
    } else if said.starts_with("invalid escape") {
        "in string escape code"
    } else {
        return said;
    };
    let line = body.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let found = line.get(error.column().saturating_sub(1)).copied().unwrap_or_default();
    let shown = match found {
        b'\'' => "'\\''".to_owned(),
        found if found.is_ascii_control() => format!("'\\x{found:02x}'"),
        0x80..=0x9f => format!("'\\u{found:04x}'"),
        found => format!("'{}'", char::from(found)),
    };
    format!("invalid character {shown} {place}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::copied_bytes;

    #[test]
    fn the_last_of_two_fields_counts_and_both_are_noticed() {
        let parsed = parse(br#"{"a":{"b":1,"b":[2.5,true,null,"x"]},"c":-1}"#).unwrap();
        assert_eq!(parsed.value, serde_json::json!({"a": {"b": [2.5, true, null, "x"]}, "c": -1}));
        assert!(parsed.repeats);
        assert!(!parse(br#"{"a":{"b":1},"b":1}"#).unwrap().repeats);
    }

    fn found(body: &str, unknown: &[&str]) -> Vec<String> {
        let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        let text = |finding| match finding {
            Finding::Unknown(path) => format!("{path}?"),
            Finding::Repeated(path) => format!("{path}!"),
        };
        findings(body.as_bytes(), &unknown).into_iter().map(text).collect()
    }

    #[test]
    fn fields_are_found_in_the_order_of_the_document_and_once() {
        let body = r#"{"z":{"b":1},"a":[{"x":1,"x":2,"x":3},{"y":1}],"zz":1,"y":1,"y":2}"#;
        let unknown = ["a[1].y", "y", "z", "z.b", "zz", "elsewhere"];
        assert_eq!(found(body, &unknown), ["z?", "z.b?", "a[0].x!", "a[1].y?", "zz?", "y?", "elsewhere?"]);
        assert_eq!(found(body, &[]), ["a[0].x!", "y!"]);
    }

    #[test]
    fn many_fields_below_a_long_name_are_found_without_repeating_it() {
        let work = |fields: usize| {
            let name = "k".repeat(10 * fields);
            let below: Vec<String> = (0..fields).map(|at| format!("\"{at}\":1,\"{at}\":1")).collect();
            let body = format!("{{\"{name}\":{{{}}},\"x\":1}}", below.join(","));
            let mut found = Vec::new();
            let bytes = copied_bytes(|| found = findings(body.as_bytes(), &["x".to_owned(), name.clone()]));
            (bytes, found)
        };
        let ((few, _), (many, found)) = (work(2_000), work(4_000));
        assert!(many <= 2 * few + 1_000, "{few} and {many} bytes of paths");
        assert!(found.len() <= MAX_FINDINGS && found.contains(&Finding::Unknown("x".to_owned())));
    }

    #[test]
    fn errors_are_worded_as_go_words_them() {
        for (body, why) in [
            ("", "unexpected end of JSON input"),
            ("{\"kind\":", "unexpected end of JSON input"),
            ("hello", "invalid character 'h' looking for beginning of value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 x}", "invalid character 'x' after object key:value pair"),
            ("{\"a\":[1 2]}", "invalid character '2' after array element"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\":1} x", "invalid character 'x' after top-level value"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{\"a\":\"\\q\"}", "invalid character 'q' in string escape code"),
        ] {
            assert_eq!(parse(body.as_bytes()).unwrap_err(), why, "{body}");
        }
    }
}
