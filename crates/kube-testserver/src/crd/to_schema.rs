//! Describes custom resources in the form that built-in kinds have, for server-side apply and patches.

use super::structural::{Additional, JsonType, ListType, Structural};
use crate::schema::{Field, ListMerge, Object, Scalar, Schema, Strategy, Type, TypeId, builtin};

/// The types of one version of a custom resource.
pub(super) fn to_schema(root: &Structural, api_version: &str, kind: &str) -> Schema {
    let mut schema = Schema::default();
    // Every kind has the same metadata; that of pods is as good as any.
    let metadata = builtin().root("v1", "Pod").and_then(|pod| pod.child("metadata"));
    let meta = Meta {
        metadata: match metadata {
            Some(metadata) => schema.import(metadata),
            None => schema.push(Type::Any),
        },
        text: schema.push(Type::Scalar(Scalar::String)),
    };
    let object = meta.object(&mut schema, root, true);
    let id = schema.push(object);
    schema.set_root(api_version, kind, id);
    schema
}

/// The types of the fields that every object has.
#[derive(Clone, Copy)]
struct Meta {
    metadata: TypeId,
    text: TypeId,
}

impl Meta {
    fn add(self, schema: &mut Schema, node: &Structural) -> TypeId {
        let ty = self.ty(schema, node);
        schema.push(ty)
    }

    fn ty(self, schema: &mut Schema, node: &Structural) -> Type {
        if node.int_or_string {
            return Type::Scalar(Scalar::IntOrString);
        }
        match node.ty {
            None => Type::Any,
            Some(JsonType::String) => Type::Scalar(Scalar::String),
            Some(JsonType::Boolean) => Type::Scalar(Scalar::Boolean),
            // A format that does not fit is an error of validation, which has its own words for it.
            Some(JsonType::Integer) => Type::Scalar(Scalar::Int64),
            Some(JsonType::Number) => Type::Scalar(Scalar::Number),
            Some(JsonType::Array) => {
                let item = match &node.items {
                    Some(item) => self.add(schema, item),
                    None => schema.push(Type::Any),
                };
                let merge = match &node.list_type {
                    ListType::Atomic => ListMerge::Atomic,
                    ListType::Set => ListMerge::Set,
                    ListType::Map(keys) => ListMerge::Map(keys.clone().into()),
                };
                Type::List { item, merge }
            }
            Some(JsonType::Object) if node.embedded_resource => self.object(schema, node, true),
            Some(JsonType::Object) if !node.properties.is_empty() => self.object(schema, node, false),
            Some(JsonType::Object) => match &node.additional {
                Some(Additional::Schema(value)) => {
                    Type::Map { value: self.add(schema, value), atomic: node.atomic_map }
                }
                Some(Additional::Bool(true)) => {
                    Type::Map { value: schema.push(Type::Any), atomic: node.atomic_map }
                }
                _ if node.preserve_unknown && !node.atomic_map => Type::Any,
                _ => self.object(schema, node, false),
            },
        }
    }

    /// A struct; objects of their own (the root and embedded ones) have the fields of every object as well.
    fn object(self, schema: &mut Schema, node: &Structural, is_resource: bool) -> Type {
        let mut fields: Vec<Field> = node
            .properties
            .iter()
            .filter(|(name, _)| !(is_resource && is_meta(name)))
            .map(|(name, property)| Field {
                name: name.clone(),
                ty: self.add(schema, property),
                required: node.rules.required.contains(name),
                strategy: Strategy::default(),
                default: property.default.clone(),
            })
            .collect();
        if is_resource {
            for (name, ty) in [("apiVersion", self.text), ("kind", self.text), ("metadata", self.metadata)] {
                fields.push(Field {
                    name: name.into(),
                    ty,
                    required: false,
                    strategy: Strategy::default(),
                    default: None,
                });
            }
        }
        fields.sort_by(|one, other| one.name.cmp(&other.name));
        Type::Object(Object {
            name: "".into(),
            fields,
            atomic: node.atomic_map,
            preserve_unknown: node.preserve_unknown,
        })
    }
}

fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::{Value, json};

    use super::super::pattern::Patterns;
    use super::super::props::Props;
    use super::*;

    fn compile(schema: Value) -> Schema {
        let root = Structural::compile(Props::deserialize(schema).unwrap(), &mut Patterns::default());
        to_schema(&root, "example.com/v1", "Widget")
    }

    #[test]
    fn the_root_has_metadata_like_every_kind() {
        let schema = compile(json!({"type": "object", "properties": {
            "metadata": {"type": "object"}, "spec": {"type": "object"}}}));
        let root = schema.root("example.com/v1", "Widget").unwrap();
        let labels = root.child("metadata").unwrap().child("labels").unwrap();
        assert!(matches!(labels.ty(), Type::Map { .. }));
        assert!(matches!(root.child("kind").unwrap().ty(), Type::Scalar(Scalar::String)));
        assert!(root.child("status").is_none());
    }

    #[test]
    fn lists_and_maps_merge_as_the_definition_says() {
        let schema = compile(
            json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "plain": {"type": "array", "items": {"type": "integer"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "ref": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"name": {"type": "string"}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "port": {"x-kubernetes-int-or-string": true}}}}}),
        );
        let spec = schema.root("example.com/v1", "Widget").unwrap().child("spec").unwrap();
        let merge = |field: &str| match spec.child(field).unwrap().ty() {
            Type::List { merge, .. } => merge.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(merge("ports"), ListMerge::Map(["name".into()].into()));
        assert_eq!(merge("tags"), ListMerge::Set);
        assert_eq!(merge("plain"), ListMerge::Atomic);
        assert!(matches!(spec.child("labels").unwrap().ty(), Type::Map { atomic: false, .. }));
        assert!(matches!(spec.child("ref").unwrap().ty(), Type::Object(Object { atomic: true, .. })));
        assert!(matches!(spec.child("free").unwrap().ty(), Type::Any));
        assert!(matches!(spec.child("port").unwrap().ty(), Type::Scalar(Scalar::IntOrString)));
    }

    #[test]
    fn embedded_objects_have_metadata_and_required_fields_are_marked() {
        let schema = compile(json!({"type": "object", "required": ["template"], "properties": {"template": {
            "type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true}}}));
        let root = schema.root("example.com/v1", "Widget").unwrap();
        assert!(root.field("template").unwrap().required);
        let template = root.child("template").unwrap();
        assert!(template.child("metadata").unwrap().child("name").is_some());
        assert!(matches!(template.ty(), Type::Object(Object { preserve_unknown: true, .. })));
    }
}
