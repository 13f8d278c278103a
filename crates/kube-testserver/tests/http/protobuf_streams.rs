//! Watches in protobuf, and what goes wrong with them.

use kube_client::api::{DeleteParams, PostParams};
use kube_testserver::{Fault, Verb};
use kube_wire::{DecodeOptions, Event, ProtoMessage, decode_event_proto};
use serde_json::{Value, json};

use crate::support::{
    Frames, Lines, PROTOBUF, config_map, config_maps, create_all, get_json, labelled, send, start,
    start_with_client, within,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=true";
const INITIAL: &str = "/api/v1/namespaces/default/configmaps?watch=true&sendInitialEvents=true\
    &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

#[tokio::test]
async fn events_are_the_same_in_protobuf_and_json() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &labelled("a", "web", "1")).await.unwrap();
    let path = format!("{INITIAL}&labelSelector=app%3Dweb");
    let mut frames = Frames::open(&client, &path, PROTOBUF).await;
    let mut lines = Lines::open(&client, &path).await;
    let next = async |frames: &mut Frames, lines: &mut Lines| {
        let ((kind, object), line) = (frames.change().await, lines.json().await);
        assert_eq!((line["type"].as_str(), &line["object"]), (Some(kind), &object));
        kind
    };
    assert_eq!(next(&mut frames, &mut lines).await, "ADDED");
    let Event::Bookmark { resource_version, initial_events_end } = frames.event().await else { panic!() };
    let line = lines.json().await;
    assert!(initial_events_end);
    assert_eq!(line["object"]["metadata"]["resourceVersion"], resource_version);
    api.replace("a", &PostParams::default(), &labelled("a", "web", "2")).await.unwrap();
    assert_eq!(next(&mut frames, &mut lines).await, "MODIFIED");
    // It leaves the selector: for this watch it is gone, in its last matching state.
    api.replace("a", &PostParams::default(), &labelled("a", "db", "3")).await.unwrap();
    assert_eq!(next(&mut frames, &mut lines).await, "DELETED");
    api.create(&PostParams::default(), &labelled("b", "web", "1")).await.unwrap();
    assert_eq!(next(&mut frames, &mut lines).await, "ADDED");
    api.delete("b", &DeleteParams::default()).await.unwrap();
    assert_eq!(next(&mut frames, &mut lines).await, "DELETED");
}

/// What leaves a selector has another content for those who still see it, at the same version.
#[tokio::test]
async fn watches_with_different_selectors_each_get_their_own_object() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    api.create(&PostParams::default(), &labelled("a", "web", "1")).await.unwrap();
    let mut all = Frames::open(&client, WATCH, PROTOBUF).await;
    let mut web = Frames::open(&client, &format!("{WATCH}&labelSelector=app%3Dweb"), PROTOBUF).await;
    let mut metadata =
        Frames::open(&client, WATCH, &format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"))
            .await;
    for watch in [&mut all, &mut web, &mut metadata] {
        assert_eq!(watch.change().await.0, "ADDED");
    }
    api.replace("a", &PostParams::default(), &labelled("a", "db", "2")).await.unwrap();
    let (kind, gone) = web.change().await;
    assert_eq!((kind, gone["data"]["value"].as_str()), ("DELETED", Some("1")));
    let (kind, now) = all.change().await;
    assert_eq!((kind, now["data"]["value"].as_str()), ("MODIFIED", Some("2")));
    let (kind, partial) = metadata.change().await;
    assert_eq!((kind, &partial["metadata"]), ("MODIFIED", &now["metadata"]));
    assert_eq!(gone["metadata"]["resourceVersion"], now["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn many_watches_get_every_event() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut watches = Vec::new();
    for _ in 0..10 {
        watches.push(Frames::open(&client, WATCH, PROTOBUF).await);
    }
    for at in 0..300 {
        api.create(&PostParams::default(), &config_map(&format!("c{at:03}"), "1")).await.unwrap();
    }
    for watch in &mut watches {
        for at in 0..300 {
            let (_, object) = watch.change().await;
            assert_eq!(object["metadata"]["name"], format!("c{at:03}"));
        }
    }
}

#[tokio::test]
async fn metadata_alone_can_be_watched_in_protobuf() {
    let (_server, client) = start_with_client().await;
    create_all(&config_maps(&client), &["a"]).await;
    let accept = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let mut frames = Frames::open(&client, INITIAL, &accept).await;
    let (kind, object) = frames.change().await;
    let whole = get_json(&client, &format!("{MAPS}/a")).await;
    let expected = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": whole["metadata"]});
    assert_eq!((kind, object), ("ADDED", expected));
    assert!(matches!(frames.event().await, Event::Bookmark { initial_events_end: true, .. }));
}

#[tokio::test]
async fn a_version_that_is_too_old_is_an_error_in_the_stream() {
    let (server, client) = start_with_client().await;
    create_all(&config_maps(&client), &["a", "b", "c"]).await;
    server.compact();
    let mut frames = Frames::open(&client, &format!("{WATCH}&resourceVersion=1"), PROTOBUF).await;
    let Event::Error(status) = frames.event().await else { panic!("not an ERROR") };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    assert_eq!(frames.frame().await, Ok(None));
}

/// A server with three config maps, and a fault in the watch after the first.
async fn with_fault(fault: Fault) -> (kube_testserver::TestServer, Frames) {
    let (server, client) = start_with_client().await;
    create_all(&config_maps(&client), &["a", "b", "c"]).await;
    server.inject(fault);
    let mut frames = Frames::open(&client, WATCH, PROTOBUF).await;
    assert_eq!(frames.change().await.1["metadata"]["name"], "a");
    (server, frames)
}

#[tokio::test]
async fn an_error_in_the_stream_ends_it() {
    for code in [410, 429, 500, 504] {
        let (_server, mut frames) = with_fault(Fault::error_in_stream(code, 1)).await;
        let Event::Error(status) = frames.event().await else { panic!("not an ERROR") };
        assert_eq!((status.code, status.retry_after_seconds), (code, (code == 429).then_some(1)));
        assert_eq!(frames.frame().await, Ok(None));
    }
}

#[tokio::test]
async fn a_frame_is_truncated_and_the_stream_ends() {
    let (_server, mut frames) = with_fault(Fault::truncated_frame(1)).await;
    assert_eq!(frames.frame().await, Ok(None));
    assert!(frames.pending() > 10, "the beginning of a frame came: {}", frames.pending());
}

#[tokio::test]
async fn a_frame_is_garbage_and_the_stream_goes_on() {
    let (_server, mut frames) = with_fault(Fault::garbage_frame(1)).await;
    let garbage = frames.frame().await.unwrap().unwrap();
    let kind = ProtoMessage::of("", "v1", "ConfigMap").unwrap();
    assert!(decode_event_proto::<Value>(&garbage, kind, DecodeOptions::default()).is_err());
    for name in ["b", "c"] {
        assert_eq!(frames.change().await.1["metadata"]["name"], name);
    }
}

#[tokio::test]
async fn a_frame_is_oversized_but_valid() {
    const BYTES: usize = 2 << 20;
    let (server, mut frames) = with_fault(Fault::oversized_frame(BYTES, 1)).await;
    let large = frames.frame().await.unwrap().unwrap();
    assert!(large.len() >= BYTES, "{}", large.len());
    let kind = ProtoMessage::of("", "v1", "ConfigMap").unwrap();
    let event = decode_event_proto::<Value>(&large, kind, DecodeOptions::default()).unwrap();
    let resource_version = server.resource_version().to_string();
    assert_eq!(event, Event::Bookmark { resource_version, initial_events_end: false });
    assert_eq!(frames.change().await.1["metadata"]["name"], "b");
}

#[tokio::test]
async fn a_watch_breaks_in_the_middle_of_a_frame() {
    let (server, client) = start_with_client().await;
    create_all(&config_maps(&client), &["a", "b"]).await;
    let mut whole = Frames::open(&client, WATCH, PROTOBUF).await;
    let first = whole.frame().await.unwrap().unwrap().len() + 4;
    server.inject(Fault::cut_after(first + 30).on(Verb::Watch));
    let request = crate::support::get_with(WATCH, &[("accept", PROTOBUF)]);
    let (received, broke) = within(Lines::of(send(&client, request).await).rest()).await;
    assert!(broke, "the connection must not end in good order");
    assert_eq!(received.len(), first + 30);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_in_protobuf() {
    let server = start().await;
    let client = server.in_process_client();
    create_all(&config_maps(&client), &["a"]).await;
    let path = format!("{WATCH}&allowWatchBookmarks=true&timeoutSeconds=100");
    let mut frames = Frames::open(&client, &path, PROTOBUF).await;
    assert_eq!(frames.change().await.0, "ADDED");
    server.seed("{apiVersion: v1, kind: Secret, metadata: {name: s}}").unwrap();
    let expected = Event::Bookmark {
        resource_version: server.resource_version().to_string(),
        initial_events_end: false,
    };
    assert_eq!(frames.event().await, expected);
    assert_eq!(frames.frame().await, Ok(None), "the time-out ends it in good order");
}
