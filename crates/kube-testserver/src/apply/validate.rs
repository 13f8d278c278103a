//! Whether an applied configuration fits its type, in the words of Kubernetes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::element;
use super::shape::{Shape, Ty, child};
use crate::patch::go_value;
use crate::schema::{Scalar, Type};

/// What is wrong with an object, as one text; none if nothing is.
pub(super) fn validate(object: &Value, ty: Ty<'_>) -> Option<String> {
    let mut problems = Vec::new();
    check(object, ty, "", &mut problems);
    match &problems[..] {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn check(value: &Value, ty: Ty<'_>, path: &str, problems: &mut Vec<String>) {
    let Some(known) = ty else { return };
    if value.is_null() {
        return;
    }
    let mut problem = |message: String| {
        problems.push(if path.is_empty() { message } else { format!("{path}: {message}") });
    };
    match known.ty() {
        Type::Any => {}
        Type::Scalar(scalar) => {
            if let Some(message) = check_scalar(*scalar, value) {
                problem(message);
            }
        }
        Type::Object(_) | Type::Map { .. } => {
            let Value::Object(fields) = value else {
                return problem(format!("expected map, got &{{{}}}", go_value(value)));
            };
            let open = !matches!(known.ty(), Type::Object(object) if !object.preserve_unknown);
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                let (below, is_named) = child(ty, name);
                if !is_named && !open {
                    problems.push(format!("{path}: field not declared in schema"));
                    // Kubernetes stops looking at an object once it knows that much.
                    return;
                }
                check(value, below, &path, problems);
            }
        }
        Type::List { item, .. } => {
            let Value::Array(items) = value else {
                return problem(format!("expected list, got &{{{}}}", go_value(value)));
            };
            check_items(items, Some(known.schema.at(*item)), Shape::of(ty), path, problems);
        }
    }
}

fn check_items(items: &[Value], item_ty: Ty<'_>, shape: Shape<'_>, path: &str, problems: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        let item_path = match shape {
            Shape::List(elements) => match elements.element(item) {
                Ok(element) => {
                    let shown = element::display(&element);
                    if !seen.insert(element) {
                        problems.push(format!("{path}: duplicate entries for key {shown}"));
                    }
                    format!("{path}{shown}")
                }
                Err(message) => {
                    problems.push(format!("{path}: element {at}: {message}"));
                    return;
                }
            },
            _ => format!("{path}[{at}]"),
        };
        check(item, item_ty, &item_path, problems);
    }
}

fn check_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    match scalar {
        Scalar::Int32 | Scalar::Int64 | Scalar::Number => {
            (!value.is_number()).then(|| format!("expected numeric (int or float), got {}", go_type(value)))
        }
        Scalar::String | Scalar::Bytes | Scalar::Duration => (!value.is_string())
            .then(|| format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_literal(value))),
        Scalar::Boolean => {
            (!value.is_boolean()).then(|| format!("expected boolean, got &{{{}}}", go_value(value)))
        }
        Scalar::IntOrString | Scalar::Quantity | Scalar::Time | Scalar::MicroTime => (value.is_object()
            || value.is_array())
        .then(|| format!("expected any scalar, got &{{{}}}", go_value(value))),
    }
}

/// The Go type of a decoded value.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go's `%#v` prints it.
fn go_literal(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_literal).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("\"{key}\":{}", go_literal(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::builtin;

    fn problem(object: &Value) -> Option<String> {
        validate(object, builtin().root("v1", "Pod"))
    }

    #[test]
    fn a_proper_object_has_no_problem() {
        let pod: Value = serde_json::from_str(include_str!("../../data/pod.json")).expect("a pod");
        assert_eq!(problem(&pod), None);
    }

    #[test]
    fn unknown_fields_are_named() {
        assert_eq!(
            problem(&json!({"spec": {"foo": 1}})).as_deref(),
            Some(".spec.foo: field not declared in schema")
        );
    }

    #[test]
    fn types_are_checked() {
        let container = |field: Value| json!({"spec": {"containers": [field]}});
        assert_eq!(
            problem(&container(json!({"name": "a", "image": 1}))).as_deref(),
            Some(
                r#".spec.containers[name="a"].image: expected string, got &value.valueUnstructured{Value:1}"#
            )
        );
        assert_eq!(
            problem(&json!({"spec": {"priority": "x"}})).as_deref(),
            Some(".spec.priority: expected numeric (int or float), got string")
        );
        assert_eq!(
            problem(&json!({"spec": {"hostNetwork": "yes"}})).as_deref(),
            Some(".spec.hostNetwork: expected boolean, got &{yes}")
        );
        assert_eq!(
            problem(&json!({"spec": {"containers": "x"}})).as_deref(),
            Some(".spec.containers: expected list, got &{x}")
        );
        assert_eq!(problem(&json!({"spec": 1})).as_deref(), Some(".spec: expected map, got &{1}"));
    }

    #[test]
    fn duplicate_and_missing_keys_are_problems() {
        assert_eq!(
            problem(&json!({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}})).as_deref(),
            Some(r#".spec.containers: duplicate entries for key [name="a"]"#)
        );
        assert_eq!(
            problem(&json!({"spec": {"containers": [null]}})).as_deref(),
            Some(".spec.containers: element 0: associative list with keys may not have a null element")
        );
        // The name has a default, an empty one, which makes this valid here and invalid later.
        assert_eq!(problem(&json!({"spec": {"containers": [{"image": "x"}]}})), None);
    }

    #[test]
    fn several_problems_are_listed() {
        assert_eq!(
            problem(&json!({"spec": {"hostNetwork": 1, "priority": "x"}})).as_deref(),
            Some(
                "errors:\n  .spec.hostNetwork: expected boolean, got &{1}\n  .spec.priority: expected numeric \
                 (int or float), got string"
            )
        );
    }
}
