//! Status, scale, eviction, binding and finalize: parts of objects with paths of their own.

use http::Method;
use k8s_openapi::api::core::v1::Namespace;
use kube_client::api::{Api, EvictParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::support::{
    get, get_json, object, pod, pods, refusal, refused, send_json, start_with_client, version,
};
use crate::verbs::{deployment, deployments};

#[tokio::test]
async fn status_has_a_path_of_its_own_and_the_rest_is_safe_from_it() {
    let (_server, client) = start_with_client().await;
    let api = deployments(&client);
    api.create(&PostParams::default(), &deployment("a")).await.unwrap();
    let patch = Patch::Merge(json!({"spec": {"replicas": 9}, "status": {"replicas": 2}}));
    let reported = api.patch_status("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(reported.status.as_ref().unwrap().replicas, Some(2));
    assert_eq!(reported.spec.replicas, Some(1), "not through status");

    let main = Patch::Merge(json!({"spec": {"replicas": 4}, "status": {"replicas": 4}}));
    let changed = api.patch("a", &PatchParams::default(), &main).await.unwrap();
    assert_eq!(changed.spec.replicas, Some(4));
    assert_eq!(changed.status.as_ref().unwrap().replicas, Some(2), "only through status");

    let mut whole = changed.clone();
    whole.status.as_mut().unwrap().ready_replicas = Some(1);
    whole.spec.replicas = Some(7);
    let replaced = api.replace_status("a", &PostParams::default(), &whole).await.unwrap();
    assert_eq!(replaced.status.as_ref().unwrap().ready_replicas, Some(1));
    assert_eq!(replaced.spec.replicas, Some(4));
    assert_eq!(api.get_status("a").await.unwrap(), replaced);
    let stale = api.replace_status("a", &PostParams::default(), &changed).await;
    assert_eq!(refusal(stale), (409, "Conflict".to_owned()));
}

#[tokio::test]
async fn scale_shows_and_changes_the_number_of_replicas() {
    let (_server, client) = start_with_client().await;
    let api = deployments(&client);
    let created = api.create(&PostParams::default(), &deployment("a")).await.unwrap();
    let scale = api.get_scale("a").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(1));
    assert_eq!(scale.metadata.name.as_deref(), Some("a"));
    assert_eq!(scale.metadata.uid, created.metadata.uid);
    assert_eq!(scale.metadata.resource_version, created.metadata.resource_version);

    let status = Patch::Merge(json!({"status": {"replicas": 1}}));
    api.patch_status("a", &PatchParams::default(), &status).await.unwrap();
    let raw = get_json(&client, "/apis/apps/v1/namespaces/default/deployments/a/scale").await;
    assert_eq!(raw["kind"], "Scale");
    assert_eq!(raw["apiVersion"], "autoscaling/v1");
    assert_eq!(raw["status"], json!({"replicas": 1, "selector": "app=a"}));

    let patch = Patch::Merge(json!({"spec": {"replicas": 5}}));
    let scaled = api.patch_scale("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(scaled.spec.as_ref().unwrap().replicas, Some(5));
    let object = api.get("a").await.unwrap();
    assert_eq!(object.spec.replicas, Some(5));
    assert_eq!(object.metadata.generation, Some(2));

    let mut next = scaled.clone();
    next.spec.as_mut().unwrap().replicas = Some(6);
    api.replace_scale("a", &PostParams::default(), &next).await.unwrap();
    assert_eq!(
        refusal(api.replace_scale("a", &PostParams::default(), &next).await),
        (409, "Conflict".to_owned())
    );
    let negative = Patch::Merge(json!({"spec": {"replicas": -1}}));
    let status = refused(api.patch_scale("a", &PatchParams::default(), &negative).await);
    assert_eq!((status.code, status.details.unwrap().causes[0].field.as_str()), (422, "spec.replicas"));
    assert_eq!(api.get("a").await.unwrap().spec.replicas, Some(6));
}

#[tokio::test]
async fn subresources_that_a_kind_has_not_are_not_found() {
    let (_server, client) = start_with_client().await;
    pods(&client).create(&PostParams::default(), &pod("a")).await.unwrap();
    for path in ["/api/v1/namespaces/default/pods/a/scale", "/api/v1/namespaces/default/configmaps/a/status"]
    {
        assert_eq!(get(&client, path).await.code, 404, "{path}");
    }
    let missing = "/apis/apps/v1/namespaces/default/deployments/none/scale";
    let found = get(&client, missing).await;
    assert_eq!(found.code, 404);
    assert_eq!(found.json()["message"], "deployments.apps \"none\" not found");
}

#[tokio::test]
async fn an_evicted_pod_is_deleted() {
    let (_server, client) = start_with_client().await;
    let api = pods(&client);
    api.create(&PostParams::default(), &pod("a")).await.unwrap();
    let status = api.evict("a", &EvictParams::default()).await.unwrap();
    assert!(status.is_success());
    assert_eq!(refused(api.get("a").await).code, 404);
    assert_eq!(refused(api.evict("a", &EvictParams::default()).await).code, 404);
}

#[tokio::test]
async fn a_pod_is_bound_to_a_node_once() {
    let (_server, client) = start_with_client().await;
    let api = pods(&client);
    api.create(&PostParams::default(), &pod("a")).await.unwrap();
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "node-1"},
    });
    let path = "/api/v1/namespaces/default/pods/a/binding";
    assert_eq!(send_json(&client, Method::POST, path, &binding).await.code, 201);
    let bound = api.get("a").await.unwrap();
    assert_eq!(bound.spec.as_ref().unwrap().node_name.as_deref(), Some("node-1"));
    let condition = &bound.status.as_ref().unwrap().conditions.as_ref().unwrap()[0];
    assert_eq!((condition.type_.as_str(), condition.status.as_str()), ("PodScheduled", "True"));
    assert_eq!(send_json(&client, Method::POST, path, &binding).await.code, 409);
    assert_eq!(version(&api.get("a").await.unwrap()), version(&bound));
}

#[tokio::test]
async fn finalize_lets_a_deleted_namespace_go() {
    let (_server, client) = start_with_client().await;
    let api: Api<Namespace> = Api::all(client.clone());
    let created =
        api.create(&PostParams::default(), &object(json!({"metadata": {"name": "work"}}))).await.unwrap();
    assert_eq!(created.spec.as_ref().unwrap().finalizers.as_ref().unwrap(), &["kubernetes"]);
    let held = api.delete("work", &Default::default()).await.unwrap().left().expect("the namespace");
    let mut finalized = serde_json::to_value(held).unwrap();
    finalized["spec"]["finalizers"] = json!([]);
    let found = send_json(&client, Method::PUT, "/api/v1/namespaces/work/finalize", &finalized).await;
    assert_eq!(found.code, 200, "{}", found.text());
    assert_eq!(refused(api.get("work").await).code, 404);
}
