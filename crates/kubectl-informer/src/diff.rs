//! What is different between two states of an object.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

/// A field that is not as it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    /// `spec.replicas`, `spec.containers[web].image`, `metadata.labels[example.com/tier]`.
    pub(crate) path: String,
    /// None if the field was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<Value>,
    /// None if the field is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<Value>,
}

/// Fields that change with every write and say nothing, or repeat the rest.
const NOISE: [&str; 4] = [
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
];

/// The fields by which items of lists are told apart, where each has one of its own.
const KEYS: [&str; 2] = ["name", "type"];

/// The fields that differ, in the order of their names. What changes with every write is left out.
pub(crate) fn changes(old: &Value, new: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare(&mut found, "", Some(old), Some(new));
    found
}

/// Goes as deep as JSON from a server does, which the decoder bounds.
fn compare(found: &mut Vec<Change>, path: &str, old: Option<&Value>, new: Option<&Value>) {
    if old == new || NOISE.contains(&path) {
        return;
    }
    if let (Some(Value::Object(before)), Some(Value::Object(after))) = (old, new) {
        maps(found, path, Some(before), Some(after));
    } else if let (Some(before), Some(after)) = (fields(old), fields(new)) {
        maps(found, path, before, after);
    } else if let (Some(before), Some(after)) = (items(old), items(new))
        && lists(found, path, before, after)
    {
        // Said item by item.
    } else {
        found.push(Change { path: path.to_owned(), old: old.cloned(), new: new.cloned() });
    }
}

type Fields<'a> = Option<&'a Map<String, Value>>;

/// What is not there has no fields; what is something else, or an empty map that comes or goes, is compared as a whole.
fn fields(value: Option<&Value>) -> Option<Fields<'_>> {
    match value {
        None => Some(None),
        Some(Value::Object(map)) if !map.is_empty() => Some(Some(map)),
        Some(_) => None,
    }
}

fn maps(found: &mut Vec<Change>, path: &str, old: Fields<'_>, new: Fields<'_>) {
    let names: BTreeSet<&String> = old.into_iter().chain(new).flat_map(Map::keys).collect();
    for name in names {
        compare(
            found,
            &below(path, name),
            old.and_then(|old| old.get(name)),
            new.and_then(|new| new.get(name)),
        );
    }
}

/// What is not there has no items.
fn items(value: Option<&Value>) -> Option<&[Value]> {
    match value {
        None => Some(&[]),
        Some(Value::Array(items)) => Some(items),
        Some(_) => None,
    }
}

/// Compares item by item; false if nobody knows which belongs to which.
fn lists(found: &mut Vec<Change>, path: &str, old: &[Value], new: &[Value]) -> bool {
    for key in KEYS {
        if let (Some(before), Some(after)) = (keyed(old, key), keyed(new, key))
            && !(before.is_empty() && after.is_empty())
        {
            // In the order of the list: containers have one.
            let gone = before.iter().filter(|(name, _)| find(&after, name).is_none());
            for (name, _) in after.iter().chain(gone) {
                compare(found, &format!("{path}[{name}]"), find(&before, name), find(&after, name));
            }
            return true;
        }
    }
    if old.len() == new.len() && !old.is_empty() && old.iter().chain(new).all(Value::is_object) {
        for (at, (before, after)) in old.iter().zip(new).enumerate() {
            compare(found, &format!("{path}[{at}]"), Some(before), Some(after));
        }
        return true;
    }
    false
}

/// The items of a list by a field, if each has a value of its own there.
fn keyed<'a>(list: &'a [Value], key: &str) -> Option<Vec<(&'a str, &'a Value)>> {
    let mut seen = BTreeSet::new();
    list.iter()
        .map(|item| {
            let name = item.get(key)?.as_str()?;
            seen.insert(name).then_some((name, item))
        })
        .collect()
}

fn find<'a>(items: &[(&str, &'a Value)], name: &str) -> Option<&'a Value> {
    items.iter().find(|(found, _)| *found == name).map(|(_, item)| *item)
}

fn below(path: &str, name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match (path, plain) {
        ("", _) => name.to_owned(),
        (_, true) => format!("{path}.{name}"),
        (_, false) => format!("{path}[{name}]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each change as `path old new`, with `-` for what is not there.
    fn words(old: &Value, new: &Value) -> Vec<String> {
        let text = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        changes(old, new)
            .iter()
            .map(|change| format!("{} {} {}", change.path, text(&change.old), text(&change.new)))
            .collect()
    }

    #[test]
    fn each_field_that_differs_is_named_once_with_both_values() {
        let old = json!({"spec": {"replicas": 2, "paused": true}, "status": {"ready": 1}});
        let new = json!({"spec": {"replicas": 3, "minReady": 5}, "status": {"ready": 1}});
        assert_eq!(words(&old, &new), ["spec.minReady - 5", "spec.paused true -", "spec.replicas 2 3"]);
        assert!(changes(&old, &old).is_empty());
    }

    #[test]
    fn what_changes_with_every_write_is_left_out() {
        let meta = |version: &str| {
            json!({"metadata": {
                "name": "a", "resourceVersion": version, "generation": version.len(), "managedFields": [version],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": version, "a/b": "c"},
            }})
        };
        assert!(changes(&meta("1"), &meta("22")).is_empty());
    }

    #[test]
    fn names_with_dots_are_set_off() {
        let old = json!({"metadata": {"labels": {"app": "web"}}});
        let new = json!({"metadata": {"labels": {"app": "api", "example.com/tier": "front"}}});
        assert_eq!(
            words(&old, &new),
            [r#"metadata.labels.app "web" "api""#, r#"metadata.labels[example.com/tier] - "front""#]
        );
    }

    #[test]
    fn a_map_that_comes_or_goes_is_named_by_its_fields() {
        let old = json!({"data": {"a": "1"}});
        let new = json!({"status": {
            "phase": "Running", "empty": {}, "conditions": [{"type": "Ready"}], "ips": [{"ip": "1"}], "none": [],
        }});
        assert_eq!(
            words(&old, &new),
            [
                r#"data.a "1" -"#,
                r#"status.conditions[Ready].type - "Ready""#,
                "status.empty - {}",
                r#"status.ips - [{"ip":"1"}]"#,
                "status.none - []",
                r#"status.phase - "Running""#,
            ]
        );
        assert_eq!(words(&json!({"spec": {}}), &json!({"spec": {"a": 1}})), ["spec.a - 1"]);
        assert_eq!(words(&json!({"spec": {"a": 1}}), &json!({"spec": {}})), ["spec.a 1 -"]);
        assert_eq!(words(&json!({"spec": 1}), &json!({"spec": {"a": 1}})), [r#"spec 1 {"a":1}"#]);
    }

    #[test]
    fn items_are_told_apart_by_name_or_type_whatever_their_place() {
        let old = json!({"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]});
        let new = json!({"containers": [{"name": "b", "image": "b:2"}, {"name": "a", "image": "a:1"}]});
        assert_eq!(words(&old, &new), [r#"containers[b].image "b:1" "b:2""#]);
        let old =
            json!({"conditions": [{"type": "Ready", "status": "False"}, {"type": "Old", "status": "True"}]});
        let new =
            json!({"conditions": [{"type": "New", "status": "True"}, {"type": "Ready", "status": "True"}]});
        assert_eq!(
            words(&old, &new),
            [
                r#"conditions[New].status - "True""#,
                r#"conditions[New].type - "New""#,
                r#"conditions[Ready].status "False" "True""#,
                r#"conditions[Old].status "True" -"#,
                r#"conditions[Old].type "Old" -"#,
            ]
        );
    }

    #[test]
    fn items_without_a_name_are_told_apart_by_place_and_plain_ones_not_at_all() {
        let old = json!({"ports": [{"port": 1}, {"port": 2}], "args": ["a", "b"], "ips": [{"ip": "1"}]});
        let new = json!({"ports": [{"port": 1}, {"port": 3}], "args": ["b"], "ips": []});
        assert_eq!(
            words(&old, &new),
            [r#"args ["a","b"] ["b"]"#, r#"ips [{"ip":"1"}] []"#, "ports[1].port 2 3"]
        );
        let twice = json!({"ports": [{"name": "x", "port": 1}, {"name": "x", "port": 2}]});
        let other = json!({"ports": [{"name": "x", "port": 1}, {"name": "x", "port": 9}]});
        assert_eq!(words(&twice, &other), ["ports[1].port 2 9"]);
    }
}
