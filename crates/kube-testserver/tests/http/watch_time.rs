//! Watches and time: bookmarks, initial events and time-outs. In paused time, so every deadline is exact.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::api::{Api, PostParams, WatchParams};
use kube_testserver::TestServer;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    Follower, Lines, config_maps, create_all, get, object, refused, start, start_with_client,
};

fn without_bookmarks() -> WatchParams {
    WatchParams::default().disable_bookmarks()
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_at_the_interval_with_the_version_of_the_cluster() {
    let server = TestServer::builder().bookmark_interval(Duration::from_secs(60)).start().await.unwrap();
    let client = server.in_process_client();
    let api = config_maps(&client);
    let start = Instant::now();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await.patient();
    create_all(&api, &["a"]).await;
    watch.expect("ADDED a").await;
    // Writes to other kinds are what a bookmark is for: without them it would say nothing new.
    let first = put_secret(&server, "one");
    assert_eq!(watch.bookmark().await, (first, false));
    assert_eq!(start.elapsed().as_secs(), 60);
    let second = put_secret(&server, "two");
    assert_eq!(watch.bookmark().await, (second, false));
    assert_eq!(start.elapsed().as_secs(), 120);

    // From a bookmark a watch goes on without losing or repeating anything.
    create_all(&api, &["b"]).await;
    let mut resumed = Follower::open(&api, &WatchParams::default(), &second.to_string()).await.patient();
    resumed.expect("ADDED b").await;
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_that_would_say_nothing_new_does_not_come() {
    let server = start().await;
    let api = config_maps(&server.in_process_client());
    let start = Instant::now();
    let mut watch = Follower::open(&api, &WatchParams::default().timeout(600), "0").await.patient();
    let (bookmark, version) = tokio::join!(watch.bookmark(), async {
        tokio::time::sleep(Duration::from_secs(130)).await;
        put_secret(&server, "late")
    });
    assert_eq!(bookmark, (version, false));
    assert_eq!(start.elapsed().as_secs(), 180, "the first two intervals were quiet");
    watch.ended().await;
    assert_eq!(start.elapsed().as_secs(), 600);
}

/// Writes to another kind than the tests watch; returns the version of the write.
fn put_secret(server: &TestServer, name: &str) -> u64 {
    server.put(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})).unwrap();
    server.resource_version()
}

#[tokio::test(start_paused = true)]
async fn watches_that_did_not_ask_get_no_bookmarks() {
    let server = TestServer::builder().bookmark_interval(Duration::from_secs(10)).start().await.unwrap();
    let api = config_maps(&server.in_process_client());
    let start = Instant::now();
    let mut watch = Follower::open(&api, &without_bookmarks().timeout(100), "0").await.patient();
    create_all(&api, &["a"]).await;
    watch.expect("ADDED a").await;
    watch.ended().await;
    assert_eq!(start.elapsed().as_secs(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_in_good_order_after_its_timeout_with_a_last_bookmark_before() {
    let server = start().await;
    let api = config_maps(&server.in_process_client());
    create_all(&api, &["a"]).await;
    let start = Instant::now();
    let mut watch = Follower::open(&api, &WatchParams::default().timeout(30), "0").await.patient();
    watch.expect("ADDED a").await;
    let version = put_secret(&server, "s");
    assert_eq!(watch.bookmark().await, (version, false));
    assert_eq!(start.elapsed().as_secs(), 28);
    watch.ended().await;
    assert_eq!(start.elapsed().as_secs(), 30);
    assert_eq!(server.stats().watches, 0);

    let path = "/api/v1/configmaps?watch=true&timeoutSeconds=5";
    let (received, broke) = Lines::open(&server.in_process_client(), path).await.rest().await;
    assert!(!broke && received.ends_with(b"}\n"), "a complete answer");
    assert_eq!(start.elapsed().as_secs(), 35);
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_timeout_lasts_between_half_an_hour_and_an_hour() {
    use futures::StreamExt;
    let server = start().await;
    let client = server.in_process_client();
    let start = Instant::now();
    let request = http::Request::get("/api/v1/configmaps?watch=true").body(Vec::new()).unwrap();
    let stream = client.request_events::<ConfigMap>(request).await.unwrap();
    let mut stream = std::pin::pin!(futures::TryStreamExt::into_stream(stream));
    assert!(stream.next().await.is_none());
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    assert!((30.0..=60.0).contains(&minutes), "{minutes} minutes");
}

#[tokio::test]
async fn initial_events_are_followed_by_a_bookmark_that_says_so() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a", "b"]).await;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    secrets.create(&PostParams::default(), &object(json!({"metadata": {"name": "s"}}))).await.unwrap();
    let now = server.resource_version();

    let mut watch = Follower::open(&api, &WatchParams::default().initial_events(), "0").await;
    watch.expect("ADDED a").await;
    watch.expect("ADDED b").await;
    assert_eq!(watch.bookmark().await, (now, true));
    create_all(&api, &["c"]).await;
    watch.expect("ADDED c").await;

    // The version asked for is a lower bound of the state, not a place to start from.
    let old = (now - 2).to_string();
    let mut watch = Follower::open(&api, &WatchParams::default().initial_events(), &old).await;
    for wanted in ["ADDED a", "ADDED b", "ADDED c"] {
        watch.expect(wanted).await;
    }
    assert_eq!(watch.bookmark().await, (server.resource_version(), true));
}

#[tokio::test]
async fn initial_events_of_nothing_are_complete_at_once() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut watch = Follower::open(&api, &WatchParams::default().initial_events(), "0").await;
    assert_eq!(watch.bookmark().await, (server.resource_version(), true));
    create_all(&api, &["a"]).await;
    watch.expect("ADDED a").await;

    let selected = WatchParams::default().initial_events().labels("app=web");
    let mut watch = Follower::open(&api, &selected, "0").await;
    assert_eq!(watch.bookmark().await, (server.resource_version(), true));
}

#[tokio::test]
async fn initial_events_are_refused_by_a_server_that_does_not_know_them() {
    let server = TestServer::builder().watch_list(false).start().await.unwrap();
    let client = server.client().unwrap();
    let api = config_maps(&client);
    let asked = api.watch(&WatchParams::default().initial_events(), "0").await.map(|_| ());
    let status = refused(asked);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let causes = status.details.unwrap().causes;
    assert_eq!(causes[0].field, "sendInitialEvents");
    assert_eq!(causes[0].reason, "FieldValueForbidden");
    // An ordinary watch is not affected.
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    create_all(&api, &["a"]).await;
    watch.expect("ADDED a").await;
}

#[tokio::test]
async fn initial_events_need_a_version_match() {
    let (_server, client) = start_with_client().await;
    let path = "/api/v1/configmaps?watch=true&sendInitialEvents=true";
    let found = get(&client, path).await;
    assert_eq!(found.code, 422);
    let causes = found.json()["details"]["causes"].clone();
    assert_eq!(causes[0]["field"], "resourceVersionMatch");
    let found =
        get(&client, "/api/v1/configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan").await;
    assert_eq!(found.code, 422, "a list has no initial events");
}

#[tokio::test(start_paused = true)]
async fn initial_events_wait_for_the_version_they_shall_have() {
    let server = start().await;
    let client = server.in_process_client();
    let api = config_maps(&client);
    let next = server.resource_version() + 1;
    let params = WatchParams::default().initial_events();
    let wanted = next.to_string();
    let (mut watch, ()) = tokio::join!(Follower::open(&api, &params, &wanted), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        create_all(&api, &["a"]).await;
    });
    watch.expect("ADDED a").await;
    assert_eq!(watch.bookmark().await, (next, true));

    let never = (next + 1000).to_string();
    let start = Instant::now();
    let status = refused(api.watch(&params, &never).await.map(|_| ()));
    assert_eq!((status.code, status.reason.as_str()), (504, "Timeout"));
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn time_outs_and_intervals_beyond_all_time_are_no_harm() {
    let server = TestServer::builder().bookmark_interval(Duration::MAX).start().await.unwrap();
    let client = server.in_process_client();
    let path = format!("/api/v1/configmaps?watch=1&allowWatchBookmarks=1&timeoutSeconds={}", i64::MAX);
    let mut watch = Lines::open(&client, &path).await;
    create_all(&config_maps(&client), &["a"]).await;
    assert_eq!(watch.json().await["type"], "ADDED");
}
