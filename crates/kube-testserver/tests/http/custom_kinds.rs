//! Custom kinds: served as soon as they are defined, and checked, pruned and completed by their schemas.

use http::Method;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use serde_json::{Value, json};

use crate::support::{
    definition, get, get_json, object, refusal, refused, send_as, send_json, start_with_client, version,
};

pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

pub(crate) fn definitions(client: &Client) -> Api<CustomResourceDefinition> {
    Api::all(client.clone())
}

pub(crate) async fn define(client: &Client, definition: Value) -> CustomResourceDefinition {
    definitions(client).create(&PostParams::default(), &object(definition)).await.unwrap()
}

pub(crate) fn widgets(client: &Client) -> Api<DynamicObject> {
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets");
    Api::namespaced_with(client.clone(), "default", &resource)
}

pub(crate) fn widget(name: &str, spec: &Value) -> DynamicObject {
    object(
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}),
    )
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "maximum": 10},
                    "colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
                    "name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
                    "parts": {"type": "array", "items": {
                        "type": "object",
                        "properties": {"kind": {"type": "string", "default": "bolt"}},
                    }},
                    "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "integer"}, "labels": {"type": "string"}}},
        },
    })
}

fn with_subresources() -> Value {
    json!({"subresources": {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.size",
            "statusReplicasPath": ".status.ready",
            "labelSelectorPath": ".status.labels",
        },
    }})
}

#[tokio::test]
async fn a_definition_is_served_at_once() {
    let (_server, client) = start_with_client().await;
    assert_eq!(get(&client, WIDGETS).await.code, 404);
    let created = define(&client, definition("widgets", "Widget", &schema(), &json!({}))).await;
    let conditions = created.status.unwrap().conditions.unwrap();
    for wanted in ["NamesAccepted", "Established"] {
        let found = conditions.iter().find(|condition| condition.type_ == wanted).expect(wanted);
        assert_eq!(found.status, "True", "{wanted}");
    }
    let groups = get_json(&client, "/apis").await;
    assert!(groups["groups"].as_array().unwrap().iter().any(|group| group["name"] == "example.com"));
    let resources = get_json(&client, "/apis/example.com/v1").await;
    assert_eq!(resources["resources"][0]["name"], "widgets");
    assert_eq!(resources["resources"][0]["kind"], "Widget");
    let list = get_json(&client, WIDGETS).await;
    assert_eq!(
        (list["kind"].as_str(), list["apiVersion"].as_str()),
        (Some("WidgetList"), Some("example.com/v1"))
    );

    let api = widgets(&client);
    let made = api.create(&PostParams::default(), &widget("a", &json!({"size": 2}))).await.unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    assert_eq!(api.get("a").await.unwrap(), made);
    let changed =
        api.patch("a", &PatchParams::default(), &Patch::Merge(json!({"spec": {"size": 3}}))).await.unwrap();
    assert_eq!(changed.metadata.generation, Some(2));
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let unversioned = api.replace("a", &PostParams::default(), &widget("a", &json!({"size": 4}))).await;
    assert_eq!(refused(unversioned).code, 422, "an update must name its version");
    api.delete("a", &Default::default()).await.unwrap();
    assert_eq!(refused(api.get("a").await).message, "widgets.example.com \"a\" not found");
}

#[tokio::test]
async fn objects_that_do_not_fit_their_schema_are_refused_with_every_cause() {
    let (server, client) = start_with_client().await;
    define(&client, definition("widgets", "Widget", &schema(), &json!({}))).await;
    let api = widgets(&client);
    let before = server.resource_version();
    let spec = json!({"size": 11, "colour": "blue", "name": "TOOLONG", "parts": {"not": "a list"}});
    let status = refused(api.create(&PostParams::default(), &widget("a", &spec)).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let details = status.details.unwrap();
    assert_eq!(
        (details.kind.as_str(), details.group.as_str(), details.name.as_str()),
        ("Widget", "example.com", "a")
    );
    let mut causes: Vec<(&str, &str)> =
        details.causes.iter().map(|cause| (cause.field.as_str(), cause.reason.as_str())).collect();
    causes.sort_unstable();
    assert_eq!(
        causes,
        [
            ("spec.colour", "FieldValueNotSupported"),
            ("spec.name", "FieldValueTooLong"),
            ("spec.parts", "FieldValueTypeInvalid"),
            ("spec.size", "FieldValueInvalid"),
        ]
    );
    let missing = refused(api.create(&PostParams::default(), &widget("a", &json!({}))).await);
    let cause = &missing.details.unwrap().causes[0];
    assert_eq!((cause.field.as_str(), cause.reason.as_str()), ("spec.size", "FieldValueRequired"));
    assert_eq!(server.resource_version(), before);

    api.create(&PostParams::default(), &widget("a", &json!({"size": 1}))).await.unwrap();
    let patch = Patch::Merge(json!({"spec": {"size": 0}}));
    assert_eq!(refusal(api.patch("a", &PatchParams::default(), &patch).await), (422, "Invalid".to_owned()));
}

#[tokio::test]
async fn unknown_fields_are_pruned_and_missing_ones_completed() {
    let (_server, client) = start_with_client().await;
    define(&client, definition("widgets", "Widget", &schema(), &json!({}))).await;
    let spec = json!({
        "size": 1, "unknown": true,
        "parts": [{}, {"kind": "nut", "weight": 3}],
        "anything": {"goes": {"here": 1}},
    });
    let made = widgets(&client).create(&PostParams::default(), &widget("a", &spec)).await.unwrap();
    let expected = json!({
        "size": 1, "colour": "green",
        "parts": [{"kind": "bolt"}, {"kind": "nut"}],
        "anything": {"goes": {"here": 1}},
    });
    assert_eq!(made.data["spec"], expected);
    assert_eq!(get_json(&client, &format!("{WIDGETS}/a")).await["spec"], expected);
    let strict = send_json(
        &client,
        Method::POST,
        &format!("{WIDGETS}?fieldValidation=Strict"),
        &json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b"},
            "spec": {"size": 1, "unknown": true}}),
    )
    .await;
    assert_eq!(strict.code, 400);
    assert!(strict.text().contains("unknown field \\\"spec.unknown\\\""), "{}", strict.text());
}

#[tokio::test]
async fn status_and_scale_work_as_for_built_in_kinds() {
    let (_server, client) = start_with_client().await;
    define(&client, definition("widgets", "Widget", &schema(), &with_subresources())).await;
    let api = widgets(&client);
    let mut new = widget("a", &json!({"size": 2}));
    new.data["status"] = json!({"ready": 9});
    let made = api.create(&PostParams::default(), &new).await.unwrap();
    assert_eq!(made.data.get("status"), None, "not through a create");

    let patch = Patch::Merge(json!({"spec": {"size": 5}, "status": {"ready": 1, "labels": "a=b"}}));
    let reported = api.patch_status("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(reported.data["status"], json!({"ready": 1, "labels": "a=b"}));
    assert_eq!(reported.data["spec"]["size"], 2);
    assert_eq!(reported.metadata.generation, Some(1));
    let main = Patch::Merge(json!({"status": {"ready": 7}}));
    let unchanged = api.patch("a", &PatchParams::default(), &main).await.unwrap();
    assert_eq!(unchanged.data["status"]["ready"], 1);
    assert_eq!(version(&unchanged), version(&reported));

    let scale = get_json(&client, &format!("{WIDGETS}/a/scale")).await;
    assert_eq!(
        (scale["kind"].as_str(), scale["apiVersion"].as_str()),
        (Some("Scale"), Some("autoscaling/v1"))
    );
    assert_eq!(scale["spec"], json!({"replicas": 2}));
    assert_eq!(scale["status"], json!({"replicas": 1, "selector": "a=b"}));
    let scaled =
        api.patch_scale("a", &PatchParams::default(), &Patch::Merge(json!({"spec": {"replicas": 4}}))).await;
    assert_eq!(scaled.unwrap().spec.unwrap().replicas, Some(4));
    let found = api.get("a").await.unwrap();
    assert_eq!((&found.data["spec"]["size"], found.metadata.generation), (&json!(4), Some(2)));
    // The schema still counts.
    let much =
        api.patch_scale("a", &PatchParams::default(), &Patch::Merge(json!({"spec": {"replicas": 99}}))).await;
    assert_eq!(refused(much).code, 422);
}

#[tokio::test]
async fn without_subresources_status_is_a_field_like_any_other() {
    let (_server, client) = start_with_client().await;
    define(&client, definition("widgets", "Widget", &schema(), &json!({}))).await;
    let api = widgets(&client);
    let mut new = widget("a", &json!({"size": 2}));
    new.data["status"] = json!({"ready": 9});
    let made = api.create(&PostParams::default(), &new).await.unwrap();
    assert_eq!(made.data["status"]["ready"], 9);
    for path in ["status", "scale"] {
        assert_eq!(get(&client, &format!("{WIDGETS}/a/{path}")).await.code, 404, "{path}");
    }
}

#[tokio::test]
async fn every_version_shows_the_same_objects() {
    let (_server, client) = start_with_client().await;
    let mut two = definition("widgets", "Widget", &schema(), &json!({}));
    let mut old = two["spec"]["versions"][0].clone();
    old["name"] = json!("v1alpha1");
    old["storage"] = json!(false);
    let mut hidden = old.clone();
    hidden["name"] = json!("v2");
    hidden["served"] = json!(false);
    two["spec"]["versions"] = json!([old, two["spec"]["versions"][0], hidden]);
    let created = define(&client, two).await;
    assert_eq!(created.status.unwrap().stored_versions.unwrap(), ["v1"]);

    let old_path = "/apis/example.com/v1alpha1/namespaces/default/widgets";
    let new = json!({"apiVersion": "example.com/v1alpha1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}});
    assert_eq!(send_json(&client, Method::POST, old_path, &new).await.code, 201);
    let (one, two) =
        (get_json(&client, &format!("{old_path}/a")).await, get_json(&client, &format!("{WIDGETS}/a")).await);
    assert_eq!(
        (one["apiVersion"].as_str(), two["apiVersion"].as_str()),
        (Some("example.com/v1alpha1"), Some("example.com/v1"))
    );
    assert_eq!(one["metadata"]["resourceVersion"], two["metadata"]["resourceVersion"]);
    assert_eq!(one["metadata"]["uid"], two["metadata"]["uid"]);
    assert_eq!(one["spec"], two["spec"]);
    assert_eq!(get(&client, "/apis/example.com/v2/widgets").await.code, 404, "a version that is not served");

    let group = get_json(&client, "/apis/example.com").await;
    let versions: Vec<&str> =
        group["versions"].as_array().unwrap().iter().map(|one| one["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["v1", "v1alpha1"], "the most stable first");
    assert_eq!(group["preferredVersion"]["version"], "v1");
}

#[tokio::test]
async fn a_changed_definition_is_served_at_once_too() {
    let (_server, client) = start_with_client().await;
    let created = define(&client, definition("widgets", "Widget", &schema(), &json!({}))).await;
    let api = widgets(&client);
    api.create(&PostParams::default(), &widget("a", &json!({"size": 2}))).await.unwrap();
    let mut next = serde_json::to_value(created).unwrap();
    next["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    next["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]["maximum"] =
        json!(100);
    definitions(&client).replace("widgets.example.com", &PostParams::default(), &object(next)).await.unwrap();
    let larger =
        api.patch("a", &PatchParams::default(), &Patch::Merge(json!({"spec": {"size": 50}}))).await.unwrap();
    assert_eq!(larger.data["spec"]["size"], 50);
    assert_eq!(get(&client, &format!("{WIDGETS}/a/status")).await.code, 200);
}

#[tokio::test]
async fn kinds_without_a_namespace_live_in_the_cluster() {
    let (_server, client) = start_with_client().await;
    let mut wide = definition("widgets", "Widget", &schema(), &json!({}));
    wide["spec"]["scope"] = json!("Cluster");
    define(&client, wide).await;
    let new = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}});
    assert_eq!(send_json(&client, Method::POST, "/apis/example.com/v1/widgets", &new).await.code, 201);
    assert_eq!(get_json(&client, "/apis/example.com/v1/widgets/a").await["metadata"].get("namespace"), None);
    assert_eq!(get(&client, WIDGETS).await.code, 404);
}

#[tokio::test]
async fn definitions_that_make_no_sense_are_refused() {
    let (_server, client) = start_with_client().await;
    let good = definition("widgets", "Widget", &schema(), &json!({}));
    let change = |change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    for (bad, field) in [
        (change(&|bad| bad["metadata"]["name"] = json!("gadgets.example.com")), "metadata.name"),
        (change(&|bad| bad["spec"]["versions"][0]["storage"] = json!(false)), "spec.versions"),
        (
            change(&|bad| bad["spec"]["versions"][0]["schema"] = json!({})),
            "spec.versions[0].schema.openAPIV3Schema",
        ),
        (
            change(&|bad| {
                bad["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({});
            }),
            // Kubernetes reports a schema that all versions share as if it were above them.
            "spec.validation.openAPIV3Schema.properties[spec].type",
        ),
    ] {
        let found =
            send_json(&client, Method::POST, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &bad)
                .await;
        assert_eq!(found.code, 422, "{field}: {}", found.text());
        let causes = found.json()["details"]["causes"].clone();
        let fields: Vec<&str> =
            causes.as_array().unwrap().iter().map(|cause| cause["field"].as_str().unwrap_or("")).collect();
        assert!(fields.contains(&field), "{field} is not in {fields:?}");
    }
    assert_eq!(get(&client, WIDGETS).await.code, 404);
}

#[tokio::test]
async fn strategic_patches_are_not_for_custom_kinds() {
    let (_server, client) = start_with_client().await;
    define(&client, definition("widgets", "Widget", &schema(), &json!({}))).await;
    widgets(&client).create(&PostParams::default(), &widget("a", &json!({"size": 2}))).await.unwrap();
    let patch = json!({"spec": {"size": 3}});
    let path = format!("{WIDGETS}/a");
    let found =
        send_as(&client, Method::PATCH, &path, "application/strategic-merge-patch+json", &patch).await;
    assert_eq!(found.code, 415);
    assert_eq!(found.json()["reason"], "UnsupportedMediaType");
}

#[tokio::test]
async fn fields_can_be_made_selectable() {
    let (_server, client) = start_with_client().await;
    let fields = json!({"selectableFields": [{"jsonPath": ".spec.colour"}]});
    define(&client, definition("widgets", "Widget", &schema(), &fields)).await;
    let api = widgets(&client);
    for (name, colour) in [("a", "red"), ("b", "green"), ("c", "red")] {
        api.create(&PostParams::default(), &widget(name, &json!({"size": 1, "colour": colour})))
            .await
            .unwrap();
    }
    let red = api.list(&ListParams::default().fields("spec.colour=red")).await.unwrap();
    let found: Vec<_> = red.items.iter().filter_map(|item| item.metadata.name.as_deref()).collect();
    assert_eq!(found, ["a", "c"]);
    assert_eq!(refused(api.list(&ListParams::default().fields("spec.size=1")).await).code, 400);
}

#[tokio::test]
async fn a_finalizer_without_a_domain_is_a_warning_for_custom_resources_and_an_error_for_most_others() {
    let (_server, client) = start_with_client().await;
    define(&client, definition("widgets", "Widget", &json!({"type": "object"}), &json!({}))).await;
    let preference = |name: &str, preferred: &str| {
        format!(
            "299 - \"metadata.finalizers: \\\"{name}\\\": prefer a domain-qualified finalizer name{preferred} to avoid \
             accidental conflicts with other finalizer writers\""
        )
    };
    let warning = |name: &str| preference(name, "");
    let with = |name: &str, finalizers: Value| json!({"metadata": {"name": name, "finalizers": finalizers}});
    let mut held = with("a", json!(["foo", "foo", "example.com/hold", "orphan"]));
    (held["apiVersion"], held["kind"]) = (json!("example.com/v1"), json!("Widget"));
    let made = send_json(&client, Method::POST, WIDGETS, &held).await;
    assert_eq!((made.code.as_u16(), made.header("warning")), (201, &*warning("foo")), "{}", made.text());

    let path = format!("{WIDGETS}/a");
    let patch = async |patch: Value| {
        send_as(&client, Method::PATCH, &path, "application/merge-patch+json", &patch).await
    };
    let labelled = patch(json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!((labelled.code.as_u16(), labelled.header("warning")), (200, ""));
    let added = patch(json!({"metadata": {"finalizers": ["foo", "bar"]}})).await;
    assert_eq!((added.code.as_u16(), added.header("warning")), (200, &*warning("bar")));
    let added = patch(json!({"metadata": {"finalizers": ["foo.example.com"]}})).await;
    let expected = preference("foo.example.com", " including a path (/)");
    assert_eq!((added.code.as_u16(), added.header("warning")), (200, &*expected));
    let malformed = patch(json!({"metadata": {"finalizers": ["Bad Name"]}})).await;
    assert_eq!(
        (malformed.code.as_u16(), &malformed.json()["details"]["causes"][0]["field"]),
        (422, &json!("metadata.finalizers"))
    );

    for (path, code) in [
        ("/api/v1/namespaces/default/configmaps", 422),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", 422),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", 201),
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", 201),
    ] {
        let found = send_json(&client, Method::POST, path, &with("a", json!(["foo"]))).await;
        assert_eq!((found.code.as_u16(), found.header("warning")), (code, ""), "{path}: {}", found.text());
    }
}

#[tokio::test]
async fn a_finalizer_that_a_status_cannot_write_is_no_warning() {
    let (_server, client) = start_with_client().await;
    let schema = json!({"type": "object", "properties": {"status": {"type": "object"}}});
    let extra = json!({"subresources": {"status": {}}});
    define(&client, definition("widgets", "Widget", &schema, &extra)).await;
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "finalizers": ["foo"]}});
    let mut written = send_json(&client, Method::POST, WIDGETS, &widget).await.json();
    written["metadata"]["finalizers"] = json!(["foo", "bar"]);
    written["status"] = json!({});
    let status = send_json(&client, Method::PUT, &format!("{WIDGETS}/a/status"), &written).await;
    assert_eq!((status.code.as_u16(), status.header("warning")), (200, ""), "{}", status.text());
    assert_eq!(status.json()["metadata"]["finalizers"], json!(["foo"]));
}
