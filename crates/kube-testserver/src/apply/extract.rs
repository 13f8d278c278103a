//! The fields that an object mentions.

use std::collections::BTreeMap;

use serde_json::Value;

use super::element;
use super::fieldset::{FieldSet, View};
use super::shape::{Shape, Ty, child, fields, items};

/// Every leaf of an object, every element of its lists and every key of its maps: what an applier of the
/// object owns.
///
/// Empty objects and nulls count as leaves. Empty lists do not, which is how Kubernetes has it.
pub(super) fn field_set(object: &Value, ty: Ty<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    collect(object, ty, &mut set);
    set
}

/// Adds the named fields that a set holds only through what is below them.
///
/// Owners own leaves. To remove a whole branch, its inner nodes must be in the set as well; those that are
/// keys of maps or elements of lists already are.
pub(super) fn with_named_fields(set: &FieldSet, ty: Ty<'_>) -> FieldSet {
    named(set.as_view(), ty)
}

fn named(set: View<'_>, ty: Ty<'_>) -> FieldSet {
    let mut result = FieldSet::default();
    for (element, member, below) in set.elements() {
        let (below_ty, is_named) = match (element.strip_prefix("f:"), Shape::of(ty)) {
            (Some(name), _) => child(ty, name),
            (None, Shape::List(elements)) => (Some(elements.item), false),
            (None, _) => (None, false),
        };
        let member = member || (is_named && below.is_some());
        let below = below.map(|below| named(below, below_ty)).unwrap_or_default();
        result.put(element.to_owned(), member, below);
    }
    result
}

/// Adds what is below a value; returns whether the value itself is a leaf.
fn collect(value: &Value, ty: Ty<'_>, set: &mut FieldSet) -> bool {
    match Shape::of_value(ty, value) {
        Shape::Leaf | Shape::Deduced => true,
        Shape::Fields => {
            for (name, value) in fields(Some(value)).into_iter().flatten() {
                let (ty, is_named) = child(ty, name);
                let mut below = FieldSet::default();
                let leaf = collect(value, ty, &mut below);
                let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                set.put(element::field(name), leaf || empty || !is_named, below);
            }
            false
        }
        Shape::List(elements) => {
            let mut sets: BTreeMap<String, FieldSet> = BTreeMap::new();
            for item in items(Some(value)) {
                let Ok(element) = elements.element(item) else { continue };
                // Duplicates are one leaf: nobody can say which of them is whose.
                let duplicate = sets.contains_key(&element);
                let below = sets.entry(element).or_default();
                if duplicate {
                    *below = FieldSet::default();
                } else {
                    collect(item, Some(elements.item), below);
                }
            }
            for (element, below) in sets {
                set.put(element, true, below);
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::builtin;

    #[test]
    fn leaves_items_and_keys_are_owned_but_named_structs_are_not() {
        let object = json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["x"]}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"a": "b"}},
            "template": {"spec": {"containers": [
                {"name": "web", "ports": [{"containerPort": 80}], "args": ["--x"]}
            ]}},
        }});
        let set = field_set(&object, builtin().root("apps/v1", "Deployment"));
        assert_eq!(
            set.into_fields_v1(),
            json!({"f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"x\"": {}}}, "f:spec": {
                "f:replicas": {}, "f:selector": {},
                "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {
                    ".": {}, "f:name": {}, "f:args": {},
                    "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                }}}},
            }})
        );
    }

    #[test]
    fn empty_objects_and_nulls_are_leaves_and_empty_lists_are_not() {
        let object =
            json!({"spec": {"securityContext": {}, "nodeName": null, "containers": [], "tolerations": []}});
        let set = field_set(&object, builtin().root("v1", "Pod"));
        assert_eq!(
            set.into_fields_v1(),
            // Tolerations are an atomic list.
            json!({"f:spec": {"f:securityContext": {}, "f:nodeName": {}, "f:tolerations": {}}})
        );
    }

    #[test]
    fn without_a_schema_every_level_is_owned() {
        let set = field_set(&json!({"spec": {"a": {"b": [{"c": 1}]}}}), None);
        assert_eq!(set.into_fields_v1(), json!({"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}}}));
    }

    #[test]
    fn named_fields_join_the_set_and_map_keys_do_not() {
        let ty = builtin().root("v1", "Pod");
        let set = json!({"f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"x\"}": {"f:env": {"k:{\"name\":\"E\"}": {}}}}}});
        let set = FieldSet::from_fields_v1(&set).expect("valid");
        assert_eq!(
            with_named_fields(&set, ty).into_fields_v1(),
            json!({"f:metadata": {".": {}, "f:labels": {".": {}, "f:a": {}}},
                "f:spec": {".": {}, "f:containers": {".": {},
                    "k:{\"name\":\"x\"}": {"f:env": {".": {}, "k:{\"name\":\"E\"}": {}}}}}})
        );
    }
}
