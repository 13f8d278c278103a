//! Watches: which changes they tell, in which order, and how they end.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Binding, ConfigMap, Pod};
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube_client::{Client, ResourceExt};
use serde_json::json;

use crate::support::{
    Follower, Lines, config_map, config_maps, create_all, get, labelled, object, pod, pods, refused,
    start_with_client, version, within,
};

async fn present(api: &Api<ConfigMap>) -> String {
    api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap()
}

async fn set_label(client: &Client, name: &str, label: &str) -> ConfigMap {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"app": label}}}));
    config_maps(client).patch(name, &PatchParams::default(), &patch).await.unwrap()
}

#[tokio::test]
async fn a_watch_from_a_version_tells_every_later_change_in_order() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a", "b"]).await;
    let from = present(&api).await;
    create_all(&api, &["c"]).await;
    let mut watch = Follower::open(&api, &WatchParams::default(), &from).await;
    api.replace("c", &PostParams::default(), &config_map("c", "2")).await.unwrap();
    let deleted = version(&api.get("a").await.unwrap());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    create_all(&api, &["a"]).await;

    let added = watch.expect("ADDED c").await;
    assert_eq!(added.data.as_ref().unwrap()["value"], "1");
    let modified = watch.expect("MODIFIED c").await;
    assert_eq!(modified.data.as_ref().unwrap()["value"], "2");
    let gone = watch.expect("DELETED a").await;
    assert!(version(&gone) > deleted, "a deletion has a version of its own");
    let again = watch.expect("ADDED a").await;
    assert_ne!(again.uid(), gone.uid());
    let versions = [&added, &modified, &gone, &again].map(version);
    assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
    assert_eq!(version(&api.get("a").await.unwrap()), version(&again));
}

#[tokio::test]
async fn a_watch_without_a_version_begins_with_the_objects_that_are_there() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["b", "a"]).await;
    for from in ["", "0"] {
        let mut watch = Follower::open(&api, &WatchParams::default(), from).await;
        watch.expect("ADDED a").await;
        watch.expect("ADDED b").await;
        api.replace("b", &PostParams::default(), &config_map("b", &format!("from {from:?}"))).await.unwrap();
        watch.expect("MODIFIED b").await;
    }
}

#[tokio::test]
async fn a_watch_from_a_version_to_come_begins_after_it() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let skipped = server.resource_version() + 1;
    let mut watch = Follower::open(&api, &WatchParams::default(), &skipped.to_string()).await;
    create_all(&api, &["a", "b"]).await;
    watch.expect("ADDED b").await;
}

#[tokio::test]
async fn objects_enter_and_leave_a_label_selector() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut watch = Follower::open(&api, &WatchParams::default().labels("app=web"), "0").await;
    api.create(&PostParams::default(), &labelled("other", "db", "1")).await.unwrap();
    api.create(&PostParams::default(), &labelled("one", "web", "1")).await.unwrap();
    watch.expect("ADDED one").await;

    api.replace("one", &PostParams::default(), &labelled("one", "web", "2")).await.unwrap();
    watch.expect("MODIFIED one").await;

    let left = set_label(&client, "one", "db").await;
    let last = watch.expect("DELETED one").await;
    assert_eq!(last.labels()["app"], "web", "the last state that was selected");
    assert_eq!(version(&last), version(&left), "at the version at which it left");

    // What happens outside of the selector is none of this watch's business.
    set_label(&client, "one", "cache").await;
    api.delete("other", &DeleteParams::default()).await.unwrap();

    let back = set_label(&client, "one", "web").await;
    let entered = watch.expect("ADDED one").await;
    assert_eq!(version(&entered), version(&back));
    api.delete("one", &DeleteParams::default()).await.unwrap();
    watch.expect("DELETED one").await;
}

#[tokio::test]
async fn field_selectors_follow_the_node_of_a_pod() {
    let (_server, client) = start_with_client().await;
    let api = pods(&client);
    let mut watch = Follower::open(&api, &WatchParams::default().fields("spec.nodeName=node-1"), "0").await;
    let mut homeless = Follower::open(&api, &WatchParams::default().fields("spec.nodeName="), "0").await;
    for (name, node) in [("a", "node-1"), ("b", "node-2")] {
        api.create(&PostParams::default(), &pod(name)).await.unwrap();
        let binding: Binding =
            object(json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}));
        let bound: serde_json::Value =
            api.create_subresource("binding", name, &PostParams::default(), &binding).await.unwrap();
        assert_eq!(bound["status"], "Success");
    }
    let bound: Pod = watch.expect("ADDED a").await;
    assert_eq!(bound.spec.unwrap().node_name.unwrap(), "node-1");
    for wanted in ["ADDED a", "DELETED a", "ADDED b", "DELETED b"] {
        homeless.expect(wanted).await;
    }
    api.delete("a", &DeleteParams::default().grace_period(0)).await.unwrap();
    loop {
        let (change, _) = watch.change().await;
        if change == "DELETED a" {
            break;
        }
        assert_eq!(change, "MODIFIED a", "the other pod must not be seen");
    }
}

#[tokio::test]
async fn field_selectors_pick_one_object_by_name() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut watch = Follower::open(&api, &WatchParams::default().fields("metadata.name=b"), "0").await;
    create_all(&api, &["a", "b", "c"]).await;
    watch.expect("ADDED b").await;
    for name in ["a", "b", "c"] {
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }
    watch.expect("DELETED b").await;
    let unknown = api.watch(&WatchParams::default().fields("data.value=1"), "0").await.map(|_| ());
    let status = refused(unknown);
    assert_eq!((status.code, status.reason.as_str()), (400, "BadRequest"));
}

#[tokio::test]
async fn a_watch_of_one_namespace_hears_nothing_of_others() {
    let (server, client) = start_with_client().await;
    server.seed("{apiVersion: v1, kind: Namespace, metadata: {name: elsewhere}}").unwrap();
    let here = config_maps(&client);
    let there: Api<ConfigMap> = Api::namespaced(client.clone(), "elsewhere");
    let everywhere: Api<ConfigMap> = Api::all(client.clone());
    let mut one = Follower::open(&here, &WatchParams::default(), "0").await;
    let mut all = Follower::open(&everywhere, &WatchParams::default(), "0").await;
    create_all(&there, &["there"]).await;
    create_all(&here, &["here"]).await;
    one.expect("ADDED here").await;
    let first = all.expect("ADDED there").await;
    assert_eq!(first.namespace().unwrap(), "elsewhere");
    all.expect("ADDED here").await;
}

#[tokio::test]
async fn a_watch_from_a_forgotten_version_is_told_so_in_the_stream() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let old = present(&api).await;
    create_all(&api, &["a", "b"]).await;
    let oldest = server.compact();
    assert_eq!(oldest, server.resource_version());

    let mut watch = Follower::open(&api, &WatchParams::default(), &old).await;
    let status = watch.error().await;
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    assert_eq!(status.message, format!("too old resource version: {old} ({oldest})"));
    watch.ended().await;

    // The present is not forgotten.
    let mut watch = Follower::open(&api, &WatchParams::default(), &oldest.to_string()).await;
    create_all(&api, &["c"]).await;
    watch.expect("ADDED c").await;
}

#[tokio::test]
async fn compaction_does_not_disturb_a_watch_that_has_seen_everything() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a"]).await;
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;
    server.compact();
    create_all(&api, &["b"]).await;
    watch.expect("ADDED b").await;
    assert_eq!(server.stats().watches_cut_off, 0);
}

#[tokio::test]
async fn stopped_watches_end_in_good_order_and_can_go_on_from_where_they_were() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut first = Follower::open(&api, &WatchParams::default(), "0").await;
    let mut second = Follower::open(&api, &WatchParams::default(), "0").await;
    let mut other = Follower::open(&pods(&client), &WatchParams::default(), "0").await;
    create_all(&api, &["a"]).await;
    let seen = first.expect("ADDED a").await;
    second.expect("ADDED a").await;
    assert_eq!(server.stats().watches, 3);

    assert_eq!(server.stop_watches_of("deployments.apps"), 0);
    assert_eq!(server.stop_watches_of("no-such-resource"), 0);
    assert_eq!(server.stop_watches_of("configmaps"), 2);
    first.ended().await;
    second.ended().await;
    create_all(&api, &["b"]).await;
    let mut resumed = Follower::open(&api, &WatchParams::default(), &seen.resource_version().unwrap()).await;
    resumed.expect("ADDED b").await;

    assert_eq!(server.stop_watches(), 2);
    other.ended().await;
    resumed.ended().await;
    assert_eq!(server.stats().watches, 0);

    // In good order: the answer is complete, the connection is not broken.
    let lines = Lines::open(&client, "/api/v1/configmaps?watch=true&resourceVersion=1").await;
    assert_eq!(server.stop_watches(), 1);
    let (received, broke) = within(lines.rest()).await;
    assert!(!broke);
    assert!(received.is_empty() || received.ends_with(b"\n"), "whole events only");
}

#[tokio::test]
async fn every_watcher_sees_the_same_sequence() {
    const WATCHERS: usize = 50;
    const WRITERS: usize = 4;
    const ROUNDS: usize = 15;
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut watches = Vec::new();
    for _ in 0..WATCHERS {
        watches.push(Follower::open(&api, &WatchParams::default(), "0").await);
    }
    let writers = (0..WRITERS).map(|writer| {
        let api = api.clone();
        async move {
            for round in 0..ROUNDS {
                let name = format!("{writer}-{}", round % 5);
                create_all(&api, &[&name]).await;
                api.replace(&name, &PostParams::default(), &config_map(&name, "2")).await.unwrap();
                api.delete(&name, &DeleteParams::default()).await.unwrap();
            }
        }
    });
    let readers = watches.iter_mut().map(|watch| async move {
        let mut seen = Vec::new();
        for _ in 0..WRITERS * ROUNDS * 3 {
            let (change, object) = watch.change().await;
            seen.push((change, version(&object)));
        }
        seen
    });
    let (_, sequences) = within(futures::future::join(join_all(writers), join_all(readers))).await;
    assert!(sequences[0].is_sorted_by(|(_, one), (_, next)| one < next));
    for sequence in &sequences {
        assert_eq!(*sequence, sequences[0]);
    }
}

#[tokio::test]
async fn a_watch_of_something_unknown_is_refused() {
    let (_server, client) = start_with_client().await;
    assert_eq!(get(&client, "/api/v1/unicorns?watch=true").await.code, 404);
    assert_eq!(get(&client, "/apis/example.com/v1/unicorns?watch=true").await.code, 404);
}
