//! Objects inside objects (`x-kubernetes-embedded-resource`): they have a kind and a version of their own.
//!
//! Their `metadata` must be an object; its fields (label syntax and so on) are not checked further.

use serde_json::Value;

use super::causes::{invalid, invalid_text};
use super::structural::Structural;
use crate::names::label_1035;
use crate::status::Cause;

/// What is wrong with the embedded objects in a value at a path.
pub(super) fn check(schema: &Structural, value: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_value(schema, value, path, &mut causes);
    causes
}

fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn check_value(schema: &Structural, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(map) => {
            if schema.embedded_resource {
                check_meta(map, path, causes);
            }
            for (name, value) in map {
                if let Some(property) = schema.properties.get(name.as_str()) {
                    check_value(property, value, &child(path, name), causes);
                } else if let Some(additional) = schema.additional_schema() {
                    check_value(additional, value, &format!("{path}[{name}]"), causes);
                }
            }
        }
        Value::Array(list) => {
            if let Some(item) = &schema.items {
                for (at, element) in list.iter().enumerate() {
                    check_value(item, element, &format!("{path}[{at}]"), causes);
                }
            }
        }
        _ => {}
    }
}

fn check_meta(map: &serde_json::Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"] {
        let field = child(path, name);
        match map.get(name) {
            None => causes.push(Cause::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                causes.push(invalid_text(field, text, "must not be empty"));
            }
            Some(Value::String(text)) if name == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    let detail = format!("unexpected GroupVersion string: {text}");
                    causes.push(invalid_text(field, text, &detail));
                }
            }
            Some(Value::String(text)) => {
                let wrong = label_1035(&text.to_lowercase());
                if !wrong.is_empty() {
                    let detail =
                        format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                    causes.push(invalid_text(field, text, &detail));
                }
            }
            Some(other) => causes.push(invalid(field, other, "must be a string")),
        }
    }
    if let Some(metadata) = map.get("metadata")
        && !metadata.is_object()
    {
        causes.push(invalid(child(path, "metadata"), metadata, "must be an object"));
    }
}
