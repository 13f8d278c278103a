//! What is different between two versions of an object, as sets of fields.

use std::collections::BTreeMap;

use serde_json::Value;

use super::element;
use super::fieldset::FieldSet;
use super::shape::{Elements, Shape, Ty, child, empty_object, fields, implied, items, same};

/// The fields that two versions of an object differ in.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// In the new version, and not in the old one or with another value.
    pub(super) changed: FieldSet,
    /// Only in the old version.
    pub(super) removed: FieldSet,
}

/// The fields of `metadata` that nobody ever owns: what identifies the object, and what only the server
/// writes. The same goes for `apiVersion` and `kind`.
pub(super) const UNOWNED_METADATA: [&str; 11] = [
    "clusterName",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

impl Changes {
    /// Compares two versions of an object; no old version is an empty object. Fields that nobody owns are
    /// left out.
    ///
    /// Parts that are equal are recognised as such before their types are looked up, which is what makes
    /// this cheap: most writes change very little of an object.
    pub(super) fn between(old: Option<&Value>, new: &Value, ty: Ty<'_>) -> Self {
        let old = old.unwrap_or(empty_object());
        let mut changes = Self::default();
        changes.compare_fields(Some(old), Some(new), ty, &["apiVersion", "kind", "metadata"]);
        let mut metadata = Self::default();
        let ty = child(ty, "metadata").0;
        metadata.compare_fields(old.get("metadata"), new.get("metadata"), ty, &UNOWNED_METADATA);
        changes.add(Own::Same, metadata, || element::field("metadata"));
        changes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    /// Drops fields and everything below them.
    pub(super) fn ignore(&mut self, fields: &FieldSet) {
        self.changed.subtract_recursive(fields);
        self.removed.subtract_recursive(fields);
    }

    /// Compares the values of one element, which are not equal, and adds what is different.
    fn visit(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        ty: Ty<'_>,
        element: impl FnOnce() -> String,
    ) {
        let mut below = Self::default();
        let own = below.compare(old, new, ty);
        self.add(own, below, element);
    }

    fn add(&mut self, own: Own, below: Self, element: impl FnOnce() -> String) {
        let changed = own == Own::Changed || !below.changed.is_empty();
        let removed = own == Own::Removed || !below.removed.is_empty();
        if !changed && !removed {
            return;
        }
        let element = element();
        if changed {
            self.changed.put(element.clone(), own == Own::Changed, below.changed);
        }
        if removed {
            self.removed.put(element, own == Own::Removed, below.removed);
        }
    }

    /// Fills in what is different below an element, and says what happened to the element itself.
    fn compare(&mut self, old: Option<&Value>, new: Option<&Value>, ty: Ty<'_>) -> Own {
        match Shape::of(ty) {
            Shape::Leaf => Own::of_leaf(old, new),
            Shape::Fields => {
                if is_empty_object(old) && is_empty_object(new) {
                    return Own::of_leaf(old, new);
                }
                self.compare_fields(old, new, ty, &[]);
                Own::of_presence(old, new)
            }
            Shape::List(elements) => {
                let (old_items, new_items) = (items(old), items(new));
                if old_items.is_empty() && new_items.is_empty() {
                    return Own::of_leaf(old, new);
                }
                self.compare_items(old_items, new_items, elements);
                Own::of_presence(old, new)
            }
            Shape::Deduced => {
                let leaf =
                    |value: Option<&Value>| value.is_some_and(|value| !value.is_object() && !value.is_null());
                if is_empty_object(old) && is_empty_object(new) {
                    return Own::of_leaf(old, new);
                }
                self.compare_fields(old, new, ty, &[]);
                if leaf(old) || leaf(new) { Own::of_leaf(old, new) } else { Own::of_presence(old, new) }
            }
        }
    }

    fn compare_fields(&mut self, old: Option<&Value>, new: Option<&Value>, ty: Ty<'_>, skip: &[&str]) {
        let (old_fields, new_fields) = (fields(old), fields(new));
        for (name, value) in old_fields.into_iter().flatten() {
            let other = new_fields.and_then(|new| new.get(name));
            if other == Some(value) || skip.contains(&name.as_str()) {
                continue;
            }
            let other = other.or_else(|| new.and_then(|_| implied(ty, name)));
            self.visit(Some(value), other, child(ty, name).0, || element::field(name));
        }
        for (name, value) in new_fields.into_iter().flatten() {
            let known = old_fields.is_some_and(|old| old.contains_key(name));
            if !known && !skip.contains(&name.as_str()) {
                let other = old.and_then(|_| implied(ty, name));
                self.visit(other, Some(value), child(ty, name).0, || element::field(name));
            }
        }
    }

    fn compare_items(&mut self, old: &[Value], new: &[Value], elements: Elements<'_>) {
        // Elements by identity; duplicates share one. Elements without identity have no owners either.
        let mut sides: BTreeMap<String, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old {
            if let Ok(element) = elements.element(item) {
                sides.entry(element).or_default().0.push(item);
            }
        }
        for item in new {
            if let Ok(element) = elements.element(item) {
                sides.entry(element).or_default().1.push(item);
            }
        }
        let ty = Some(elements.item);
        for (element, (old, new)) in sides {
            match (&old[..], &new[..]) {
                ([old], [new]) if old == new => {}
                ([] | [_], [] | [_]) => {
                    self.visit(old.first().copied(), new.first().copied(), ty, || element);
                }
                // Duplicates are one leaf: nobody can say which of them is whose.
                ([_, _, ..], [_, _, ..]) => {
                    if old.len() != new.len() || !old.iter().zip(&new).all(|(old, new)| same(old, new)) {
                        self.add(Own::Changed, Self::default(), || element);
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(new) = new.first() {
                        self.visit(None, Some(new), ty, || element.clone());
                    }
                    self.removed.put(element, true, FieldSet::default());
                }
                (_, [_, _, ..]) => {
                    if let Some(old) = old.first() {
                        self.visit(Some(old), None, ty, || element.clone());
                    }
                    self.changed.put(element, true, FieldSet::default());
                }
            }
        }
    }
}

/// What happened to an element itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Same,
    Changed,
    Removed,
}

impl Own {
    fn of_leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        match (old, new) {
            (Some(old), Some(new)) if !same(old, new) => Self::Changed,
            _ => Self::of_presence(old, new),
        }
    }

    fn of_presence(old: Option<&Value>, new: Option<&Value>) -> Self {
        match (old, new) {
            (None, Some(_)) => Self::Changed,
            (Some(_), None) => Self::Removed,
            _ => Self::Same,
        }
    }
}

/// Whether there are no fields to compare: the value is missing, null, without fields, or no object at all.
fn is_empty_object(value: Option<&Value>) -> bool {
    fields(value).is_none_or(serde_json::Map::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::builtin;

    fn between(kind: (&str, &str), old: &Value, new: &Value) -> (Value, Value) {
        let ty = builtin().root(kind.0, kind.1);
        let old = (!old.is_null()).then_some(old);
        let changes = Changes::between(old, new, ty);
        (changes.changed.into_fields_v1(), changes.removed.into_fields_v1())
    }

    const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");

    #[test]
    fn equal_objects_have_no_changes() {
        let pod = json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"nodeName": "n"}});
        assert_eq!(between(("v1", "Pod"), &pod, &pod), (json!({}), json!({})));
    }

    #[test]
    fn fields_of_the_server_are_left_out() {
        let old = json!({"metadata": {"name": "a", "resourceVersion": "1", "managedFields": []}});
        let new = json!({"metadata": {"name": "a", "resourceVersion": "2", "generation": 2}});
        assert_eq!(between(("v1", "Pod"), &old, &new), (json!({}), json!({})));
    }

    #[test]
    fn structs_that_go_always_writes_are_not_new() {
        let new = json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}},
            "template": {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1}}}]}}}});
        let (changed, removed) = between(DEPLOYMENT, &Value::Null, &new);
        assert_eq!(removed, json!({}));
        assert_eq!(
            changed,
            json!({"f:spec": {
                "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}},
                "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {
                    ".": {}, "f:name": {}, "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}}
                }}}},
            }})
        );
    }

    #[test]
    fn atomic_parts_change_as_a_whole() {
        let old = json!({"spec": {"selector": {"matchLabels": {"a": "1"}}}});
        let new = json!({"spec": {"selector": {"matchLabels": {"a": "2"}}}});
        assert_eq!(between(DEPLOYMENT, &old, &new).0, json!({"f:spec": {"f:selector": {}}}));
    }

    #[test]
    fn removed_items_take_everything_below_with_them() {
        let old = json!({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]}});
        let new = json!({"spec": {"containers": [{"name": "b"}]}});
        assert_eq!(
            between(("v1", "Pod"), &old, &new),
            (
                json!({}),
                json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}}}}})
            )
        );
    }

    #[test]
    fn the_order_of_items_is_no_change() {
        let old = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        let new = json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}});
        assert_eq!(between(("v1", "Pod"), &old, &new), (json!({}), json!({})));
    }

    #[test]
    fn duplicate_items_are_one_leaf() {
        let one = json!({"spec": {"containers": [{"name": "a", "image": "x"}]}});
        let two = json!({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "y"}]}});
        let other =
            json!({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "z"}]}});
        let leaf = json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {}}}});
        let whole = json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}}}}});
        assert_eq!(between(("v1", "Pod"), &one, &two), (leaf.clone(), whole.clone()));
        assert_eq!(between(("v1", "Pod"), &two, &one), (whole, leaf.clone()));
        assert_eq!(between(("v1", "Pod"), &two, &other), (leaf, json!({})));
    }

    #[test]
    fn without_a_schema_lists_are_leaves_and_objects_have_owners_at_every_level() {
        let changes = Changes::between(None, &json!({"spec": {"a": {"b": [1]}}}), None);
        assert_eq!(
            changes.changed.into_fields_v1(),
            json!({"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}}})
        );
        let changes =
            Changes::between(Some(&json!({"spec": {"a": {"b": 1}}})), &json!({"spec": {"a": 1}}), None);
        assert_eq!(changes.changed.into_fields_v1(), json!({"f:spec": {"f:a": {}}}));
        assert_eq!(changes.removed.into_fields_v1(), json!({"f:spec": {"f:a": {"f:b": {}}}}));
    }

    #[test]
    fn the_same_number_written_differently_is_no_change() {
        let changes = Changes::between(Some(&json!({"spec": {"a": 1}})), &json!({"spec": {"a": 1.0}}), None);
        assert!(changes.is_empty());
    }
}
