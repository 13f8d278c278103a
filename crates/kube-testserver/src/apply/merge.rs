//! Merging an applied configuration into a live object, and removing what is no longer applied.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element;
use super::fieldset::View;
use super::shape::{Elements, Shape, Ty, child, fields, items};
use crate::schema::{Type, TypeRef};

/// The live object with everything the configuration says; nothing is removed. The error says which live
/// list element has no identity.
pub(super) fn merge(live: Value, config: &Value, ty: Ty<'_>) -> Result<Value, String> {
    match Shape::of(ty) {
        Shape::Leaf => Ok(config.clone()),
        Shape::Deduced if !config.is_object() && !config.is_null() => Ok(config.clone()),
        Shape::Fields | Shape::Deduced => merge_fields(live, config, ty),
        Shape::List(elements) => merge_items(live, config, elements),
    }
}

/// A value without the members of a set: fields, keys and elements. Whatever is left empty by this is null.
pub(super) fn remove(value: Value, set: View<'_>, ty: Ty<'_>) -> Value {
    match (Shape::of_value(ty, &value), value) {
        (Shape::Fields, Value::Object(fields)) => {
            let mut kept = Map::new();
            for (name, value) in fields {
                let element = element::field(&name);
                if set.has(&element) {
                    continue;
                }
                let value = match set.below(&element) {
                    Some(below) => remove(value, below, child(ty, &name).0),
                    None => value,
                };
                kept.insert(name, value);
            }
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        (Shape::List(elements), Value::Array(items)) => {
            let mut kept = Vec::with_capacity(items.len());
            for item in items {
                match elements.element(&item) {
                    Ok(element) if set.has(&element) => {}
                    Ok(element) => kept.push(match set.below(&element) {
                        Some(below) => remove(item, below, Some(elements.item)),
                        None => item,
                    }),
                    Err(_) => kept.push(item),
                }
            }
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        // Paths into a leaf are those of a list or map that the schema has made atomic since.
        (Shape::Leaf, Value::Object(_) | Value::Array(_)) => Value::Null,
        (_, value) => value,
    }
}

/// Drops the null fields of built-in structs, which in Go cannot be told from missing ones. Those of custom
/// resources stay, as they do in Kubernetes.
pub(super) fn drop_nulls(value: &mut Value, ty: Ty<'_>) {
    match (Shape::of(ty), value) {
        (Shape::Fields, Value::Object(fields)) => {
            let built_in =
                matches!(ty.map(TypeRef::ty), Some(Type::Object(object)) if !object.name.is_empty());
            if built_in {
                fields.retain(|name, value| !value.is_null() || !child(ty, name).1);
            }
            for (name, value) in fields {
                drop_nulls(value, child(ty, name).0);
            }
        }
        (Shape::List(elements), Value::Array(items)) => {
            for item in items {
                drop_nulls(item, Some(elements.item));
            }
        }
        _ => {}
    }
}

fn merge_fields(live: Value, config: &Value, ty: Ty<'_>) -> Result<Value, String> {
    let mut merged = match live {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let applied = fields(Some(config));
    // Kept apart from "no fields", so that whoever applies an empty object gets one, and null stays null.
    if merged.is_empty() && applied.is_none_or(Map::is_empty) {
        return Ok(config.clone());
    }
    for (name, value) in applied.into_iter().flatten() {
        match merged.get_mut(name) {
            Some(live) => {
                *live = merge(live.take(), value, child(ty, name).0)
                    .map_err(|error| format!("{}{error}", element::display(&element::field(name))))?;
            }
            None => {
                merged.insert(name.clone(), value.clone());
            }
        }
    }
    Ok(Value::Object(merged))
}

/// Merges lists element by element.
///
/// The result has the live order for what only the live list has, and the applied order for what is applied;
/// live elements stay before the shared element that they were before.
fn merge_items(live: Value, config: &Value, elements: Elements<'_>) -> Result<Value, String> {
    let live_items = match live {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    let config_items = items(Some(config));
    if live_items.is_empty() && config_items.is_empty() {
        return Ok(config.clone());
    }
    let identify = |items: &[Value]| -> Result<Vec<String>, String> {
        let identified = items.iter().enumerate();
        identified
            .map(|(at, item)| elements.element(item).map_err(|error| format!(": element {at}: {error}")))
            .collect()
    };
    let (live_ids, config_ids) = (identify(&live_items)?, identify(config_items)?);
    let mut live_items: Vec<Option<Value>> = live_items.into_iter().map(Some).collect();
    let applied: BTreeSet<&String> = config_ids.iter().collect();
    // Where to find what to merge with. Duplicates are not merged: nobody can say with which.
    let mut partners: BTreeMap<&String, Option<usize>> = BTreeMap::new();
    for (at, id) in live_ids.iter().enumerate() {
        partners.entry(id).and_modify(|partner| *partner = None).or_insert(Some(at));
    }

    let mut shared = config_ids.iter().filter(|id| partners.contains_key(id));
    let mut next_shared = shared.next();
    let mut placed: BTreeSet<&String> = BTreeSet::new();
    let mut merged = Vec::with_capacity(live_items.len().max(config_items.len()));
    let (mut at_live, mut at_config) = (0, 0);
    while at_live < live_ids.len() || at_config < config_ids.len() {
        if let Some(id) = live_ids.get(at_live) {
            if !applied.contains(id) {
                merged.extend(live_items[at_live].take());
                at_live += 1;
                continue;
            }
            // A shared element whose turn has not come: the configuration places it.
            if at_config < config_ids.len() && next_shared.is_some_and(|next| next != id) {
                at_live += 1;
                continue;
            }
            if placed.contains(id) {
                at_live += 1;
            }
        }
        if let Some(id) = config_ids.get(at_config) {
            let item = &config_items[at_config];
            let partner = partners.get(id).copied().flatten().and_then(|at| live_items[at].take());
            merged.push(match partner {
                Some(live) => merge(live, item, Some(elements.item))
                    .map_err(|error| format!("{}{error}", element::display(id)))?,
                None => item.clone(),
            });
            placed.insert(id);
            if live_ids.get(at_live) == Some(id) {
                at_live += 1;
            }
            if next_shared == Some(id) {
                next_shared = shared.next();
            }
            at_config += 1;
        }
    }
    Ok(Value::Array(merged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fieldset::FieldSet;
    use super::*;
    use crate::schema::builtin;

    fn pod() -> Ty<'static> {
        builtin().root("v1", "Pod")
    }

    fn names(merged: &Value) -> Vec<&str> {
        let containers = merged["spec"]["containers"].as_array().expect("containers");
        containers.iter().map(|item| item["name"].as_str().expect("a name")).collect()
    }

    fn merge_names(live: &[&str], config: &[&str]) -> Vec<String> {
        let object = |names: &[&str]| json!({"spec": {"containers": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}});
        let merged = merge(object(live), &object(config), pod()).expect("valid");
        names(&merged).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn maps_merge_and_atomic_lists_are_replaced() {
        let live =
            json!({"metadata": {"labels": {"a": "1", "b": "1"}}, "spec": {"tolerations": [{"key": "x"}]}});
        let config = json!({"metadata": {"labels": {"b": "2"}}, "spec": {"tolerations": [{"key": "y"}]}});
        assert_eq!(
            merge(live, &config, pod()),
            Ok(
                json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"tolerations": [{"key": "y"}]}})
            )
        );
    }

    #[test]
    fn items_merge_by_key() {
        let live = json!({"spec": {"containers": [{"name": "a", "image": "1", "tty": true}]}});
        let config = json!({"spec": {"containers": [{"name": "a", "image": "2"}, {"name": "b"}]}});
        assert_eq!(
            merge(live, &config, pod()),
            Ok(json!({"spec": {"containers": [{"name": "a", "image": "2", "tty": true}, {"name": "b"}]}}))
        );
    }

    #[test]
    fn applied_order_wins_and_live_items_keep_their_place() {
        assert_eq!(merge_names(&["a", "b", "c"], &["c", "a"]), ["b", "c", "a"]);
        assert_eq!(merge_names(&["a", "b"], &["x", "b"]), ["a", "x", "b"]);
        assert_eq!(merge_names(&["a", "b"], &["b", "x"]), ["a", "b", "x"]);
        assert_eq!(merge_names(&["x", "a", "y"], &["a", "new"]), ["x", "a", "y", "new"]);
        assert_eq!(merge_names(&["a", "b", "c"], &["a", "b", "c"]), ["a", "b", "c"]);
        assert_eq!(merge_names(&[], &["b", "a"]), ["b", "a"]);
    }

    #[test]
    fn sets_are_joined() {
        let live = json!({"metadata": {"finalizers": ["a", "b"]}});
        let config = json!({"metadata": {"finalizers": ["c", "a"]}});
        assert_eq!(merge(live, &config, pod()), Ok(json!({"metadata": {"finalizers": ["c", "a", "b"]}})));
    }

    #[test]
    fn null_replaces_leaves_but_not_what_has_parts() {
        let live = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"nodeName": "n"}});
        let config = json!({"metadata": {"labels": null}, "spec": {"nodeName": null}});
        assert_eq!(
            merge(live, &config, pod()),
            Ok(json!({"metadata": {"labels": {"a": "1"}}, "spec": {"nodeName": null}}))
        );
    }

    #[test]
    fn live_items_without_identity_are_an_error() {
        let live = json!({"spec": {"containers": [null]}});
        let error = merge(live, &json!({"spec": {"containers": [{"name": "a"}]}}), pod());
        assert!(error.expect_err("null").starts_with(".spec.containers: element 0: associative list"));
    }

    #[test]
    fn members_are_removed_and_what_is_left_empty_is_null() {
        let object = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"nodeName": "n", "containers": [
            {"name": "a", "image": "x"}, {"name": "b"}]}});
        let set = json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:containers": {
            "k:{\"name\":\"a\"}": {"f:image": {}}, "k:{\"name\":\"b\"}": {}}}});
        let set = FieldSet::from_fields_v1(&set).expect("valid");
        let mut left = remove(object, set.as_view(), pod());
        assert_eq!(
            left,
            json!({"metadata": {"labels": null}, "spec": {"nodeName": "n", "containers": [{"name": "a"}]}})
        );
        drop_nulls(&mut left, pod());
        assert_eq!(left, json!({"metadata": {}, "spec": {"nodeName": "n", "containers": [{"name": "a"}]}}));
    }

    #[test]
    fn without_a_schema_null_stays() {
        let set = FieldSet::from_fields_v1(&json!({"f:spec": {"f:a": {}}})).expect("valid");
        let mut left = remove(json!({"spec": {"a": 1}, "b": 2}), set.as_view(), None);
        drop_nulls(&mut left, None);
        assert_eq!(left, json!({"spec": null, "b": 2}));
    }
}
