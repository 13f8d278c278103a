//! Drops the fields that a schema does not know.

use serde_json::Value;

use super::structural::{Additional, Structural};
use crate::paths::{FieldPath, MAX_PATHS};

impl Structural {
    /// Removes unknown fields from a whole object and returns the paths of the first ones, sorted. The object's own
    /// `apiVersion`, `kind` and `metadata` stay, whatever the schema says; so do those of embedded objects.
    ///
    /// Fields that are null although they must not be, and that have no default, go silently: a null is how
    /// clients spell "absent".
    pub(super) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut walk = Walk::default();
        walk.value(Some(self), Kind { resource: true, keep: self.preserve_unknown }, object);
        drop_nulls(self, object);
        walk.removed.sort_unstable();
        walk.removed
    }

    /// Removes unknown fields from a part of an object.
    pub(super) fn prune_part(&self, value: &mut Value) {
        Walk::default().value(Some(self), Kind::of(Some(self)), value);
    }

    /// What is known about a field: nothing at all, that it may be there, or its schema.
    fn below(&self, name: &str) -> Option<Option<&Self>> {
        if let Some(property) = self.properties.get(name) {
            return Some(Some(property));
        }
        match self.additional.as_ref()? {
            Additional::Schema(value) => Some(Some(value)),
            Additional::Bool(_) => Some(None),
        }
    }
}

/// How a value is pruned.
#[derive(Clone, Copy)]
struct Kind {
    /// It has `apiVersion`, `kind` and `metadata` of its own.
    resource: bool,
    /// Fields that are not declared stay.
    keep: bool,
}

impl Kind {
    fn of(schema: Option<&Structural>) -> Self {
        Self {
            resource: schema.is_some_and(|schema| schema.embedded_resource),
            keep: schema.is_some_and(|schema| schema.preserve_unknown),
        }
    }
}

#[derive(Default)]
struct Walk {
    path: FieldPath,
    /// The paths of the first fields that were removed.
    removed: Vec<String>,
}

impl Walk {
    /// Without a schema nothing is known, and every field goes.
    fn value(&mut self, schema: Option<&Structural>, kind: Kind, value: &mut Value) {
        match value {
            Value::Object(map) => map.retain(|name, child| {
                if kind.resource && is_meta(name) {
                    return true;
                }
                let Some(below) = schema.and_then(|schema| schema.below(name)) else {
                    if !kind.keep && self.removed.len() < MAX_PATHS {
                        let parent = self.path.push_field(name);
                        self.removed.push(self.path.shown());
                        self.path.go_back(parent);
                    }
                    return kind.keep;
                };
                let parent = self.path.push_field(name);
                self.value(below, Kind::of(below), child);
                self.path.go_back(parent);
                true
            }),
            Value::Array(list) => {
                let item = schema.and_then(|schema| schema.items.as_deref());
                if kind.keep && item.is_none() {
                    return;
                }
                // What is preserved in a list is preserved in its elements, too.
                let mut item_kind = Kind::of(item);
                item_kind.keep |= kind.keep;
                for (at, element) in list.iter_mut().enumerate() {
                    let parent = self.path.push_index(at);
                    self.value(item, item_kind, element);
                    self.path.go_back(parent);
                }
            }
            _ => {}
        }
    }
}

fn drop_nulls(schema: &Structural, value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|name, child| {
            let Some(Some(below)) = schema.below(name) else { return true };
            drop_nulls(below, child);
            !child.is_null() || below.nullable || below.default.is_some()
        }),
        Value::Array(list) => {
            if let Some(item) = &schema.items {
                for element in list {
                    drop_nulls(item, element);
                }
            }
        }
        _ => {}
    }
}

fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::json;

    use super::super::pattern::Patterns;
    use super::super::props::Props;
    use super::*;
    use crate::paths::copied_bytes;

    fn prune(schema: Value, mut value: Value) -> (Value, Vec<String>) {
        let schema = Structural::compile(Props::deserialize(schema).unwrap(), &mut Patterns::default());
        let removed = schema.prune(&mut value);
        (value, removed)
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"}, "list": {"type": "array", "items": {"type": "object"}}}}}});
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "other": 1,
            "spec": {"a": "x", "b": 1, "list": [{"c": 2}]}});
        let (pruned, removed) = prune(schema, object);
        assert_eq!(
            pruned,
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": {"a": "x", "list": [{}]}})
        );
        assert_eq!(removed, ["other", "spec.b", "spec.list[0].c"]);
    }

    #[test]
    fn unknown_fields_stay_where_they_are_preserved_but_not_below_known_ones() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}}}}});
        let (pruned, removed) =
            prune(schema, json!({"spec": {"free": {"x": 1}, "known": {"a": "1", "b": 2}}}));
        assert_eq!(pruned, json!({"spec": {"free": {"x": 1}, "known": {"a": "1"}}}));
        assert_eq!(removed, ["spec.known.b"]);
    }

    #[test]
    fn embedded_objects_keep_their_meta() {
        let schema = json!({"type": "object", "properties": {"template": {"type": "object",
            "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}}});
        let object =
            json!({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "status": {}}});
        let (pruned, removed) = prune(schema, object);
        assert_eq!(
            pruned,
            json!({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}})
        );
        assert_eq!(removed, ["template.status"]);
    }

    #[test]
    fn nulls_that_are_neither_allowed_nor_defaulted_are_absent() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"}, "b": {"type": "string", "nullable": true},
            "c": {"type": "string", "default": "x"}}}}});
        let (pruned, removed) = prune(schema, json!({"spec": {"a": null, "b": null, "c": null}}));
        assert_eq!(pruned, json!({"spec": {"b": null, "c": null}}));
        assert!(removed.is_empty());
    }

    #[test]
    fn values_of_maps_are_pruned_by_their_schema() {
        let schema = json!({"type": "object", "properties": {
            "typed": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "plain": {"type": "object", "additionalProperties": {"type": "string"}}}});
        let (pruned, removed) =
            prune(schema, json!({"typed": {"k": {"a": "1", "b": "2"}}, "plain": {"x": "y"}}));
        assert_eq!(pruned, json!({"typed": {"k": {"a": "1"}}, "plain": {"x": "y"}}));
        assert_eq!(removed, ["typed.k.b"]);
    }

    #[test]
    fn many_fields_below_a_long_name_do_not_repeat_it() {
        let pruned = |fields: usize, keep: bool| {
            let inner = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": keep,
                "additionalProperties": {"type": "string"}});
            let inner = if keep { inner } else { json!({"type": "object"}) };
            let schema = json!({"type": "object", "additionalProperties": inner});
            let schema = Structural::compile(Props::deserialize(schema).unwrap(), &mut Patterns::default());
            let below: Value = (0..fields).map(|at| (format!("{at:04}"), json!("x"))).collect();
            let name = "k".repeat(10 * fields);
            let mut object = Value::Object([(name, below)].into_iter().collect());
            let mut removed = Vec::new();
            let bytes = copied_bytes(|| removed = schema.prune(&mut object));
            (bytes, removed)
        };
        for keep in [false, true] {
            let ((few, _), (many, removed)) = (pruned(2_000, keep), pruned(4_000, keep));
            assert!(many <= 2 * few + 1_000, "{few} and {many} bytes of paths");
            assert_eq!(removed.len(), if keep { 0 } else { MAX_PATHS });
            assert!(removed.iter().all(|path| path.len() < 2_000));
        }
    }
}
