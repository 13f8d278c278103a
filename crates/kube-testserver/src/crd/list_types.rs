//! Uniqueness in lists: the elements of a set, and the keys of a list that is a map.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::causes::{duplicate, invalid};
use super::structural::{ListType, Structural};
use crate::paths::FieldPath;
use crate::status::Cause;

/// The problems that are reported about one object.
const MAX_PROBLEMS: usize = 256;

/// The first elements that are there twice. Each is reported once, where it appears for the second time.
pub(super) fn check(schema: &Structural, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_value(schema, object, &mut FieldPath::default(), &mut causes);
    causes.truncate(MAX_PROBLEMS);
    causes
}

fn check_value(schema: &Structural, value: &Value, path: &mut FieldPath, causes: &mut Vec<Cause>) {
    if causes.len() >= MAX_PROBLEMS {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, child) in map {
                if let Some(property) = schema.properties.get(name.as_str()) {
                    let parent = path.push_field(name);
                    check_value(property, child, path, causes);
                    path.go_back(parent);
                }
                if let Some(additional) = schema.additional_schema() {
                    let parent = path.push_text("[");
                    path.push_text(name);
                    path.push_text("]");
                    check_value(additional, child, path, causes);
                    path.go_back(parent);
                }
            }
        }
        Value::Array(list) => {
            match &schema.list_type {
                ListType::Atomic => {}
                ListType::Set => {
                    for at in second_appearances(list) {
                        causes.push(duplicate(element_path(path, at), &list[at]));
                    }
                }
                ListType::Map(keys) => check_keys(keys, list, path, causes),
            }
            if let Some(item) = &schema.items {
                for (at, element) in list.iter().enumerate() {
                    let parent = path.push_index(at);
                    check_value(item, element, path, causes);
                    path.go_back(parent);
                }
            }
        }
        _ => {}
    }
}

fn element_path(list: &FieldPath, at: usize) -> String {
    format!("{}[{at}]", list.shown())
}

fn check_keys(keys: &[Box<str>], list: &[Value], path: &FieldPath, causes: &mut Vec<Cause>) {
    if let Some(at) = list.iter().position(|element| !element.is_object() && !element.is_null()) {
        let detail = "must be an object for an array of list-type map";
        causes.push(invalid(element_path(path, at), &list[at], detail));
        return;
    }
    let identities: Vec<Value> = list
        .iter()
        .map(|element| {
            let identity: Map<String, Value> = keys
                .iter()
                .filter_map(|key| Some(((**key).to_owned(), element.get(&**key)?.clone())))
                .collect();
            Value::Object(identity)
        })
        .collect();
    for at in second_appearances(&identities) {
        causes.push(duplicate(element_path(path, at), &identities[at]));
    }
}

fn second_appearances(list: &[Value]) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(list.len());
    let mut second = Vec::new();
    for (at, value) in list.iter().enumerate() {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 && second.len() < MAX_PROBLEMS {
            second.push(at);
        }
    }
    second
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::json;

    use super::super::pattern::Patterns;
    use super::super::props::Props;
    use super::*;

    fn check_json(schema: Value, value: &Value) -> Vec<String> {
        let schema = Structural::compile(Props::deserialize(schema).unwrap(), &mut Patterns::default());
        check(&schema, value).iter().map(Cause::to_string).collect()
    }

    #[test]
    fn sets_have_no_element_twice() {
        let schema = json!({"properties": {"tags": {"type": "array", "x-kubernetes-list-type": "set"}}});
        let value = json!({"tags": ["a", "b", "a", "a"]});
        assert_eq!(check_json(schema, &value), [r#"tags[2]: Duplicate value: "a""#]);
    }

    #[test]
    fn maps_have_no_key_twice() {
        let schema = json!({"properties": {"spec": {"properties": {"ports": {
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {}}}}}});
        let value = json!({"spec": {"ports": [{"name": "a", "n": 1}, {"name": "b"}, {"name": "a", "n": 2}]}});
        assert_eq!(check_json(schema, &value), [r#"spec.ports[2]: Duplicate value: {"name":"a"}"#]);
    }

    #[test]
    fn maps_inside_maps_are_checked_under_their_keys() {
        let schema = json!({"properties": {"m": {"additionalProperties": {
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}}}});
        let value = json!({"m": {"k": [{"a": 1}, {"a": 1, "b": 2}, {"a": 1}]}});
        assert_eq!(check_json(schema, &value), [r#"m[k][2]: Duplicate value: {"a":1}"#]);
    }
}
