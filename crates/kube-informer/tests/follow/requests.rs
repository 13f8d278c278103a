//! What a reflector asks a server, when, and what it makes of the answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::Object;
use kube_informer::queue::{Delta, queue};
use kube_informer::reflector::{Config, ListRequest, Reflector, WatchRequest};
use kube_informer::source::{KubeSource, ListStream, ListWatch, SourceError, Want, WatchPart, WatchStream};
use kube_testserver::{Fault, RequestRecord, TestServer, Verb};
use kube_wire::{DecodeOptions, Event, decode_event};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::Strict;
use crate::{Follower, PATIENCE, churn, lists_only, server, write};

/// The parameters of each request, time-outs aside.
fn asked(server: &TestServer) -> Vec<BTreeMap<String, String>> {
    let parameters = |query: &str| -> BTreeMap<String, String> {
        form_urlencoded::parse(query.as_bytes())
            .filter(|(name, _)| name != "timeoutSeconds")
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect()
    };
    server.requests().iter().map(|request| parameters(&request.query)).collect()
}

fn parameters<const N: usize>(parameters: [(&str, &str); N]) -> BTreeMap<String, String> {
    parameters.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn count(server: &TestServer, verb: Verb) -> usize {
    server.requests().iter().filter(|request| request.verb == Some(verb)).count()
}

/// Waits until something is so.
async fn until(mut condition: impl FnMut() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("it comes to that");
}

#[tokio::test(start_paused = true)]
async fn each_request_asks_for_what_is_needed_and_nothing_else() {
    for config in [Config::default(), lists_only()] {
        let initial_events = config.initial_events;
        let server = server(TestServer::builder()).await;
        churn(&server, 20);
        let mut follower = Follower::start(&server, config);
        follower.until_equal(&server).await;
        let first = server.resource_version().to_string();
        write(&server, 1, 1);
        follower.until_equal(&server).await;
        let second = server.resource_version().to_string();
        tokio::time::sleep(Duration::from_secs(5)).await;
        server.stop_watches();
        until(|| server.stats().watches == 1).await;
        let watch = |version: &str| {
            parameters([("allowWatchBookmarks", "true"), ("resourceVersion", version), ("watch", "true")])
        };
        let expected = if initial_events {
            let whole = [
                ("allowWatchBookmarks", "true"),
                ("resourceVersionMatch", "NotOlderThan"),
                ("sendInitialEvents", "true"),
                ("watch", "true"),
            ];
            vec![parameters(whole), watch(&second)]
        } else {
            vec![parameters([("limit", "500"), ("resourceVersion", "0")]), watch(&first), watch(&second)]
        };
        assert_eq!(asked(&server), expected);
        for request in server.requests().iter().filter(|request| request.verb == Some(Verb::Watch)) {
            let seconds: u64 = request.parameter("timeoutSeconds").unwrap().parse().unwrap();
            assert!((300..600).contains(&seconds), "{seconds}");
        }
        assert_eq!(follower.log.iter().filter(|word| **word != "bookmark").count(), 2, "{:?}", follower.log);
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_watch_begins_where_the_last_event_of_any_kind_left_off() {
    let server = server(TestServer::builder()).await;
    write(&server, 1, 1);
    let (producer, mut consumer) = queue(16);
    let stop = CancellationToken::new();
    let source = KubeSource::<Strict>::all(server.in_process_client(), &());
    tokio::spawn(Reflector::new(source, Config::default(), 1).run(producer, stop.clone()));
    consumer.pop_batch(1).await.unwrap();
    let set = |value: &'static str| {
        server
            .mutate("v1/ConfigMap", "default", "c1", |object| object["data"]["value"] = value.into())
            .unwrap();
    };
    type Change<'a> = (&'a str, &'a dyn Fn());
    let changes: [Change<'_>; 5] = [
        ("Added", &|| write(&server, 2, 1)),
        ("Updated", &|| write(&server, 2, 2)),
        ("Deleted", &|| server.delete("v1/ConfigMap", "default", "c2").unwrap()),
        ("Undecodable", &|| set("no number")),
        // Something happens elsewhere.
        ("Bookmark", &|| {
            server.seed("{apiVersion: v1, kind: Secret, metadata: {name: s}}").unwrap();
        }),
    ];
    for (expected, change) in changes {
        change();
        let delta = tokio::time::timeout(PATIENCE, consumer.pop_batch(1)).await.unwrap().unwrap().remove(0);
        assert!(format!("{delta:?}").starts_with(expected), "{delta:?} instead of {expected}");
        server.clear_requests();
        server.stop_watches();
        until(|| server.requests().len() == 1).await;
        let version = server.requests()[0].parameter("resourceVersion").unwrap();
        assert_eq!(version, server.resource_version().to_string(), "after {expected}");
    }
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_reflector_that_is_stopped_before_it_runs_asks_nothing() {
    let server = server(TestServer::builder()).await;
    let (producer, mut consumer) = queue::<ConfigMap>(1);
    let stop = CancellationToken::new();
    stop.cancel();
    let source = KubeSource::all(server.in_process_client(), &());
    Reflector::new(source, Config::default(), 1).run(producer, stop).await;
    assert!(server.requests().is_empty());
    assert!(consumer.pop_batch(1).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_closed_when_it_fails_and_when_the_reflector_stops_or_nobody_listens() {
    for ended_by_stop in [true, false] {
        let server = server(TestServer::builder()).await;
        let (producer, mut consumer) = queue::<ConfigMap>(1);
        let stop = CancellationToken::new();
        let source = KubeSource::all(server.in_process_client(), &());
        let task = tokio::spawn(Reflector::new(source, Config::default(), 1).run(producer, stop.clone()));
        consumer.pop_batch(1).await.unwrap();
        assert_eq!(server.stats().watches, 1);
        // The server keeps the connection open behind what it sends.
        server.inject(Fault::garbage_frame(0).on(Verb::Watch).times(1));
        server.stop_watches();
        until(|| count(&server, Verb::Watch) == 2).await;
        until(|| server.stats().watches == 0).await;
        consumer.pop_batch(1).await.unwrap();
        assert_eq!(server.stats().watches, 1, "only the new one");
        if ended_by_stop {
            stop.cancel();
        } else {
            drop(consumer);
            write(&server, 1, 1);
        }
        task.await.unwrap();
        until(|| server.stats().watches == 0).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_to_watch_again_and_never_for_all_objects() {
    let server = server(TestServer::builder()).await;
    write(&server, 1, 1);
    let refused = server.inject(Fault::too_many_requests(Duration::from_secs(1)).on(Verb::Watch).times(2));
    let inside = server.inject(Fault::error_in_stream(429, 0).on(Verb::Watch).skip(2).times(2));
    let mut follower = Follower::start(&server, lists_only());
    follower.until_equal(&server).await;
    until(|| count(&server, Verb::Watch) == 5).await;
    write(&server, 2, 1);
    follower.until_equal(&server).await;
    assert_eq!((refused.hits(), inside.hits()), (2, 2));
    // A list of one object is a probe: the server may have been restored from a backup while it was busy.
    let requests = server.requests();
    let is_probe = |request: &&RequestRecord| request.parameter("limit").as_deref() == Some("1");
    let lists = requests.iter().filter(|request| request.verb == Some(Verb::List));
    let (probes, lists): (Vec<_>, Vec<_>) = lists.partition(is_probe);
    assert_eq!((lists.len(), probes.len(), count(&server, Verb::Watch)), (1, 4, 5));
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_watch_leads_to_a_list_that_takes_away_what_is_gone() {
    for config in [Config::default(), lists_only()] {
        let server = server(TestServer::builder()).await;
        write(&server, 1, 1);
        write(&server, 2, 1);
        let mut follower = Follower::start(&server, config);
        follower.until_equal(&server).await;
        let struck = server.inject(Fault::error_in_stream(500, 0).on(Verb::Watch).times(1));
        server.stop_watches();
        // The watch would tell of it, but fails before.
        server.delete("v1/ConfigMap", "default", "c1").unwrap();
        follower.until_equal(&server).await;
        assert_eq!(struck.hits(), 1);
        assert_eq!(follower.log, ["replaced", "replaced"]);
    }
}

#[tokio::test(start_paused = true)]
async fn initial_events_without_their_end_are_nothing() {
    let server = server(TestServer::builder()).await;
    churn(&server, 20);
    server.inject(Fault::no_initial_events_end().on(Verb::Watch));
    server.inject(Fault::no_reply().on(Verb::List));
    let mut follower = Follower::start(&server, Config::default());
    let nothing = tokio::time::timeout(Duration::from_secs(3600), follower.consumer.pop_batch(1)).await;
    assert!(nothing.is_err(), "{nothing:?}");
    server.clear_faults();
    follower.until_equal(&server).await;
    assert_eq!(follower.log, ["replaced"]);
}

/// Answers each watch with the next of these frames, and then nothing more.
struct Script(Mutex<VecDeque<Vec<serde_json::Value>>>);

impl ListWatch<ConfigMap> for Script {
    fn list<'a>(
        &'a self,
        _: &'a ListRequest,
        _: &'a Arc<Want<ConfigMap>>,
    ) -> BoxFuture<'a, Result<ListStream<ConfigMap>, SourceError>> {
        panic!("there is no need to list")
    }

    fn watch<'a>(
        &'a self,
        _: &'a WatchRequest,
        want: &'a Arc<Want<ConfigMap>>,
    ) -> BoxFuture<'a, Result<WatchStream<ConfigMap>, SourceError>> {
        let frames = self.0.lock().pop_front().unwrap_or_default();
        let event = |frame: serde_json::Value| {
            let event = decode_event(frame.to_string().as_bytes(), DecodeOptions::default());
            Ok(WatchPart::Event(match event.unwrap() {
                Event::Added(object) => Event::Added(want.take(object).unwrap()),
                Event::Modified(object) => Event::Modified(want.take(object).unwrap()),
                Event::Deleted(object) => Event::Deleted(want.take(object).unwrap()),
                Event::Bookmark { resource_version, initial_events_end } => {
                    Event::Bookmark { resource_version, initial_events_end }
                }
                other => panic!("{other:?}"),
            }))
        };
        let events: Vec<_> = frames.into_iter().map(event).collect();
        async move { Ok(stream::iter(events).chain(stream::pending()).boxed()) }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn changes_and_deletions_among_the_initial_events_are_taken_in() {
    let frame = |kind: &str, name: &str, version: u64| {
        let metadata = json!({"name": name, "resourceVersion": version.to_string()});
        json!({"type": kind, "object": {"metadata": metadata}})
    };
    let bookmark = |version: &str, end: &str| {
        let metadata = json!({"resourceVersion": version, "annotations": {"k8s.io/initial-events-end": end}});
        json!({"type": "BOOKMARK", "object": {"metadata": metadata}})
    };
    let frames = vec![
        frame("ADDED", "a", 1),
        frame("ADDED", "b", 2),
        frame("ADDED", "c", 3),
        frame("MODIFIED", "a", 4),
        frame("DELETED", "b", 5),
        bookmark("6", "false"),
        frame("DELETED", "c", 7),
        frame("ADDED", "c", 8),
        bookmark("9", "true"),
        frame("MODIFIED", "a", 10),
    ];
    let (producer, mut consumer) = queue(16);
    let stop = CancellationToken::new();
    let source = Script(Mutex::new([frames].into()));
    tokio::spawn(Reflector::new(source, Config::default(), 1).run(producer, stop.clone()));
    let first = consumer.pop_batch(1).await.unwrap().remove(0);
    let Delta::Replaced { objects, resource_version, .. } = first else { panic!("{first:?}") };
    let name_and_version =
        |object: &Object<ConfigMap>| format!("{}{}", object.name(), object.resource_version());
    assert_eq!(objects.iter().map(name_and_version).collect::<Vec<_>>(), ["a4", "c8"]);
    assert_eq!(resource_version, "9");
    let next = consumer.pop_batch(1).await.unwrap().remove(0);
    assert!(matches!(&next, Delta::Updated(object) if name_and_version(object) == "a10"), "{next:?}");
    stop.cancel();
}
