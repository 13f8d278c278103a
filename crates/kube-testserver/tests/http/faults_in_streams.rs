//! Faults inside of watches: what a client has to expect of a stream.

use std::time::Duration;

use kube_client::Client;
use kube_client::api::{ListParams, WatchParams};
use kube_testserver::{Fault, TestServer, Verb};
use serde_json::Value;

use crate::support::{Follower, Lines, config_maps, create_all, start, start_with_client, within};

const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=true";

/// A server with three config maps.
async fn three() -> (TestServer, Client) {
    let (server, client) = start_with_client().await;
    create_all(&config_maps(&client), &["a", "b", "c"]).await;
    (server, client)
}

#[tokio::test]
async fn a_watch_breaks_in_the_middle_of_an_event() {
    let (server, client) = three().await;
    let mut whole = Lines::open(&client, WATCH).await;
    let first = whole.line().await.unwrap();
    let bytes = first.len() + 30;
    let fault = server.inject(Fault::cut_after(bytes).on(Verb::Watch).times(2));
    let (received, broke) = within(Lines::open(&client, WATCH).await.rest()).await;
    assert!(broke, "the connection must not end in good order");
    assert_eq!(received.len(), bytes);
    assert_eq!(received[..first.len()], first);

    // A client of Kubernetes sees what came whole and then an end or an error, never half an event.
    let mut watch = Follower::open(&config_maps(&client), &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;
    assert!(!matches!(watch.step().await, Some(Ok(_))));
    assert_eq!(fault.hits(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_watch_falls_silent() {
    let server = start().await;
    let client = server.in_process_client();
    create_all(&config_maps(&client), &["a", "b"]).await;
    let mut whole = Lines::open(&client, WATCH).await;
    let bytes = whole.line().await.unwrap().len() + 1;
    drop(whole);
    server.inject(Fault::hang_after(bytes).on(Verb::Watch));
    let path = format!("{WATCH}&timeoutSeconds=60");
    let mut lines = Lines::open(&client, &path).await;
    assert_eq!(lines.json().await["object"]["metadata"]["name"], "a");
    let waited = tokio::time::timeout(Duration::from_secs(3600), lines.line()).await;
    assert!(waited.is_err(), "not even its time-out ends it: {waited:?}");
}

#[tokio::test]
async fn a_version_expires_in_the_stream() {
    let (server, client) = three().await;
    let api = config_maps(&client);
    server.inject(Fault::expired_in_stream(2).times(1));
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;
    watch.expect("ADDED b").await;
    let status = watch.error().await;
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    watch.ended().await;
    let mut next = Follower::open(&api, &WatchParams::default(), "0").await;
    for wanted in ["ADDED a", "ADDED b", "ADDED c"] {
        next.expect(wanted).await;
    }
}

#[tokio::test]
async fn an_error_in_the_stream_ends_it_after_so_many_events() {
    let (server, client) = three().await;
    let api = config_maps(&client);
    for (code, reason, after) in [(500, "InternalError", 0), (403, "Forbidden", 1), (504, "Timeout", 3)] {
        let fault = server.inject(Fault::error_in_stream(code, after));
        let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
        for wanted in ["ADDED a", "ADDED b", "ADDED c"].iter().take(usize::try_from(after).unwrap()) {
            watch.expect(wanted).await;
        }
        let status = watch.error().await;
        assert_eq!((status.code, status.reason.as_str()), (code, reason));
        watch.ended().await;
        fault.remove();
    }
    // Events that have not happened yet are counted, too.
    server.inject(Fault::error_in_stream(500, 4));
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    for wanted in ["ADDED a", "ADDED b", "ADDED c"] {
        watch.expect(wanted).await;
    }
    create_all(&api, &["d"]).await;
    watch.expect("ADDED d").await;
    assert_eq!(watch.error().await.code, 500);
}

#[tokio::test]
async fn a_frame_is_truncated_and_the_stream_ends() {
    let (server, client) = three().await;
    server.inject(Fault::truncated_frame(1));
    let mut lines = Lines::open(&client, WATCH).await;
    assert_eq!(lines.json().await["object"]["metadata"]["name"], "a");
    let (rest, broke) = within(lines.rest()).await;
    assert!(!broke);
    assert!(rest.starts_with(b"{\"type\":\"ADDED\",\"object\":{"), "{}", String::from_utf8_lossy(&rest));
    assert!(serde_json::from_slice::<Value>(&rest).is_err_and(|error| error.is_eof()));

    let mut watch = Follower::open(&config_maps(&client), &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;
    watch.ended().await;
}

#[tokio::test]
async fn a_frame_is_garbage_and_the_stream_goes_on() {
    let (server, client) = three().await;
    server.inject(Fault::garbage_frame(2).times(2));
    let mut lines = Lines::open(&client, WATCH).await;
    for name in ["a", "b"] {
        assert_eq!(lines.json().await["object"]["metadata"]["name"], name);
    }
    let garbage = within(lines.line()).await.unwrap();
    assert!(serde_json::from_slice::<Value>(&garbage).is_err());
    assert!(!garbage.is_empty());
    assert_eq!(lines.json().await["object"]["metadata"]["name"], "c");
    create_all(&config_maps(&client), &["d"]).await;
    assert_eq!(lines.json().await["object"]["metadata"]["name"], "d");

    let mut watch = Follower::open(&config_maps(&client), &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;
    watch.expect("ADDED b").await;
    assert!(matches!(watch.step().await, Some(Err(_))));
}

#[tokio::test]
async fn a_frame_is_oversized_but_valid() {
    const BYTES: usize = 2 << 20;
    let (server, client) = three().await;
    server.inject(Fault::oversized_frame(BYTES, 1).times(2));
    let mut lines = Lines::open(&client, WATCH).await;
    lines.json().await;
    let line = within(lines.line()).await.unwrap();
    assert!(line.len() >= BYTES, "{}", line.len());
    let event: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(event["type"], "BOOKMARK");
    assert_eq!(lines.json().await["object"]["metadata"]["name"], "b");

    let mut watch = Follower::open(&config_maps(&client), &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;
    assert_eq!(watch.bookmark().await, (server.resource_version(), false));
    watch.expect("ADDED b").await;
    watch.expect("ADDED c").await;
}

#[tokio::test]
async fn a_watch_is_closed_at_once() {
    let (server, client) = three().await;
    let api = config_maps(&client);
    let fault = server.inject(Fault::close_at_once().times(2));
    for from in ["0", "1"] {
        Follower::open(&api, &WatchParams::default(), from).await.ended().await;
    }
    assert_eq!(fault.hits(), 2);
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;
    server.inject(Fault::close_at_once());
    assert_eq!(
        within(Lines::open(&client, WATCH).await.rest()).await,
        (Vec::new(), false),
        "a complete answer"
    );
}

#[tokio::test(start_paused = true)]
async fn initial_events_never_end() {
    let server = start().await;
    let api = config_maps(&server.in_process_client());
    create_all(&api, &["a"]).await;
    let fault = server.inject(Fault::no_initial_events_end());
    let params = WatchParams::default().initial_events().timeout(200);
    let mut watch = Follower::open(&api, &params, "0").await.patient();
    watch.expect("ADDED a").await;
    create_all(&api, &["b"]).await;
    watch.expect("ADDED b").await;
    server.seed("{apiVersion: v1, kind: Secret, metadata: {name: s}}").unwrap();
    let mut bookmarks = 0;
    while let Some(event) = watch.step().await {
        match event.unwrap() {
            kube_client::api::WatchEvent::Bookmark(mark) => {
                assert!(!mark.metadata.annotations.contains_key("k8s.io/initial-events-end"));
                bookmarks += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bookmarks, 1, "ordinary bookmarks still come");
    assert_eq!(fault.hits(), 1);
}

#[tokio::test]
async fn faults_of_watches_are_not_spent_on_other_requests() {
    let (server, client) = three().await;
    let api = config_maps(&client);
    let expired = server.inject(Fault::expired_in_stream(0).times(1));
    // What a watcher does first: it lists.
    let list = api.list(&ListParams::default()).await.unwrap();
    create_all(&api, &["d"]).await;
    assert_eq!(expired.hits(), 0);
    let from = list.metadata.resource_version.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), &from).await;
    assert_eq!(watch.error().await.code, 410);
    assert_eq!(expired.hits(), 1);
}
