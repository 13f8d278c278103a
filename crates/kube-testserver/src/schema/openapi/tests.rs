use serde_json::json;

use super::*;

const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

fn deployments() -> OpenApiResource<'static> {
    const STATUS: &[OpenApiSubresource<'_>] = &[OpenApiSubresource {
        name: "status",
        group: "apps",
        version: "v1",
        kind: "Deployment",
        verbs: &["get", "patch", "update"],
        ty: None,
    }];
    OpenApiResource {
        group: "apps",
        version: "v1",
        kind: "Deployment",
        plural: "deployments",
        namespaced: true,
        verbs: VERBS,
        subresources: STATUS,
        ty: builtin().root("apps/v1", "Deployment"),
        raw_schema: None,
    }
}

fn widgets(schema: &Value) -> OpenApiResource<'_> {
    OpenApiResource {
        group: "example.com",
        version: "v1",
        kind: "Widget",
        plural: "widgets",
        namespaced: true,
        verbs: VERBS,
        subresources: &[],
        ty: None,
        raw_schema: Some(schema),
    }
}

const ITEM: &str = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";

fn names(parameters: &Value) -> Vec<&str> {
    let list = parameters.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|parameter| parameter["name"].as_str()).collect()
}

/// Everything a document refers to is in it.
fn assert_closed(document: &Value, schemas: &Value, prefix: &str) {
    match document {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                let name = reference.strip_prefix(prefix).expect("a local reference");
                assert!(schemas.get(name).is_some(), "{name} is missing");
            }
            map.values().for_each(|value| assert_closed(value, schemas, prefix));
        }
        Value::Array(list) => list.iter().for_each(|value| assert_closed(value, schemas, prefix)),
        _ => {}
    }
}

#[test]
fn kubectl_finds_field_validation_on_the_patch_of_a_kind() {
    let document = v3("apps", "v1", &[deployments()]);
    let patch = &document["paths"][ITEM]["patch"];
    assert_eq!(patch[GVK], json!({"group": "apps", "version": "v1", "kind": "Deployment"}));
    assert_eq!(names(&patch["parameters"]), ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert_eq!(patch["parameters"][2]["in"], "query");
    assert!(patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_some());
}

#[test]
fn every_verb_has_an_operation() {
    let document = v3("apps", "v1", &[deployments()]);
    let actions = |path: &str| {
        let path = document["paths"][path].as_object().expect("a path");
        let actions = path.values().filter_map(|operation| operation["x-kubernetes-action"].as_str());
        actions.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(actions(ITEM), "delete get patch put");
    assert_eq!(actions(&format!("{ITEM}/status")), "get patch put");
    assert_eq!(actions("/apis/apps/v1/namespaces/{namespace}/deployments"), "deletecollection list post");
    assert_eq!(actions("/apis/apps/v1/deployments"), "list");
}

#[test]
fn documents_contain_all_they_refer_to() {
    let schema = json!({"type": "object"});
    let resources = [deployments(), widgets(&schema)];
    for group in ["apps", "example.com"] {
        let document = v3(group, "v1", &resources);
        assert_closed(&document, &document["components"]["schemas"], "#/components/schemas/");
    }
    let document = v2(&resources);
    assert_closed(&document, &document["definitions"], "#/definitions/");
    assert!(document["definitions"].get("com.example.v1.Widget").is_some());
}

#[test]
fn schemas_carry_what_patches_need() {
    let document = v3("apps", "v1", &[deployments()]);
    let schemas = &document["components"]["schemas"];
    let kind = &schemas["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(kind[GVK], json!([{"group": "apps", "version": "v1", "kind": "Deployment"}]));
    let spec = &schemas["io.k8s.api.core.v1.PodSpec"];
    assert_eq!(spec["required"], json!(["containers"]));
    let containers = &spec["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-list-type"], "map");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    assert_eq!(spec["properties"]["volumes"]["x-kubernetes-patch-strategy"], "merge,retainKeys");
    let strategy = &schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
    assert_eq!(strategy["x-kubernetes-patch-strategy"], "retainKeys");
    let reference = "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy";
    assert_eq!(strategy["allOf"], json!([{ "$ref": reference }]));
}

#[test]
fn options_of_all_groups_name_only_the_version_at_hand() {
    let document = v3("apps", "v1", &[deployments()]);
    let options = &document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
    let expected = json!([
        {"group": "apps", "version": "v1", "kind": "DeleteOptions"},
        {"group": "", "version": "v1", "kind": "DeleteOptions"},
    ]);
    assert_eq!(options[GVK], expected);
}

#[test]
fn custom_resources_keep_their_own_schema_and_have_no_strategic_merge() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "nullable": true}}});
    let document = v3("example.com", "v1", &[widgets(&schema)]);
    let widget = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(widget["properties"]["spec"], schema["properties"]["spec"]);
    assert!(widget["properties"]["metadata"]["allOf"][0]["$ref"].is_string());
    assert_eq!(widget[GVK][0]["kind"], "Widget");
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    let content: Vec<_> = patch["requestBody"]["content"].as_object().expect("content").keys().collect();
    assert!(!content.iter().any(|ty| ty.contains("strategic")), "{content:?}");

    let document = v2(&[widgets(&schema)]);
    let spec = &document["definitions"]["com.example.v1.Widget"]["properties"]["spec"];
    assert_eq!(spec, &json!({}), "v2 knows no nullable");
}

#[test]
fn fields_that_may_be_null_are_not_required_in_v2() {
    let nullable = json!({"type": "string", "nullable": true});
    let schema = json!({"type": "object", "properties": {
        "one": {"type": "object", "required": ["a"], "properties": {"a": nullable}},
        "some": {"type": "object", "required": ["a", "b"], "properties": {"a": nullable, "b": {"type": "string"}}},
        "map": {"type": "object", "required": ["a"], "additionalProperties": nullable},
        "list": {"type": "array", "items": {"type": "object", "required": ["a"], "properties": {"a": nullable}}},
        "none": {"type": "object", "nullable": true, "required": ["a"], "properties": {"a": nullable}},
    }});
    let document = v2(&[widgets(&schema)]);
    let fields = &document["definitions"]["com.example.v1.Widget"]["properties"];
    assert_eq!(fields["one"], json!({"type": "object", "properties": {"a": {}}}));
    let some = json!({"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}});
    assert_eq!(fields["some"], some);
    assert_eq!(fields["map"], json!({"type": "object", "additionalProperties": {}}));
    assert_eq!(fields["list"]["items"], fields["one"]);
    // The fields are not in the document any more, so that nothing says that they may be null.
    assert_eq!(fields["none"], json!({"required": ["a"]}));
    let document = v3("example.com", "v1", &[widgets(&schema)]);
    let v3 = &document["components"]["schemas"]["com.example.v1.Widget"]["properties"];
    assert_eq!(v3["some"], schema["properties"]["some"]);
}

#[test]
fn embedded_objects_have_the_fields_that_every_object_has() {
    let embedded = |more: Value| {
        let mut schema = json!({"type": "object", "x-kubernetes-embedded-resource": true});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let plain = embedded(json!({"required": ["spec", "kind"], "properties": {"spec": {"type": "object"}}}));
    let open = embedded(json!({PRESERVE: true}));
    let schema = json!({"type": "object", "properties": {
        "plain": plain,
        "open": open,
        "list": {"type": "array", "items": open},
        "map": {"type": "object", "additionalProperties": plain},
    }});
    let v3 = v3("example.com", "v1", &[widgets(&schema)]);
    let v2 = v2(&[widgets(&schema)]);
    let [v3, v2] =
        [&v3["components"]["schemas"], &v2["definitions"]].map(|all| &all["com.example.v1.Widget"]);
    let names = |schema: &Value| {
        let names = schema["properties"].as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
        names.unwrap_or_default()
    };
    for (document, open_has_fields) in [(v3, true), (v2, false)] {
        let fields = &document["properties"];
        assert_eq!(names(&fields["plain"]), ["apiVersion", "kind", "metadata", "spec"]);
        assert_eq!(fields["plain"]["required"], json!(["spec", "kind", "apiVersion"]));
        assert_eq!(fields["plain"]["properties"]["metadata"], document["properties"]["metadata"]);
        assert_eq!(fields["map"]["additionalProperties"], fields["plain"]);
        assert_eq!(fields["list"]["items"], fields["open"]);
        let expected: &[&str] = if open_has_fields { &["apiVersion", "kind", "metadata"] } else { &[] };
        assert_eq!(names(&fields["open"]), expected);
        let required = if open_has_fields { json!(["kind", "apiVersion"]) } else { Value::Null };
        assert_eq!(fields["open"]["required"], required);
    }
}

#[test]
fn the_index_has_an_address_for_each_group_version() {
    let index = v3_index([("", "v1", "A"), ("apps", "v1", "B")]);
    let expected = json!({"paths": {
        "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=A"},
        "apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=B"},
    }});
    assert_eq!(index, expected);
    assert_ne!(content_hash(b"a"), content_hash(b"b"));
}
