//! What controllers do, for those who want it: garbage collection, the end of namespaces, and of pods.

use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube_client::{Client, Resource, ResourceExt};
use kube_testserver::TestServer;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Follower, config_map, config_maps, object, pod, pods, refused, start_with_client};
use crate::verbs::{deployment, deployments};

async fn with_garbage_collection() -> (TestServer, Client) {
    let server = TestServer::builder().garbage_collection(true).start().await.unwrap();
    let client = server.client().unwrap();
    (server, client)
}

fn owned_by<K: Resource<DynamicType = ()>>(mut dependent: ConfigMap, owners: &[&K]) -> ConfigMap {
    let references = owners.iter().map(|owner| {
        let mut reference = owner.owner_ref(&()).unwrap();
        reference.block_owner_deletion = Some(true);
        reference
    });
    dependent.metadata.owner_references = Some(references.collect());
    dependent
}

/// Waits for the deletion of this object.
async fn until_deleted<K>(watch: &mut Follower<K>, name: &str)
where
    K: Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    while watch.change().await.0 != format!("DELETED {name}") {}
}

#[tokio::test]
async fn dependents_go_after_their_owner_through_all_kinds() {
    let (_server, client) = with_garbage_collection().await;
    let owner = deployments(&client).create(&PostParams::default(), &deployment("d")).await.unwrap();
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), "default");
    let set: ReplicaSet = object(json!({
        "metadata": {"name": "rs", "ownerReferences": [owner.controller_owner_ref(&()).unwrap()]},
        "spec": {"selector": {"matchLabels": {"app": "d"}}},
    }));
    let set = sets.create(&PostParams::default(), &set).await.unwrap();
    let mut child = pod("p");
    child.metadata.owner_references = Some(vec![set.controller_owner_ref(&()).unwrap()]);
    pods(&client).create(&PostParams::default(), &child).await.unwrap();
    pods(&client).create(&PostParams::default(), &pod("unrelated")).await.unwrap();
    let mut watch = Follower::open(&pods(&client), &WatchParams::default(), "0").await;

    deployments(&client)
        .delete("d", &DeleteParams::background())
        .await
        .unwrap()
        .right()
        .expect("gone at once");
    until_deleted(&mut watch, "p").await;
    assert_eq!(refused(sets.get("rs").await).code, 404);
    pods(&client).get("unrelated").await.unwrap();
}

#[tokio::test]
async fn an_owner_deleted_in_the_foreground_waits_for_its_dependents() {
    let (_server, client) = with_garbage_collection().await;
    let api = config_maps(&client);
    let owner = api.create(&PostParams::default(), &config_map("owner", "1")).await.unwrap();
    let mut held = owned_by(config_map("held", "1"), &[&owner]);
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    api.create(&PostParams::default(), &owned_by(config_map("free", "1"), &[&owner])).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;

    let waiting = api.delete("owner", &DeleteParams::foreground()).await.unwrap().left().expect("it waits");
    assert_eq!(waiting.finalizers(), ["foregroundDeletion"]);
    until_deleted(&mut watch, "free").await;
    // The one that is held keeps the owner, too.
    assert!(api.get("owner").await.unwrap().metadata.deletion_timestamp.is_some());
    let release = Patch::Json::<()>(object(
        json!([{"op": "test", "path": "/metadata/finalizers/0", "value": "example.com/hold"},
        {"op": "remove", "path": "/metadata/finalizers/0"}]),
    ));
    api.patch("held", &PatchParams::default(), &release).await.unwrap();
    until_deleted(&mut watch, "held").await;
    until_deleted(&mut watch, "owner").await;
}

#[tokio::test]
async fn orphans_stay_and_forget_their_owner() {
    let (_server, client) = with_garbage_collection().await;
    let api = config_maps(&client);
    let owner = api.create(&PostParams::default(), &config_map("owner", "1")).await.unwrap();
    api.create(&PostParams::default(), &owned_by(config_map("child", "1"), &[&owner])).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    api.delete("owner", &DeleteParams::orphan()).await.unwrap();
    until_deleted(&mut watch, "owner").await;
    let child = api.get("child").await.unwrap();
    assert_eq!(child.metadata.owner_references, None);
    assert_eq!(child.metadata.deletion_timestamp, None);
}

#[tokio::test]
async fn an_object_with_two_owners_lives_as_long_as_one_of_them() {
    let (_server, client) = with_garbage_collection().await;
    let api = config_maps(&client);
    let one = api.create(&PostParams::default(), &config_map("one", "1")).await.unwrap();
    let two = api.create(&PostParams::default(), &config_map("two", "1")).await.unwrap();
    api.create(&PostParams::default(), &owned_by(config_map("child", "1"), &[&one, &two])).await.unwrap();
    api.create(&PostParams::default(), &owned_by(config_map("first", "1"), &[&one])).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    api.delete("one", &DeleteParams::default()).await.unwrap();
    until_deleted(&mut watch, "first").await;
    api.get("child").await.unwrap();
    api.delete("two", &DeleteParams::default()).await.unwrap();
    until_deleted(&mut watch, "child").await;
}

#[tokio::test]
async fn an_object_outlives_one_of_its_owners_and_forgets_it() {
    let (_server, client) = with_garbage_collection().await;
    let api = config_maps(&client);
    let stays = api.create(&PostParams::default(), &config_map("stays", "1")).await.unwrap();
    for (params, name) in [(DeleteParams::background(), "one"), (DeleteParams::foreground(), "two")] {
        let goes = api.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
        let child = format!("child-of-{name}");
        api.create(&PostParams::default(), &owned_by(config_map(&child, "1"), &[&stays, &goes]))
            .await
            .unwrap();
        let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
        api.delete(name, &params).await.unwrap();
        while watch.change().await.0 != format!("MODIFIED {child}") {}
        let owners = api.get(&child).await.unwrap().metadata.owner_references.unwrap();
        assert_eq!(owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(), ["stays"], "{name}");
    }
}

#[tokio::test]
async fn an_owner_waits_only_for_dependents_that_hold_it() {
    let (_server, client) = with_garbage_collection().await;
    let api = config_maps(&client);
    let owner = api.create(&PostParams::default(), &config_map("owner", "1")).await.unwrap();
    let mut child = owned_by(config_map("child", "1"), &[&owner]);
    child.metadata.owner_references.as_mut().unwrap()[0].block_owner_deletion = None;
    api.create(&PostParams::default(), &child).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    api.delete("owner", &DeleteParams::foreground()).await.unwrap();
    until_deleted(&mut watch, "owner").await;
    until_deleted(&mut watch, "child").await;
}

#[tokio::test]
async fn an_owner_that_never_was_or_is_another_by_now_is_no_owner() {
    let (_server, client) = with_garbage_collection().await;
    let api = config_maps(&client);
    let owner = api.create(&PostParams::default(), &config_map("owner", "1")).await.unwrap();
    let mut other = owner.clone();
    other.metadata.uid = Some("00000000-0000-0000-0000-000000000000".into());
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    api.create(&PostParams::default(), &owned_by(config_map("stray", "1"), &[&other])).await.unwrap();
    until_deleted(&mut watch, "stray").await;
    api.get("owner").await.unwrap();
}

#[tokio::test]
async fn without_garbage_collection_dependents_stay() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let owner = api.create(&PostParams::default(), &config_map("owner", "1")).await.unwrap();
    api.create(&PostParams::default(), &owned_by(config_map("child", "1"), &[&owner])).await.unwrap();
    api.delete("owner", &DeleteParams::default()).await.unwrap();
    let before = server.resource_version();
    tokio::task::yield_now().await;
    assert_eq!(api.get("child").await.unwrap().metadata.owner_references.unwrap().len(), 1);
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn a_deleted_namespace_is_emptied_and_removed() {
    let server = TestServer::builder().namespace_deletion(true).start().await.unwrap();
    let client = server.client().unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &object(json!({"metadata": {"name": "work"}}))).await.unwrap();
    let inside: Api<ConfigMap> = Api::namespaced(client.clone(), "work");
    let mut held = config_map("held", "1");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    inside.create(&PostParams::default(), &held).await.unwrap();
    inside.create(&PostParams::default(), &config_map("free", "1")).await.unwrap();
    server.seed("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: work}}").unwrap();
    config_maps(&client).create(&PostParams::default(), &config_map("outside", "1")).await.unwrap();
    let mut maps = Follower::open(&inside, &WatchParams::default(), "0").await;
    let mut watch =
        Follower::open(&namespaces, &WatchParams::default().fields("metadata.name=work"), "0").await;

    namespaces.delete("work", &DeleteParams::default()).await.unwrap();
    until_deleted(&mut maps, "free").await;
    let waiting = namespaces.get("work").await.unwrap();
    assert_eq!(waiting.status.unwrap().phase.as_deref(), Some("Terminating"));
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    inside.patch("held", &PatchParams::default(), &release).await.unwrap();
    until_deleted(&mut watch, "work").await;
    assert_eq!(refused(namespaces.get("work").await).code, 404);
    assert_eq!(server.objects("v1/Secret").unwrap(), Vec::<serde_json::Value>::new());
    assert_eq!(config_maps(&client).list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn pods_end_with_their_grace_period() {
    let server = TestServer::builder().pod_termination(true).start().await.unwrap();
    let client = server.in_process_client();
    let api = pods(&client);
    let on_a_node = |name: &str, grace: i64| -> Pod {
        let mut new = pod(name);
        let spec = new.spec.as_mut().unwrap();
        spec.node_name = Some("node-1".into());
        spec.termination_grace_period_seconds = Some(grace);
        new
    };
    for (name, grace) in [("short", 5), ("long", 60), ("stays", 1)] {
        api.create(&PostParams::default(), &on_a_node(name, grace)).await.unwrap();
    }
    let mut watch = Follower::open(&api, &WatchParams::default().disable_bookmarks(), "0").await.patient();
    for name in ["long", "short", "stays"] {
        watch.expect(&format!("ADDED {name}")).await;
    }
    let start = Instant::now();
    // Deadlines have whole seconds, so a pod may end up to one second early or late.
    let about = |wanted: u64| {
        let elapsed = start.elapsed();
        let (least, most) = (Duration::from_secs(wanted - 1), Duration::from_secs(wanted + 1));
        assert!((least..=most).contains(&elapsed), "{elapsed:?} is not about {wanted} s");
    };
    api.delete("short", &DeleteParams::default()).await.unwrap();
    api.delete("long", &DeleteParams::default()).await.unwrap();
    watch.expect("MODIFIED short").await;
    watch.expect("MODIFIED long").await;
    until_deleted(&mut watch, "short").await;
    about(5);
    assert!(api.get("long").await.unwrap().metadata.deletion_timestamp.is_some());
    until_deleted(&mut watch, "long").await;
    about(60);
    assert_eq!(api.get("stays").await.unwrap().metadata.deletion_timestamp, None);
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_a_finalizer_outlives_its_grace_period() {
    let server = TestServer::builder().pod_termination(true).start().await.unwrap();
    let api = pods(&server.in_process_client());
    let mut new = pod("held");
    new.spec.as_mut().unwrap().node_name = Some("node-1".into());
    new.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &new).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default().disable_bookmarks(), "0").await.patient();
    watch.expect("ADDED held").await;
    api.delete("held", &DeleteParams::default()).await.unwrap();
    let marked = watch.expect("MODIFIED held").await;
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(30));
    let over = watch.expect("MODIFIED held").await;
    assert_eq!(over.metadata.deletion_grace_period_seconds, Some(0), "it has stopped, but it is held");
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &release).await.unwrap();
    watch.expect("DELETED held").await;
}
