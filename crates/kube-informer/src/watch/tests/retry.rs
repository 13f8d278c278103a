//! When a watch is opened again, when not, and from where.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;

use super::script::{Answer, Part, Script, added, bookmark, connection, error, part, status};
use crate::reflector::{Config, Failure};
use crate::source::SourceError;
use crate::watch::{Change, MIN_RESTART, RetryWatch, StartError, WatchError};
use Answer::{Closes, Never, Refused, Stays};

/// Nothing here takes longer, in paused time, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

const SECOND: Duration = Duration::from_secs(1);

fn watch(script: &Script, from: &str) -> RetryWatch<ConfigMap> {
    RetryWatch::new(script.clone(), from).unwrap()
}

type Item = Result<Change<ConfigMap>, WatchError>;

async fn next(watch: &mut RetryWatch<ConfigMap>) -> Item {
    tokio::time::timeout(PATIENCE, watch.next()).await.expect("something comes").expect("it has not ended")
}

/// The versions of the next changes.
async fn versions(watch: &mut RetryWatch<ConfigMap>, count: usize) -> Vec<u64> {
    let mut versions = Vec::new();
    for _ in 0..count {
        let change = next(watch).await.unwrap();
        let version = change.object().unwrap().metadata.resource_version.clone().unwrap();
        assert_eq!(watch.resource_version(), version);
        versions.push(version.parse().unwrap());
    }
    versions
}

/// Polls for a while, in which nothing comes.
async fn nothing_for(watch: &mut RetryWatch<ConfigMap>, time: Duration) {
    let item = tokio::time::timeout(time, watch.next()).await;
    assert!(item.is_err(), "{item:?}");
}

/// The error a watch ends with, and that it ends with it.
async fn last(watch: &mut RetryWatch<ConfigMap>) -> WatchError {
    let error = next(watch).await.unwrap_err();
    assert!(watch.next().await.is_none() && watch.next().await.is_none(), "nothing follows");
    error
}

// Where it starts.

#[test]
fn versions_that_stand_for_no_moment_are_refused() {
    for version in ["", "0"] {
        let error = RetryWatch::new(Script::default(), version).unwrap_err();
        assert_eq!(error, StartError { resource_version: version.to_owned() });
        assert!(error.to_string().contains("list or read first"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_asks_when_it_is_polled_and_not_before() {
    let script = Script::new([Stays(vec![added(2)])]);
    let mut watch = watch(&script, "1");
    tokio::time::sleep(PATIENCE).await;
    assert_eq!((script.asked().len(), watch.starts()), (0, 0));
    assert_eq!(versions(&mut watch, 1).await, [2]);
    assert_eq!((script.versions(), watch.starts()), (vec!["1".to_owned()], 1));
}

// What it survives.

#[tokio::test(start_paused = true)]
async fn a_watch_that_cannot_be_opened_is_tried_again_from_the_same_version() {
    let failures = [
        connection(Failure::ConnectionRefused),
        connection(Failure::Other),
        SourceError::garbled("noise"),
        status(410, None),
        status(404, None),
        status(429, None),
        status(500, None),
        status(502, None),
        status(503, None),
        status(504, None),
    ];
    for failure in failures {
        let script = Script::new([Refused(failure.clone()), Stays(vec![added(2)])]);
        let errors = Arc::new(AtomicUsize::new(0));
        let (count, expected) = (Arc::clone(&errors), failure.clone());
        let mut watch = watch(&script, "1").on_error(move |error| {
            assert_eq!(*error, expected);
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(versions(&mut watch, 1).await, [2], "{failure:?}");
        assert_eq!(script.versions(), ["1", "1"], "{failure:?}");
        assert_eq!(errors.load(Ordering::Relaxed), 1, "it was told");
        nothing_for(&mut watch, SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_whose_panic_panics_when_it_is_dropped_takes_no_events_away() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let script = Script::new([Refused(status(500, None)), Stays(vec![added(2)])]);
    let mut watch = watch(&script, "1").on_error(|_| std::panic::panic_any(Bomb));
    assert_eq!(versions(&mut watch, 1).await, [2]);
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_watch_is_survived_from_the_last_version() {
    let errors = [
        error(504, "Timeout", None),
        error(500, "InternalError", None),
        error(666, "", None),
        error(403, "Forbidden", None),
        error(429, "TooManyRequests", None),
        part("ERROR", "{}"),
        part("ERROR", r#""not a status""#),
        part("NOISE", "{"),
        Err(connection(Failure::Other)),
    ];
    for error in errors {
        let name = format!("{error:?}");
        let script = Script::new([Stays(vec![added(6), error, added(7)]), Stays(vec![added(7)])]);
        let mut watch = watch(&script, "5");
        assert_eq!(versions(&mut watch, 2).await, [6, 7], "{name}");
        assert_eq!(script.versions(), ["5", "6"], "{name}");
        assert_eq!(script.gaps(), [MIN_RESTART], "what brought something does not back off");
    }
}

/// Answers watches from a history, each with at most so many events.
fn history(versions: &[u64], starts: &[u64], each: usize) -> Script {
    Script::new(starts.iter().map(|from| {
        let events = versions.iter().filter(|version| **version > *from).take(each);
        Closes(events.map(|version| added(*version)).collect())
    }))
}

#[tokio::test(start_paused = true)]
async fn watches_that_close_lose_nothing_and_repeat_nothing() {
    let cases: [(&[u64], &[u64], usize); 8] = [
        (&[6], &[5, 6], 1),
        (&[5, 6], &[4, 5, 6], 1),
        (&[5, 7], &[4, 5, 7], 1),
        (&[5, 7], &[2, 5, 7], 1),
        (&[5, 6, 7, 11], &[2, 5, 6, 7, 11], 1),
        (&[1, 2, 5, 6, 7, 11], &[2, 5, 6, 7, 11], 1),
        (&[1, 2, 5, 6, 7, 11], &[1, 5, 7, 11], 2),
        (&[1, 2], &[3, 3, 3], 1),
    ];
    for (all, starts, each) in cases {
        let script = history(all, starts, each);
        let mut watch = watch(&script, &starts[0].to_string());
        let expected: Vec<u64> = all.iter().copied().filter(|version| *version > starts[0]).collect();
        assert_eq!(versions(&mut watch, expected.len()).await, expected);
        nothing_for(&mut watch, Duration::from_millis(2_500)).await;
        let asked: Vec<u64> = script.versions().iter().map(|version| version.parse().unwrap()).collect();
        assert_eq!(asked[..starts.len()], *starts, "{all:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn bookmarks_move_the_version_and_are_not_told() {
    let script = Script::new([
        Closes(vec![bookmark("5"), added(7), bookmark("9")]),
        Closes(vec![bookmark("12")]),
        Stays(vec![added(13)]),
    ]);
    let mut watch = watch(&script, "1");
    assert_eq!(versions(&mut watch, 2).await, [7, 13]);
    assert_eq!(script.versions(), ["1", "9", "12"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_decoded_is_told_and_counts() {
    let odd = r#"{"metadata":{"name":"odd","resourceVersion":"7"},"data":5}"#;
    let script = Script::new([Closes(vec![added(6), part("MODIFIED", odd)]), Stays(vec![added(8)])]);
    let mut watch = watch(&script, "5");
    assert_eq!(versions(&mut watch, 1).await, [6]);
    let change = next(&mut watch).await.unwrap();
    assert!(change.object().is_none());
    let Change::Undecodable { event, error } = change else { panic!("{change:?}") };
    assert_eq!((event.as_str(), error.key.unwrap().name.as_str()), ("MODIFIED", "odd"));
    assert_eq!(versions(&mut watch, 1).await, [8]);
    assert_eq!(script.versions(), ["5", "7"]);
}

// When it starts again.

#[tokio::test(start_paused = true)]
async fn starts_are_a_second_apart_counted_from_start_to_start() {
    let script = Script::new([Closes(vec![]), Closes(vec![added(2)]), Closes(vec![]), Never]);
    let mut quick = watch(&script, "1");
    assert_eq!(versions(&mut quick, 1).await, [2]);
    nothing_for(&mut quick, 5 * SECOND).await;
    assert_eq!(script.gaps(), [MIN_RESTART; 3]);

    let script = Script::new([Closes(vec![added(2)]), Never]);
    let mut slow = watch(&script, "1");
    assert_eq!(versions(&mut slow, 1).await, [2]);
    tokio::time::sleep(Duration::from_millis(10_500)).await;
    nothing_for(&mut slow, SECOND).await;
    assert_eq!(script.gaps(), [Duration::from_millis(10_500)], "the second had passed");

    let script = Script::new([Closes(vec![]), Never]);
    let mut patient = watch(&script, "1").min_restart(7 * SECOND);
    nothing_for(&mut patient, 10 * SECOND).await;
    assert_eq!(script.gaps(), [7 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_back_off_and_something_that_comes_ends_that() {
    let refused = || (0..8).map(|_| Refused(connection(Failure::ConnectionRefused)));
    let failed_with_event = Closes(vec![added(2), error(500, "InternalError", None)]);
    let script = Script::new(refused().chain([failed_with_event, Never]));
    let mut watch = watch(&script, "1").seed(3);
    assert_eq!(versions(&mut watch, 1).await, [2]);
    nothing_for(&mut watch, 100 * SECOND).await;
    let gaps = script.gaps();
    let mut step = Config::default().backoff_initial;
    for gap in &gaps[..8] {
        assert!((step.max(MIN_RESTART)..2 * step + MIN_RESTART).contains(gap), "{gaps:?}");
        step = (2 * step).min(Config::default().backoff_max);
    }
    assert_eq!(gaps[8], MIN_RESTART, "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_wait_is_waited_for_but_not_for_ever() {
    let cases = [
        (Refused(status(429, Some(7))), 7),
        (Closes(vec![error(429, "TooManyRequests", Some(7))]), 7),
        (Closes(vec![error(500, "InternalError", Some(9))]), 9),
        (Closes(vec![added(2), error(504, "Timeout", Some(9))]), 9),
        (Refused(status(429, Some(u64::MAX))), 300),
    ];
    for (answer, seconds) in cases {
        let script = Script::new([answer, Stays(vec![added(2), added(3)])]);
        let mut watch = watch(&script, "1");
        while next(&mut watch).await.unwrap().object().unwrap().metadata.name.as_deref() != Some("c3") {}
        assert_eq!(script.gaps(), [seconds * SECOND]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_opened_again() {
    for silent in [Never, Stays(vec![]), Stays(vec![bookmark("1")])] {
        let script = Script::new([silent, Stays(vec![added(2)])]);
        let errors = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&errors);
        let mut watch = watch(&script, "1").on_error(move |error| {
            assert!(error.message.ends_with("nothing arrived for 150s"), "{error}");
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(versions(&mut watch, 1).await, [2]);
        let gap = script.gaps()[0];
        let silence = Config::default().silence;
        assert!((silence..silence + 2 * SECOND).contains(&gap), "{gap:?}");
        assert_eq!(errors.load(Ordering::Relaxed), 1);
        assert_eq!(script.open(), 1, "the silent one was dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_the_server_does_not_end_is_cut() {
    let config = Config { silence: Duration::MAX, ..Config::default() };
    let script = Script::new([Never, Stays(vec![added(2)])]);
    let mut watch = watch(&script, "1").config(config.clone());
    assert_eq!(versions(&mut watch, 1).await, [2]);
    let timeout = script.asked()[0].timeout;
    assert!((config.watch_timeout..2 * config.watch_timeout).contains(&timeout), "{timeout:?}");
    assert_ne!(timeout, script.asked()[1].timeout, "a fleet does not reconnect in step");
    let gap = script.gaps()[0] - timeout - config.watch_slack;
    assert!(gap < 2 * SECOND, "{gap:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_was_away_does_not_take_its_own_absence_for_silence() {
    let script = Script::new([Stays(vec![added(2), added(3), added(4)])]);
    let mut watch = watch(&script, "1");
    assert_eq!(versions(&mut watch, 1).await, [2]);
    tokio::time::sleep(Config::default().silence + SECOND).await;
    assert_eq!(versions(&mut watch, 2).await, [3, 4]);
    assert_eq!(watch.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn whatever_it_is_waiting_for_dropping_it_ends_it() {
    for answer in [
        Never,
        Stays(vec![]),
        Stays(vec![added(2), added(3)]),
        Closes(vec![]),
        Refused(status(429, Some(100))),
    ] {
        let script = Script::new([answer]);
        let mut watch = watch(&script, "1");
        let _ = tokio::time::timeout(Duration::from_millis(100), watch.next()).await;
        drop(watch);
        assert_eq!(script.open(), 0);
        tokio::time::sleep(PATIENCE).await;
        assert_eq!(script.asked().len(), 1, "nobody goes on");
    }
}

// What ends it.

#[tokio::test(start_paused = true)]
async fn it_ends_when_what_happened_since_is_no_longer_known() {
    for (code, reason) in [(410, "Gone"), (410, ""), (0, "Expired")] {
        let script = Script::new([Stays(vec![added(6), error(code, reason, None), added(7)])]);
        let mut watch = watch(&script, "5");
        assert_eq!(versions(&mut watch, 1).await, [6]);
        let error = last(&mut watch).await;
        let WatchError::Expired { resource_version, cause } = &error else { panic!("{error}") };
        assert_eq!((resource_version.as_str(), cause.code, cause.reason.as_str()), ("6", code, reason));
        assert_eq!(script.asked().len(), 1);
        assert_eq!(script.open(), 0, "the watch is closed, though nobody dropped the stream");
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_it_may_not_watch() {
    for code in [401, 403] {
        let script = Script::new([Refused(status(code, None))]);
        let error = last(&mut watch(&script, "5")).await;
        assert!(matches!(&error, WatchError::Denied(cause) if cause.code == code), "{error}");
        assert_eq!(script.asked().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_nobody_knows_where_to_go_on() {
    let no_version = r#"{"metadata":{"name":"a"}}"#;
    let odd = r#"{"metadata":{"name":"a"},"data":5}"#;
    let cases: [(Part, &str); 6] = [
        (part("ADDED", no_version), "Added { object: \"a\""),
        (part("DELETED", no_version), "Deleted"),
        (part("MODIFIED", odd), "an undecodable object (MODIFIED: a cannot be decoded"),
        (part("ADDED", "5"), "an undecodable object (ADDED: "),
        (bookmark(""), "a bookmark"),
        (part("NEWS", no_version), "the unknown type \"NEWS\""),
    ];
    for (part, expected) in cases {
        let script = Script::new([Stays(vec![part, added(7)])]);
        let error = last(&mut watch(&script, "5")).await.to_string();
        assert!(error.contains(expected), "{error:?} without {expected:?}");
        assert_eq!(script.asked().len(), 1);
    }
}
