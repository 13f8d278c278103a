//! Delete: at once, held by finalizers, after a grace period, under conditions, and many at a time.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::ResourceExt;
use kube_client::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchParams,
};
use serde_json::json;

use crate::support::{
    Follower, config_map, config_maps, labelled, names, object, pod, pods, refusal, refused,
    start_with_client, version,
};

#[tokio::test]
async fn a_deleted_object_is_gone_and_the_answer_says_which() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let status = api.delete("a", &DeleteParams::default()).await.unwrap().right().expect("a Status");
    assert!(status.is_success());
    let details = status.details.unwrap();
    assert_eq!((details.name.as_str(), details.kind.as_str()), ("a", "configmaps"));
    assert_eq!(Some(details.uid), created.uid());
    let gone = refused(api.get("a").await);
    assert_eq!((gone.code, gone.message.as_str()), (404, "configmaps \"a\" not found"));
    assert_eq!(refusal(api.delete("a", &DeleteParams::default()).await), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_one_is_gone() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut new = config_map("a", "1");
    new.metadata.finalizers = Some(vec!["example.com/one".into(), "example.com/two".into()]);
    api.create(&PostParams::default(), &new).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;

    let held: ConfigMap =
        api.delete("a", &DeleteParams::default()).await.unwrap().left().expect("the object");
    assert!(held.metadata.deletion_timestamp.is_some());
    assert_eq!(held.metadata.deletion_grace_period_seconds, Some(0));
    let marked = watch.expect("MODIFIED a").await;
    assert_eq!(marked.metadata.deletion_timestamp, held.metadata.deletion_timestamp);
    // Deleting it again changes nothing.
    let again: ConfigMap =
        api.delete("a", &DeleteParams::default()).await.unwrap().left().expect("the object");
    assert_eq!(version(&again), version(&held));
    let taken = refused(api.create(&PostParams::default(), &config_map("a", "2")).await);
    assert_eq!(taken.message, "object is being deleted: configmaps \"a\" already exists");

    let finalizers = |list: &[&str]| Patch::Merge(json!({"metadata": {"finalizers": list}}));
    let more = api.patch("a", &PatchParams::default(), &finalizers(&["example.com/three"])).await;
    assert_eq!(refused(more).details.unwrap().causes[0].field, "metadata.finalizers");
    api.patch("a", &PatchParams::default(), &finalizers(&["example.com/two"])).await.unwrap();
    watch.expect("MODIFIED a").await;
    let last = api.patch("a", &PatchParams::default(), &finalizers(&[])).await.unwrap();
    let gone = watch.expect("DELETED a").await;
    assert!(version(&gone) >= version(&last));
    assert_eq!(refused(api.get("a").await).code, 404);
}

fn on_a_node(name: &str) -> Pod {
    let mut new = pod(name);
    new.spec.as_mut().unwrap().node_name = Some("node-1".into());
    new
}

#[tokio::test]
async fn a_pod_on_a_node_has_time_to_stop() {
    let (_server, client) = start_with_client().await;
    let api = pods(&client);
    api.create(&PostParams::default(), &on_a_node("a")).await.unwrap();
    let grace = |pod: &Pod| pod.metadata.deletion_grace_period_seconds;
    let stopping = api.delete("a", &DeleteParams::default()).await.unwrap().left().expect("the pod");
    assert_eq!(grace(&stopping), Some(30));
    assert_eq!(grace(&api.get("a").await.unwrap()), Some(30));
    let shorter = api.delete("a", &DeleteParams::default().grace_period(5)).await.unwrap().left().unwrap();
    assert_eq!(grace(&shorter), Some(5));
    assert!(shorter.metadata.deletion_timestamp < stopping.metadata.deletion_timestamp);
    let longer = api.delete("a", &DeleteParams::default().grace_period(60)).await.unwrap().left().unwrap();
    assert_eq!(grace(&longer), Some(5), "a grace period is never prolonged");
    api.delete("a", &DeleteParams::default().grace_period(0)).await.unwrap();
    assert_eq!(refused(api.get("a").await).code, 404);
}

#[tokio::test]
async fn a_pod_that_runs_nowhere_goes_at_once() {
    let (_server, client) = start_with_client().await;
    let api = pods(&client);
    api.create(&PostParams::default(), &pod("a")).await.unwrap();
    api.create(&PostParams::default(), &on_a_node("done")).await.unwrap();
    let phase = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
    api.patch_status("done", &PatchParams::default(), &phase).await.unwrap();
    for name in ["a", "done"] {
        let last: Pod = api.delete(name, &DeleteParams::default()).await.unwrap().left().expect("the pod");
        assert_eq!(last.metadata.deletion_grace_period_seconds, Some(0));
        assert_eq!(refused(api.get(name).await).code, 404);
    }
}

#[tokio::test]
async fn a_deletion_under_conditions_happens_only_if_they_hold() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let only = |uid: Option<String>, resource_version: Option<String>| {
        DeleteParams::default().preconditions(Preconditions { uid, resource_version })
    };
    let other = only(Some("00000000-0000-0000-0000-000000000000".into()), None);
    let status = refused(api.delete("a", &other).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert!(status.message.contains("does not match the UID in record"), "{}", status.message);
    let old = only(None, Some((version(&created) - 1).to_string()));
    let status = refused(api.delete("a", &old).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert!(status.message.contains("does not match the ResourceVersion in record"), "{}", status.message);
    api.delete("a", &only(created.uid(), created.resource_version())).await.unwrap();
    assert_eq!(refused(api.get("a").await).code, 404);
}

#[tokio::test]
async fn the_propagation_policy_becomes_a_finalizer_for_somebody_to_act_on() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    for (params, finalizer) in
        [(DeleteParams::foreground(), "foregroundDeletion"), (DeleteParams::orphan(), "orphan")]
    {
        api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
        let held: ConfigMap = api.delete("a", &params).await.unwrap().left().expect("the object");
        assert_eq!(held.finalizers(), [finalizer]);
        let released = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        api.patch("a", &PatchParams::default(), &released).await.unwrap();
        assert_eq!(refused(api.get("a").await).code, 404);
    }
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    api.delete("a", &DeleteParams::background()).await.unwrap().right().expect("gone at once");
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        api.create(&PostParams::default(), &labelled(name, label, "1")).await.unwrap();
    }
    let mut held = labelled("d", "x", "1");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    for name in ["a", "b", "c", "d"] {
        watch.expect(&format!("ADDED {name}")).await;
    }
    let selected = ListParams::default().labels("app=x");
    let deleted = api.delete_collection(&DeleteParams::default(), &selected).await.unwrap();
    let deleted = deleted.left().expect("the objects");
    assert_eq!(names(&deleted.items), ["a", "c", "d"]);
    for wanted in ["DELETED a", "DELETED c", "MODIFIED d"] {
        watch.expect(wanted).await;
    }
    assert_eq!(names(&api.list(&ListParams::default()).await.unwrap().items), ["b", "d"]);
    // An empty collection is no error.
    let nothing = ListParams::default().labels("app=z");
    assert!(
        api.delete_collection(&DeleteParams::default(), &nothing)
            .await
            .unwrap()
            .left()
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test]
async fn system_namespaces_cannot_be_deleted_and_others_wait_for_a_controller() {
    let (server, client) = start_with_client().await;
    let api: kube_client::Api<k8s_openapi::api::core::v1::Namespace> = kube_client::Api::all(client.clone());
    for name in ["default", "kube-system", "kube-public"] {
        let status = refused(api.delete(name, &DeleteParams::default()).await);
        assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    }
    api.create(&PostParams::default(), &object(json!({"metadata": {"name": "work"}}))).await.unwrap();
    server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: work}}").unwrap();
    let held = api.delete("work", &DeleteParams::default()).await.unwrap().left().expect("the namespace");
    assert_eq!(held.status.unwrap().phase.as_deref(), Some("Terminating"));
    let inside: kube_client::Api<ConfigMap> = kube_client::Api::namespaced(client, "work");
    assert_eq!(inside.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let status = refused(inside.create(&PostParams::default(), &config_map("b", "1")).await);
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(status.details.unwrap().causes[0].reason, "NamespaceTerminating");
}
