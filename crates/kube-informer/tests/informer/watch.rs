//! Watches that start again, and conditions over them.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_informer::watch::{self, Change, RetryWatch, UntilError, WatchError};
use kube_testserver::{Fault, Rule, TestServer, Verb};

use crate::support::Strict;
use crate::{PATIENCE, delete, server, write};

fn retry_watch(server: &TestServer, from: u64) -> RetryWatch<ConfigMap> {
    RetryWatch::new(KubeSource::all(server.in_process_client(), &()), from.to_string()).unwrap()
}

/// One line for a change: what, to which object, at which version.
fn line(change: &Change<ConfigMap>) -> String {
    let word = match change {
        Change::Added(_) => "ADDED",
        Change::Modified(_) => "MODIFIED",
        Change::Deleted(_) => "DELETED",
        other => panic!("{other:?}"),
    };
    let meta = &change.object().unwrap().metadata;
    format!("{word} {} {}", meta.name.as_deref().unwrap(), meta.resource_version.as_deref().unwrap())
}

pub(crate) fn value(object: &ConfigMap) -> usize {
    object.data.as_ref().unwrap()["value"].parse().unwrap()
}

pub(crate) async fn next<T>(events: &mut (impl futures::Stream<Item = T> + Unpin)) -> T {
    tokio::time::timeout(PATIENCE, events.next()).await.expect("something comes").expect("it has not ended")
}

async fn lines(watch: &mut RetryWatch<ConfigMap>, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..count {
        lines.push(line(&next(watch).await.unwrap()));
    }
    lines
}

/// Writes in an order that looks random and is not, and says what a watch is to tell.
fn write_many(server: &TestServer, seed: usize, writes: usize) -> Vec<String> {
    let mut random = seed;
    let mut expected = Vec::new();
    for value in 0..writes {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let name = format!("c{}", (random >> 33) % 5);
        let there = server.object("v1/ConfigMap", "default", &name).unwrap().is_some();
        let word = match (there, value % 3 == 2) {
            (true, true) => "DELETED",
            (true, false) => "MODIFIED",
            (false, _) => "ADDED",
        };
        if word == "DELETED" {
            delete(server, &name);
        } else {
            write(server, &name, seed * 1_000_000 + value);
        }
        expected.push(format!("{word} {name} {}", server.resource_version()));
    }
    expected
}

/// Waits until the server has so many open watches.
async fn until_watches(server: &TestServer, count: usize) {
    let reached = async {
        while server.stats().watches != count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.expect("watches come or go");
}

// A watch that starts again.

#[tokio::test(start_paused = true)]
async fn every_change_is_told_once_and_in_order_whatever_goes_wrong() {
    let faults = [
        Fault::cut_after(1_000),
        Fault::hang_after(1_500),
        Fault::no_reply(),
        Fault::delay(Duration::from_secs(20)),
        Fault::too_many_requests(Duration::from_secs(5)),
        Fault::reply(404),
        Fault::reply(500),
        Fault::reply(503),
        Fault::reply(504),
        Fault::expired(),
        Fault::error_in_stream(500, 2),
        Fault::error_in_stream(504, 0),
        Fault::error_in_stream(429, 1),
        Fault::error_in_stream(403, 1),
        Fault::error_in_stream(599, 3),
        Fault::truncated_frame(2),
        Fault::garbage_frame(2),
        Fault::close_at_once(),
    ];
    for fault in faults {
        let server = server().await;
        write_many(&server, 1, 10);
        let injected = server.inject(fault.clone().on(Verb::Watch).resource("configmaps").times(4));
        let mut watch = retry_watch(&server, server.resource_version());
        for round in 2..8 {
            let expected = write_many(&server, round, 17);
            assert_eq!(lines(&mut watch, expected.len()).await, expected, "{fault:?}");
            server.stop_watches();
        }
        assert_eq!(injected.hits(), 4, "{fault:?}");
        let rest = tokio::time::timeout(Duration::from_secs(3600), watch.next()).await;
        assert!(rest.is_err(), "{rest:?} was told after {fault:?}, though nothing happened");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_begins_after_its_version_and_asks_for_bookmarks() {
    let server = server().await;
    write_many(&server, 1, 20);
    let from = server.resource_version();
    let expected = write_many(&server, 2, 20);
    assert_eq!(lines(&mut retry_watch(&server, from), 20).await, expected);
    let asked = server.requests();
    let request = asked.iter().find(|request| request.verb == Some(Verb::Watch)).unwrap();
    assert_eq!(request.parameter("allowWatchBookmarks").as_deref(), Some("true"));
    assert_eq!(request.parameter("sendInitialEvents"), None);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_outlives_the_history_by_its_bookmarks() {
    let server = TestServer::builder().bookmark_interval(Duration::from_secs(10)).start().await.unwrap();
    write(&server, "a", 1);
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &()).fields("metadata.name=a");
    let mut watch = RetryWatch::new(source, server.resource_version().to_string()).unwrap();
    assert!(tokio::time::timeout(Duration::from_secs(1), watch.next()).await.is_err(), "it is open");
    // Others change, and this watch hears of it by bookmarks alone.
    write_many(&server, 1, 20);
    assert!(tokio::time::timeout(Duration::from_secs(30), watch.next()).await.is_err());
    assert_eq!(watch.resource_version(), server.resource_version().to_string());
    server.compact();
    server.stop_watches();
    write(&server, "a", 2);
    assert!(matches!(next(&mut watch).await.unwrap(), Change::Modified(_)));
    assert_eq!(watch.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_and_a_forbidden_watch_are_errors_and_nothing_follows() {
    let server = server().await;
    write(&server, "a", 1);
    let from = server.resource_version();
    write(&server, "a", 2);
    server.compact();
    let mut forgotten = retry_watch(&server, from);
    let error = next(&mut forgotten).await.unwrap_err();
    assert!(matches!(error, WatchError::Expired { .. }), "{error}");
    assert!(forgotten.next().await.is_none());

    let struck = server.inject(Fault::expired_in_stream(1).on(Verb::Watch).times(1));
    let mut cut_off = retry_watch(&server, server.resource_version());
    let expected = write_many(&server, 3, 2);
    assert_eq!(lines(&mut cut_off, 1).await, expected[..1]);
    let error = next(&mut cut_off).await.unwrap_err();
    assert!(matches!(error, WatchError::Expired { .. }), "{error}");
    assert!(cut_off.next().await.is_none());
    assert_eq!(struck.hits(), 1);

    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny()]);
    for (token, code) in [("t", 403), ("nobody", 401)] {
        let source = KubeSource::<ConfigMap>::all(server.in_process_client_with_token(token), &());
        let mut denied = RetryWatch::new(source, "1").unwrap();
        let error = next(&mut denied).await.unwrap_err();
        assert!(matches!(&error, WatchError::Denied(cause) if cause.code == code), "{error}");
        assert!(denied.next().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_decoded_is_told_in_its_place() {
    let server = server().await;
    let source = KubeSource::<Strict>::all(server.in_process_client(), &());
    let mut watch = RetryWatch::new(source, server.resource_version().to_string()).unwrap();
    write(&server, "a", 1);
    server
        .seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {value: no number}}")
        .unwrap();
    assert!(matches!(next(&mut watch).await.unwrap(), Change::Added(_)));
    let change = next(&mut watch).await.unwrap();
    let Change::Undecodable { event, error } = change else { panic!("{change:?}") };
    assert_eq!((event.as_str(), error.key.unwrap().name.as_str()), ("ADDED", "bad"));
    server.stop_watches();
    write(&server, "b", 2);
    let change = next(&mut watch).await.unwrap();
    assert_eq!(change.object().unwrap().data.value, 2, "{change:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_nobody_reads_holds_nothing_up_and_ends_when_dropped() {
    let server = server().await;
    let mut unread = retry_watch(&server, server.resource_version());
    write_many(&server, 1, 200);
    lines(&mut unread, 1).await;
    until_watches(&server, 1).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    drop(unread);
    until_watches(&server, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_another_was_left() {
    let server = server().await;
    let mut first = retry_watch(&server, server.resource_version());
    let expected = write_many(&server, 1, 30);
    let mut told = lines(&mut first, 12).await;
    let mut second = retry_watch(&server, first.resource_version().parse().unwrap());
    drop(first);
    told.extend(lines(&mut second, 18).await);
    assert_eq!(told, expected);
}

#[tokio::test]
async fn every_change_is_told_over_real_connections_that_break() {
    let server = server().await;
    let cuts = server.inject(Fault::cut_after(3_000).on(Verb::Watch).times(20));
    let mut config = Config::default();
    config.backoff_initial = Duration::from_millis(1);
    config.backoff_max = Duration::from_millis(5);
    let source = KubeSource::<ConfigMap>::all(server.client().unwrap(), &());
    let mut watch = RetryWatch::new(source, server.resource_version().to_string())
        .unwrap()
        .config(config)
        .min_restart(Duration::from_millis(1));
    for round in 1..20 {
        let expected = write_many(&server, round, 40);
        assert_eq!(lines(&mut watch, expected.len()).await, expected);
    }
    assert_eq!(cuts.hits(), 20);
}

// Conditions over a watch.

#[tokio::test(start_paused = true)]
async fn conditions_are_met_over_the_changes_of_a_watch_that_breaks() {
    let server = server().await;
    server.inject(Fault::truncated_frame(1).on(Verb::Watch).times(5));
    let mut changes = retry_watch(&server, server.resource_version());
    for value in 0..6 {
        write(&server, "a", value);
    }
    delete(&server, "a");
    write(&server, "b", 1);
    let value = |change: &Change<ConfigMap>| value(change.object().unwrap());
    let last = watch::until(&mut changes, |change| matches!(change, Change::Added(_)))
        .then(|change| value(change) == 0)
        .then(|change| value(change) == 3)
        .then(|change| matches!(change, Change::Deleted(_)));
    let last = tokio::time::timeout(PATIENCE, last).await.unwrap().unwrap();
    assert!(line(&last).starts_with("DELETED a"));
    assert!(line(&next(&mut changes).await.unwrap()).starts_with("ADDED b"), "the watch can be used further");
}

#[tokio::test(start_paused = true)]
async fn a_wait_fails_with_the_watch_and_ends_with_the_callers_time() {
    let server = server().await;
    let from = server.resource_version();
    let never = watch::until(retry_watch(&server, from), |_| false);
    assert!(tokio::time::timeout(Duration::from_secs(7), never).await.is_err());
    until_watches(&server, 0).await;
    write(&server, "a", 1);
    write(&server, "a", 2);
    server.compact();
    let error = watch::until(retry_watch(&server, from), |_| true).await.unwrap_err();
    assert!(matches!(error, UntilError::Watch(WatchError::Expired { .. })), "{error}");
}
