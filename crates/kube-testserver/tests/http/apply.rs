//! Server-side apply on built-in kinds: who owns what, conflicts, and what becomes of fields nobody wants.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube_client::api::{Api, Patch, PatchParams, PostParams};
use kube_client::{Client, Error, ResourceExt};
use serde_json::{Value, json};

use crate::support::{config_map, config_maps, refused, send_as, start_with_client, version};
use crate::verbs::deployments;

async fn apply_map(client: &Client, manager: &str, data: Value, force: bool) -> Result<ConfigMap, Error> {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
    let params = PatchParams::apply(manager);
    let params = if force { params.force() } else { params };
    config_maps(client).patch("a", &params, &Patch::Apply(config)).await
}

fn entry<'a>(object: &'a impl ResourceExt, manager: &str, operation: &str) -> &'a ManagedFieldsEntry {
    object
        .managed_fields()
        .iter()
        .find(|entry| {
            entry.manager.as_deref() == Some(manager) && entry.operation.as_deref() == Some(operation)
        })
        .unwrap_or_else(|| panic!("{manager} {operation} is not in {:?}", object.managed_fields()))
}

fn fields(entry: &ManagedFieldsEntry) -> Value {
    entry.fields_v1.as_ref().unwrap().0.clone()
}

#[tokio::test]
async fn apply_creates_what_is_not_there_and_records_who_owns_it() {
    let (_server, client) = start_with_client().await;
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"}});
    let path = "/api/v1/namespaces/default/configmaps/a?fieldManager=one";
    let found = send_as(&client, http::Method::PATCH, path, "application/apply-patch+yaml", &config).await;
    assert_eq!(found.code, 201);
    let again = send_as(&client, http::Method::PATCH, path, "application/apply-patch+yaml", &config).await;
    assert_eq!(again.code, 200);
    assert_eq!(again.json(), found.json(), "applying the same again changes nothing");

    let created = config_maps(&client).get("a").await.unwrap();
    let owned = entry(&created, "one", "Apply");
    assert_eq!(owned.api_version.as_deref(), Some("v1"));
    assert_eq!(owned.fields_type.as_deref(), Some("FieldsV1"));
    assert_eq!(owned.subresource, None);
    assert!(owned.time.is_some());
    assert_eq!(fields(owned), json!({"f:data": {"f:x": {}}}));
    assert_eq!(created.managed_fields().len(), 1);
}

#[tokio::test]
async fn a_field_of_somebody_else_is_a_conflict_unless_forced() {
    let (server, client) = start_with_client().await;
    apply_map(&client, "one", json!({"x": "1", "mine": "1"}), false).await.unwrap();
    let before = server.resource_version();
    let status = refused(apply_map(&client, "two", json!({"x": "2", "other": "2"}), false).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"one\": .data.x");
    let causes = status.details.unwrap().causes;
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].reason, "FieldManagerConflict");
    assert_eq!(causes[0].message, "conflict with \"one\"");
    assert_eq!(causes[0].field, ".data.x");
    assert_eq!(server.resource_version(), before, "nothing of it was written");

    let forced = apply_map(&client, "two", json!({"x": "2", "other": "2"}), true).await.unwrap();
    let data = forced.data.as_ref().unwrap();
    assert_eq!((data["x"].as_str(), data["mine"].as_str(), data["other"].as_str()), ("2", "1", "2"));
    assert_eq!(fields(entry(&forced, "one", "Apply")), json!({"f:data": {"f:mine": {}}}));
    assert_eq!(fields(entry(&forced, "two", "Apply")), json!({"f:data": {"f:other": {}, "f:x": {}}}));
}

#[tokio::test]
async fn fields_that_two_want_alike_belong_to_both_and_go_with_the_last() {
    let (_server, client) = start_with_client().await;
    apply_map(&client, "one", json!({"x": "1", "y": "1"}), false).await.unwrap();
    let shared = apply_map(&client, "two", json!({"x": "1"}), false).await.unwrap();
    for manager in ["one", "two"] {
        assert!(fields(entry(&shared, manager, "Apply"))["f:data"].get("f:x").is_some(), "{manager}");
    }
    let left = apply_map(&client, "one", json!({"z": "1"}), false).await.unwrap();
    let keys: Vec<&String> = left.data.as_ref().unwrap().keys().collect();
    assert_eq!(keys, ["x", "z"], "y had one owner, x has another");
    let gone = apply_map(&client, "two", json!({}), false).await.unwrap();
    assert_eq!(gone.data.unwrap().keys().collect::<Vec<_>>(), ["z"]);
}

#[tokio::test]
async fn updates_own_what_they_write() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let created = api
        .create(
            &PostParams { field_manager: Some("writer".into()), ..PostParams::default() },
            &config_map("a", "1"),
        )
        .await
        .unwrap();
    assert_eq!(fields(entry(&created, "writer", "Update")), json!({"f:data": {".": {}, "f:value": {}}}));
    let status = refused(apply_map(&client, "one", json!({"value": "2"}), false).await);
    let causes = status.details.unwrap().causes;
    assert!(causes[0].message.starts_with("conflict with \"writer\" using v1"), "{}", causes[0].message);
    apply_map(&client, "one", json!({"value": "2"}), true).await.unwrap();

    let patch = Patch::Merge(json!({"data": {"value": "3"}}));
    let params = PatchParams { field_manager: Some("patcher".into()), ..PatchParams::default() };
    let patched = api.patch("a", &params, &patch).await.unwrap();
    assert_eq!(fields(entry(&patched, "patcher", "Update")), json!({"f:data": {"f:value": {}}}));
    assert!(
        patched.managed_fields().iter().all(|entry| entry.manager.as_deref() != Some("one")),
        "who owns nothing is not mentioned: {:?}",
        patched.managed_fields()
    );
}

#[tokio::test]
async fn lists_are_merged_by_their_keys_and_each_element_has_its_owners() {
    let (_server, client) = start_with_client().await;
    let api: Api<Deployment> = deployments(&client);
    let config = |containers: Value| {
        Patch::Apply(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {
                "selector": {"matchLabels": {"app": "a"}},
                "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}},
            },
        }))
    };
    let main = json!({"name": "main", "image": "example/main:1"});
    let side = json!({"name": "side", "image": "example/side:1"});
    let names = |found: &Deployment| -> Vec<String> {
        let spec = found.spec.template.spec.as_ref().unwrap();
        spec.containers.iter().map(|container| container.name.clone()).collect()
    };
    api.patch("a", &PatchParams::apply("one"), &config(json!([main]))).await.unwrap();
    let both = api.patch("a", &PatchParams::apply("two"), &config(json!([side]))).await.unwrap();
    assert_eq!(names(&both), ["main", "side"]);
    let owned = fields(entry(&both, "two", "Apply"));
    let containers = &owned["f:spec"]["f:template"]["f:spec"]["f:containers"];
    assert_eq!(*containers, json!({"k:{\"name\":\"side\"}": {".": {}, "f:image": {}, "f:name": {}}}));
    // Who no longer names an element gives it up, and with its last owner it goes.
    let replaced = json!([{"name": "other", "image": "example/other:1"}]);
    let found = api.patch("a", &PatchParams::apply("one"), &config(replaced)).await.unwrap();
    let mut found = names(&found);
    found.sort();
    assert_eq!(found, ["other", "side"]);
}

#[tokio::test]
async fn status_is_applied_through_its_own_path() {
    let (_server, client) = start_with_client().await;
    let api = deployments(&client);
    api.create(&PostParams::default(), &crate::verbs::deployment("a")).await.unwrap();
    let status = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "status": {"replicas": 2, "conditions": [{"type": "Available", "status": "True"}]}});
    let found =
        api.patch_status("a", &PatchParams::apply("controller"), &Patch::Apply(&status)).await.unwrap();
    assert_eq!(found.status.as_ref().unwrap().replicas, Some(2));
    let owned = entry(&found, "controller", "Apply");
    assert_eq!(owned.subresource.as_deref(), Some("status"));
    assert!(fields(owned)["f:status"].get("f:replicas").is_some());
    // Through the main path nobody owns status, and applying it there does nothing.
    let main = api.patch("a", &PatchParams::apply("somebody"), &Patch::Apply(&status)).await.unwrap();
    assert_eq!(main.status, found.status);
    // Status of an object that is not there cannot be applied.
    let mut missing = status.clone();
    missing["metadata"]["name"] = json!("none");
    let status =
        refused(api.patch_status("none", &PatchParams::apply("controller"), &Patch::Apply(&missing)).await);
    assert_eq!(status.code, 404);
}

#[tokio::test]
async fn applied_configurations_that_cannot_be_are_refused() {
    let (_server, client) = start_with_client().await;
    let path = "/api/v1/namespaces/default/configmaps/a";
    let apply = "application/apply-patch+yaml";
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"}});
    let anonymous = send_as(&client, http::Method::PATCH, path, apply, &config).await;
    assert_eq!(anonymous.code, 422);
    assert_eq!(anonymous.json()["details"]["causes"][0]["field"], "fieldManager");
    let with_manager = format!("{path}?fieldManager=me");
    let other = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    assert_eq!(send_as(&client, http::Method::PATCH, &with_manager, apply, &other).await.code, 400);
    let owned =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": [{"manager": "x"}]}});
    assert_eq!(send_as(&client, http::Method::PATCH, &with_manager, apply, &owned).await.code, 400);
    let forced = format!("{path}?fieldManager=me&force=true");
    let merge = send_as(&client, http::Method::PATCH, &forced, "application/merge-patch+json", &config).await;
    assert_eq!(merge.code, 422, "only an apply can be forced");
    apply_map(&client, "me", json!({"x": "1"}), false).await.unwrap();
    let stale = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "1"}});
    assert_eq!(send_as(&client, http::Method::PATCH, &with_manager, apply, &stale).await.code, 409);
}

#[tokio::test]
async fn configurations_may_be_yaml() {
    let (_server, client) = start_with_client().await;
    let yaml = "# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {a: b}\ndata:\n  x: |\n    two\n    lines\n";
    let request = http::Request::patch("/api/v1/namespaces/default/configmaps/a?fieldManager=me")
        .header("content-type", "application/apply-patch+yaml")
        .body(kube_client::client::Body::from(yaml.as_bytes().to_vec()))
        .unwrap();
    assert_eq!(crate::support::answer(&client, request).await.code, 201);
    let found = config_maps(&client).get("a").await.unwrap();
    assert_eq!(found.data.as_ref().unwrap()["x"], "two\nlines\n");
    assert!(version(&found) > 0);
}
