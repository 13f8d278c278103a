use serde_json::json;

use super::*;

fn widgets() -> Value {
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "additionalPrinterColumns": [{"name": "Size", "type": "string", "jsonPath": ".spec.size"}],
                "selectableFields": [{"jsonPath": ".spec.size"}],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "size": {"type": "string"}, "replicas": {"type": "integer", "default": 1}}},
                    "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}},
            }],
        },
    })
}

fn refused(crd: &Value) -> Vec<String> {
    match Definition::parse(crd) {
        Ok(_) => Vec::new(),
        Err(causes) => causes.iter().map(Cause::to_string).collect(),
    }
}

#[test]
fn a_definition_is_read_with_defaults() {
    let definition = Definition::parse(&widgets()).unwrap();
    assert_eq!((&*definition.names.plural, &*definition.group), ("widgets", "example.com"));
    assert_eq!(definition.names.singular, "widget");
    assert_eq!(definition.names.list_kind, "WidgetList");
    assert_eq!(definition.scope, Scope::Namespaced);
    let version = definition.version("v1").unwrap();
    assert!(version.status && version.storage && version.served);
    assert_eq!(version.scale.as_ref().unwrap().spec_replicas, ".spec.replicas");
    assert_eq!(version.columns[0].name, "Size");
    assert_eq!(version.selectable[0].name, "spec.size");
    assert!(version.type_ref().unwrap().child("spec").unwrap().child("size").is_some());
    assert_eq!(definition.storage_version().unwrap().name, "v1");
    assert!(definition.warnings.is_empty());
}

#[test]
fn the_name_is_plural_dot_group() {
    let mut crd = widgets();
    crd["metadata"]["name"] = json!("widget.example.com");
    assert_eq!(
        refused(&crd),
        [r#"metadata.name: Invalid value: "widget.example.com": must be spec.names.plural+"."+spec.group"#]
    );
}

#[test]
fn exactly_one_version_stores_objects_and_names_are_unique() {
    let mut crd = widgets();
    let mut second = crd["spec"]["versions"][0].clone();
    second["served"] = json!(false);
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    let causes = refused(&crd);
    assert!(
        causes[0].starts_with(r#"spec.versions: Invalid value: [{"Name":"v1","Served":true"#),
        "{causes:?}"
    );
    assert!(causes[0].ends_with(": must contain unique version names"), "{causes:?}");
    assert!(causes[1].ends_with(": must have exactly one version marked as storage version"), "{causes:?}");
    assert_eq!(
        causes[2],
        r#"status.storedVersions: Invalid value: ["v1"]: must have the storage version v1"#
    );
}

#[test]
fn every_version_needs_a_schema() {
    let mut crd = widgets();
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("schema");
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("selectableFields");
    assert_eq!(refused(&crd), ["spec.versions[0].schema.openAPIV3Schema: Required value"]);
}

#[test]
fn a_schema_that_all_versions_share_is_reported_above_them() {
    let mut crd = widgets();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({});
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("selectableFields");
    let detail = "type: Required value: must not be empty for specified object fields";
    assert_eq!(refused(&crd), [format!("spec.validation.openAPIV3Schema.properties[spec].{detail}")]);
    crd["spec"]["versions"].as_array_mut().unwrap().push(json!({
        "name": "v2", "served": true, "schema": {"openAPIV3Schema": {"type": "object"}}}));
    assert_eq!(refused(&crd), [format!("spec.versions[0].schema.openAPIV3Schema.properties[spec].{detail}")]);
}

#[test]
fn conversion_by_webhook_is_refused() {
    let mut crd = widgets();
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {}});
    assert_eq!(
        refused(&crd),
        [r#"spec.conversion.strategy: Unsupported value: "Webhook": supported values: "None""#]
    );
}

#[test]
fn unknown_fields_are_kept_by_the_schema_only() {
    let mut crd = widgets();
    crd["spec"]["preserveUnknownFields"] = json!(true);
    assert_eq!(refused(&crd).len(), 1);
}

#[test]
fn defaults_must_be_valid_themselves() {
    let mut crd = widgets();
    let properties =
        &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    properties["replicas"]["default"] = json!("many");
    properties["nested"] = json!({"type": "object", "default": {"x": 1}});
    let path = "spec.validation.openAPIV3Schema.properties[spec].properties";
    assert_eq!(
        refused(&crd),
        [
            format!("{path}[nested].default: Invalid value: {{\"x\":1}}: must not have unknown fields"),
            format!(
                "{path}[replicas].default: Invalid value: \"string\":  in body must be of type integer: \"string\""
            ),
        ]
    );
}

#[test]
fn a_status_subresource_limits_the_root_of_the_schema() {
    let mut crd = widgets();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["minProperties"] = json!(1);
    let causes = refused(&crd);
    assert_eq!(causes.len(), 1);
    assert!(causes[0].ends_with("if the status subresource is enabled"), "{causes:?}");
}

#[test]
fn scope_kind_and_stored_versions_cannot_change() {
    let mut old = widgets();
    old["status"] =
        json!({"storedVersions": ["v0", "v1"], "conditions": [{"type": "Established", "status": "True"}]});
    let mut new = widgets();
    new["spec"]["scope"] = json!("Cluster");
    let causes: Vec<String> =
        Definition::parse(&new).unwrap().check_update(&old).iter().map(Cause::to_string).collect();
    assert_eq!(causes[0], r#"spec.scope: Invalid value: "Cluster": field is immutable"#);
    assert!(
        causes[1]
            .starts_with(r#"status.storedVersions[0]: Invalid value: "v0": missing from spec.versions;"#)
    );
    assert_eq!(causes.len(), 2);
}

#[test]
fn deprecated_versions_name_the_one_to_use() {
    let mut crd = widgets();
    crd["spec"]["versions"][0]["deprecated"] = json!(true);
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("selectableFields");
    let single = Definition::parse(&crd).unwrap();
    assert_eq!(single.versions[0].deprecation.as_deref(), Some("example.com/v1 Widget is deprecated"));
    let schema = crd["spec"]["versions"][0]["schema"].clone();
    for name in ["v3beta1", "v2"] {
        let version = json!({"name": name, "served": true, "schema": schema});
        crd["spec"]["versions"].as_array_mut().unwrap().push(version);
    }
    let many = Definition::parse(&crd).unwrap();
    assert_eq!(
        many.versions[0].deprecation.as_deref(),
        Some("example.com/v1 Widget is deprecated; use example.com/v2 Widget")
    );
}

#[test]
fn groups_of_the_project_need_an_approval() {
    let mut crd = widgets();
    crd["spec"]["group"] = json!("widgets.k8s.io");
    crd["metadata"]["name"] = json!("widgets.widgets.k8s.io");
    assert_eq!(refused(&crd).len(), 1);
    crd["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    assert!(refused(&crd).is_empty());
}

#[test]
fn unknown_formats_are_warned_about() {
    let mut crd = widgets();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["q"] =
        json!({"type": "string", "format": "quantity"});
    assert_eq!(Definition::parse(&crd).unwrap().warnings, [r#"unrecognized format "quantity""#]);
}

#[test]
fn a_schema_may_not_nest_without_end() {
    let mut deep = json!({"type": "object"});
    for _ in 0..80 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let mut crd = widgets();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = deep;
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("selectableFields");
    assert_eq!(
        refused(&crd),
        ["spec.validation.openAPIV3Schema: Invalid value: \"\": must not nest deeper than 64 levels"]
    );
}

#[test]
fn replicas_are_checked_where_the_scale_subresource_reads_them() {
    let mut crd = widgets();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["replicas"] =
        json!({"type": "integer"});
    let definition = Definition::parse(&crd).unwrap();
    let causes = definition.versions[0].validate(&json!({"spec": {"replicas": -1}}));
    assert_eq!(causes[0].to_string(), ".spec.replicas: Invalid value: -1: should be a non-negative integer");
}

#[test]
fn a_change_of_status_is_checked_by_the_schema_of_the_status() {
    let definition = Definition::parse(&widgets()).unwrap();
    let old = json!({"spec": {"size": 5}});
    let new = json!({"spec": {"size": 5}, "status": {"replicas": "x"}});
    let causes = definition.versions[0].validate_status(&new, &old);
    assert_eq!(
        causes[0].to_string(),
        r#"status.replicas: Invalid value: "string": replicas in body must be of type integer: "string""#
    );
}
