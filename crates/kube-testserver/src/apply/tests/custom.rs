//! Kinds whose types come from a CustomResourceDefinition, or from nowhere.

use super::*;
use crate::schema::{Field, ListMerge, Object, Scalar, Schema, Strategy, Type, TypeId};

/// A custom kind: `spec` with a list-map, a set and a map, without names for its types.
fn custom(schema: &mut Schema) -> TypeId {
    let string = schema.push(Type::Scalar(Scalar::String));
    let object = |schema: &mut Schema, name: &str, fields: &[(&str, TypeId)]| {
        let field = |(name, ty): &(&str, TypeId)| Field {
            name: (*name).into(),
            ty: *ty,
            required: false,
            strategy: Strategy::default(),
            default: None,
        };
        let fields = fields.iter().map(field).collect();
        schema.push(Type::Object(Object {
            name: name.into(),
            fields,
            atomic: false,
            preserve_unknown: false,
        }))
    };
    let item = object(schema, "", &[("host", string), ("path", string)]);
    let rules = schema.push(Type::List { item, merge: ListMerge::Map(["host".into()].into()) });
    let map = schema.push(Type::Map { value: string, atomic: false });
    let set = schema.push(Type::List { item: string, merge: ListMerge::Set });
    let spec = object(schema, "", &[("map", map), ("rules", rules), ("set", set)]);
    let metadata = object(
        schema,
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        &[("labels", map), ("name", string)],
    );
    let fields = [("apiVersion", string), ("kind", string), ("metadata", metadata), ("spec", spec)];
    object(schema, "com.example.v1.Route", &fields)
}

#[test]
fn custom_kinds_are_owned_down_from_their_spec() {
    let mut schema = Schema::default();
    let id = custom(&mut schema);
    let manager = Manager { api_version: "example.com/v1", ..updater("tool", T0) };
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "Route", "metadata": {"name": "r"},
        "spec": {"map": {"a": "1"}, "set": ["x"], "rules": [{"host": "h"}]}});
    track_update(None, &mut object, schema.at(id), &manager, &ResetFields::none());
    assert_eq!(
        owned(&object, "tool"),
        &json!({"f:spec": {".": {}, "f:map": {".": {}, "f:a": {}}, "f:set": {".": {}, "v:\"x\"": {}},
            "f:rules": {".": {}, "k:{\"host\":\"h\"}": {".": {}, "f:host": {}}}}})
    );
}

#[test]
fn kinds_without_a_schema_can_be_applied() {
    let mut schema = Schema::default();
    let ty = schema.push(Type::Any);
    let ty = schema.at(ty);
    let config = |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Any", "metadata": {"name": "x"}, "spec": spec});
    let manager = |name| Manager { api_version: "example.com/v1", ..applier(name, T0) };
    let none = ResetFields::none();
    let live =
        apply(None, &config(json!({"a": {"b": 1, "c": 2}, "l": [1]})), ty, &manager("alice"), false, &none)
            .expect("created");
    assert_eq!(
        owned(&live, "alice"),
        &json!({"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:l": {}}})
    );
    let error = apply(Some(&live), &config(json!({"l": [2]})), ty, &manager("bob"), false, &none);
    assert_eq!(
        error.expect_err("conflict").to_string(),
        "Apply failed with 1 conflict: conflict with \"alice\": .spec.l"
    );
    let object = apply(Some(&live), &config(json!({"a": {"b": 1}})), ty, &manager("alice"), false, &none)
        .expect("mine");
    assert_eq!(object["spec"], json!({"a": {"b": 1}}));
}
