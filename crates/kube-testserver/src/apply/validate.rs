//! Whether an applied configuration fits its type, in the words of Kubernetes.

use std::collections::HashSet;
use std::fmt::{self, Display};

use serde_json::Value;

use super::element;
use super::shape::{Shape, Ty, child};
use crate::patch::go_value;
use crate::schema::{Scalar, Type};

/// The bytes of problems that are told of one object. Paths repeat what the object has once.
const MAX_PROBLEM_BYTES: usize = 64 * 1024;

/// What is wrong with an object, as one text; none if nothing is.
pub(super) fn validate(object: &Value, ty: Ty<'_>) -> Option<String> {
    let mut problems = Problems::default();
    check(object, ty, &Path::Root, &mut problems);
    match &problems.all[..] {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n  {}", many.join("\n  "))),
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
struct Problems {
    all: Vec<String>,
    bytes: usize,
}

impl Problems {
    /// Adds a problem, unless enough have been found.
    fn push(&mut self, path: &Path<'_>, message: impl Display) {
        if self.bytes < MAX_PROBLEM_BYTES {
            let colon = if matches!(path, Path::Root) { "" } else { ": " };
            let problem = format!("{path}{colon}{message}");
            self.bytes += problem.len();
            self.all.push(problem);
        }
    }
}

/// Where a value is. It is written only where something is wrong: a path may be as long as the object.
#[derive(Clone, Copy, Debug)]
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Element(&'a Path<'a>, &'a str),
    Position(&'a Path<'a>, usize),
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(above, name) => write!(f, "{above}.{name}"),
            Self::Element(above, element) => write!(f, "{above}{}", element::display(element)),
            Self::Position(above, at) => write!(f, "{above}[{at}]"),
        }
    }
}

fn check(value: &Value, ty: Ty<'_>, path: &Path<'_>, problems: &mut Problems) {
    let Some(known) = ty else { return };
    if value.is_null() {
        return;
    }
    match known.ty() {
        Type::Any => {}
        Type::Scalar(scalar) => {
            if let Some(message) = check_scalar(*scalar, value) {
                problems.push(path, message);
            }
        }
        Type::Object(_) | Type::Map { .. } => {
            let Value::Object(fields) = value else {
                return problems.push(path, format!("expected map, got &{{{}}}", go_value(value)));
            };
            let open = !matches!(known.ty(), Type::Object(object) if !object.preserve_unknown);
            for (name, value) in fields {
                let path = Path::Field(path, name);
                let (below, is_named) = child(ty, name);
                if !is_named && !open {
                    // Kubernetes stops looking at an object once it knows that much.
                    return problems.push(&path, "field not declared in schema");
                }
                check(value, below, &path, problems);
            }
        }
        Type::List { item, .. } => {
            let Value::Array(items) = value else {
                return problems.push(path, format!("expected list, got &{{{}}}", go_value(value)));
            };
            check_items(items, Some(known.schema.at(*item)), Shape::of(ty), path, problems);
        }
    }
}

fn check_items(items: &[Value], item_ty: Ty<'_>, shape: Shape<'_>, path: &Path<'_>, problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        let Shape::List(elements) = shape else {
            check(item, item_ty, &Path::Position(path, at), problems);
            continue;
        };
        let element = match elements.element(item) {
            Ok(element) => element,
            Err(message) => return problems.push(path, format!("element {at}: {message}")),
        };
        if seen.contains(&element) {
            problems.push(path, format!("duplicate entries for key {}", element::display(&element)));
        }
        check(item, item_ty, &Path::Element(path, &element), problems);
        seen.insert(element);
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
    fn problems_are_bounded_in_bytes() {
        // One name in the path of each problem below it.
        let ports = |count: usize| vec![json!({"containerPort": "x"}); count];
        let pod = |length: usize, count: usize| json!({"spec": {"containers": [{"name": "n".repeat(length), "ports": ports(count)}]}});
        let (few, many) = (problem(&pod(1_000, 1_000)), problem(&pod(2_000, 2_000)));
        for text in [few, many] {
            let text = text.expect("no numbers");
            assert!(text.len() < MAX_PROBLEM_BYTES + 4 * 1024, "{} bytes", text.len());
        }
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
