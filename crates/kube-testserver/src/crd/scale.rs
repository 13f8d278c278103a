//! The scale subresource: replicas, seen and set without knowing the kind.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::causes::{invalid, invalid_text, print_go};
use super::columns::check_simple_path;
use super::props::or_default;
use crate::status::Cause;

/// Where a custom resource keeps its replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    /// The field with the selector in text form, if there is one.
    pub(crate) label_selector: Option<String>,
}

/// The paths as written in a definition.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RawScale {
    #[serde(deserialize_with = "or_default")]
    spec_replicas_path: String,
    #[serde(deserialize_with = "or_default")]
    status_replicas_path: String,
    label_selector_path: Option<String>,
}

/// The largest number of replicas: they are 32 bits wide.
const MAX_REPLICAS: i64 = i32::MAX as i64;

impl ScalePaths {
    /// The `Scale` of a custom resource. None if the object has no number of replicas in its spec; an error
    /// if what is there is no number.
    pub(crate) fn scale(&self, object: &Value) -> Result<Option<Value>, String> {
        let desired = read_integer(object, &self.spec_replicas)?;
        let current = read_integer(object, &self.status_replicas)?.unwrap_or(0);
        let selector = match &self.label_selector {
            Some(path) => read_text(object, path)?.unwrap_or_default(),
            None => String::new(),
        };
        Ok(desired.map(|desired| scale_object(object, desired, current, &selector)))
    }

    /// Sets the number of replicas in a custom resource's spec.
    pub(crate) fn set_replicas(&self, object: &mut Value, replicas: i64) {
        set_path(object, &self.spec_replicas, json!(replicas));
    }

    /// What is wrong with the replicas in a custom resource's spec.
    pub(super) fn check_spec(&self, object: &Value) -> Vec<Cause> {
        check_replicas(object, &self.spec_replicas)
    }

    /// What is wrong with the replicas and the selector in a custom resource's status.
    pub(super) fn check_status(&self, object: &Value) -> Vec<Cause> {
        let mut causes = check_replicas(object, &self.status_replicas);
        if let Some(path) = &self.label_selector
            && let Err(error) = read_text(object, path)
        {
            causes.push(invalid_text(path, "", &error));
        }
        causes
    }

    pub(super) fn read(raw: &RawScale) -> Self {
        Self {
            spec_replicas: raw.spec_replicas_path.clone(),
            status_replicas: raw.status_replicas_path.clone(),
            label_selector: raw.label_selector_path.clone().filter(|path| !path.is_empty()),
        }
    }
}

/// The `Scale` of a built-in workload (Deployment, ReplicaSet, StatefulSet, ReplicationController), whose
/// replicas are always at `spec.replicas` and `status.replicas`.
pub(crate) fn builtin_scale(object: &Value) -> Value {
    let number = |part: &str| object[part]["replicas"].as_i64().unwrap_or(0);
    let selector = selector_text(&object["spec"]["selector"]);
    scale_object(object, number("spec"), number("status"), selector.as_deref().unwrap_or_default())
}

/// A label selector in text form, as it is written in a query: `a=b,c in (d,e)`, sorted by key.
///
/// Understands both forms: `matchLabels` with `matchExpressions`, and the plain map of a
/// ReplicationController. None if an expression has an unknown operator.
pub(crate) fn selector_text(selector: &Value) -> Option<String> {
    let Some(selector) = selector.as_object() else { return Some(String::new()) };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let structured = selector.is_empty()
        || selector.contains_key("matchExpressions")
        || selector.get("matchLabels").is_some_and(Value::is_object);
    let labels =
        if structured { selector.get("matchLabels").and_then(Value::as_object) } else { Some(selector) };
    // Sorting is by key; a key that is there twice keeps the order in which it is written.
    let mut parts: Vec<(String, String)> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), format!("{key}={}", text(value))))
        .collect();
    let expressions = selector.get("matchExpressions").filter(|_| structured).and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let key = text(&expression["key"]);
        let mut values: Vec<String> =
            expression["values"].as_array().into_iter().flatten().map(text).collect();
        values.sort_unstable();
        let values = values.join(",");
        let part = match expression["operator"].as_str()? {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.clone(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        };
        parts.push((key, part));
    }
    parts.sort_by(|one, other| one.0.cmp(&other.0));
    Some(parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(","))
}

/// What is wrong with the paths of a definition.
pub(super) fn check_paths(raw: &RawScale, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (name, text, under) in [
        ("specReplicasPath", &raw.spec_replicas_path, ".spec"),
        ("statusReplicasPath", &raw.status_replicas_path, ".status"),
    ] {
        let field = format!("{path}.scale.{name}");
        if text.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if let Some(cause) = check_simple_path(text, field.clone()) {
            causes.push(cause);
        } else if !text.starts_with(&format!("{under}.")) {
            causes.push(invalid_text(field, text, &format!("should be a json path under {under}")));
        }
    }
    if let Some(text) = raw.label_selector_path.as_deref().filter(|text| !text.is_empty()) {
        let field = format!("{path}.scale.labelSelectorPath");
        if let Some(cause) = check_simple_path(text, field.clone()) {
            causes.push(cause);
        } else if !text.starts_with(".spec.") && !text.starts_with(".status.") {
            let detail = "should be a json path under either .spec or .status";
            causes.push(invalid_text(field, text, detail));
        }
    }
    causes
}

fn scale_object(object: &Value, desired: i64, current: i64, selector: &str) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    // Zero and the empty text are left out, except for the current replicas.
    let mut spec = Map::new();
    if desired != 0 {
        spec.insert("replicas".to_owned(), json!(desired));
    }
    let mut status = Map::new();
    status.insert("replicas".to_owned(), json!(current));
    if !selector.is_empty() {
        status.insert("selector".to_owned(), json!(selector));
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    })
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// The value at a simple path; an error if something on the way is no object.
fn read_path<'v>(object: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    let mut value = object;
    for (at, name) in names(path).enumerate() {
        match value {
            Value::Object(map) => match map.get(name) {
                Some(below) => value = below,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => {
                let walked = names(path).take(at + 1).collect::<Vec<_>>().join(".");
                return Err(accessor_error(&walked, other, "map[string]interface{}"));
            }
        }
    }
    Ok(Some(value))
}

fn read_integer(object: &Value, path: &str) -> Result<Option<i64>, String> {
    let Some(value) = read_path(object, path)? else { return Ok(None) };
    match value.as_i64() {
        Some(number) => Ok(Some(number)),
        None => Err(accessor_error(path.trim_start_matches('.'), value, "int64")),
    }
}

fn read_text(object: &Value, path: &str) -> Result<Option<String>, String> {
    let Some(value) = read_path(object, path)? else { return Ok(None) };
    match value {
        Value::String(text) => Ok(Some(text.clone())),
        other => Err(accessor_error(path.trim_start_matches('.'), other, "string")),
    }
}

fn accessor_error(path: &str, value: &Value, expected: &str) -> String {
    let ty = match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    format!(".{path} accessor error: {} is of the type {ty}, expected {expected}", print_go(value))
}

fn check_replicas(object: &Value, path: &str) -> Vec<Cause> {
    match read_integer(object, path) {
        Err(error) => vec![invalid(path, &json!(0), &error)],
        Ok(Some(number)) if number < 0 => {
            vec![invalid(path, &json!(number), "should be a non-negative integer")]
        }
        Ok(Some(number)) if number > MAX_REPLICAS => {
            let detail = format!("should be less than or equal to {MAX_REPLICAS}");
            vec![invalid(path, &json!(number), &detail)]
        }
        Ok(_) => Vec::new(),
    }
}

/// Sets the value at a simple path, creating the objects on the way.
fn set_path(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for name in names(path) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[name];
    }
    *at = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> ScalePaths {
        ScalePaths {
            spec_replicas: ".spec.size".to_owned(),
            status_replicas: ".status.size".to_owned(),
            label_selector: Some(".status.selector".to_owned()),
        }
    }

    #[test]
    fn a_custom_object_is_seen_as_a_scale() {
        let object = json!({
            "metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}},
            "spec": {"size": 3}, "status": {"size": 2, "selector": "app=a"}});
        let expected = json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7"},
            "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "app=a"}});
        assert_eq!(paths().scale(&object), Ok(Some(expected)));
        assert_eq!(paths().scale(&json!({"metadata": {}})), Ok(None));
        assert_eq!(
            paths().scale(&json!({"spec": {"size": "x"}})),
            Err(".spec.size accessor error: x is of the type string, expected int64".to_owned())
        );
    }

    #[test]
    fn replicas_are_written_back_where_they_belong() {
        let mut object = json!({"metadata": {"name": "a"}});
        paths().set_replicas(&mut object, 5);
        assert_eq!(object, json!({"metadata": {"name": "a"}, "spec": {"size": 5}}));
    }

    #[test]
    fn built_in_selectors_become_text() {
        let deployment = json!({"metadata": {"name": "d"}, "spec": {"replicas": 0, "selector": {
            "matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [{"key": "c", "operator": "In", "values": ["y", "x"]},
                {"key": "d", "operator": "DoesNotExist"}]}}});
        let scale = builtin_scale(&deployment);
        assert_eq!(scale["status"]["selector"], json!("a=1,b=2,c in (x,y),!d"));
        assert_eq!(scale["spec"], json!({}));
        let controller =
            json!({"spec": {"replicas": 2, "selector": {"app": "x"}}, "status": {"replicas": 1}});
        let scale = builtin_scale(&controller);
        assert_eq!(scale["status"], json!({"replicas": 1, "selector": "app=x"}));
        assert_eq!(selector_text(&json!({"matchExpressions": [{"key": "a", "operator": "Odd"}]})), None);
    }
}
