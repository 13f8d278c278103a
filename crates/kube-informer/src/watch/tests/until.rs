//! Conditions over events.

use std::time::Duration;

use futures::{Stream, StreamExt, stream};

use crate::watch::{UntilError, WatchError, until};

type Item = Result<&'static str, WatchError>;

/// These events, and then no more, without an end.
fn events(events: &'static [&'static str]) -> impl Stream<Item = Item> + Send {
    stream::iter(events).map(|event| Ok(*event)).chain(stream::pending())
}

async fn in_time<T>(future: impl IntoFuture<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_secs(60), future).await.ok()
}

#[tokio::test(start_paused = true)]
async fn conditions_are_met_one_after_the_other() {
    let last = until(events(&["added", "other", "modified", "deleted"]), |event| *event == "added")
        .then(|event| *event == "modified");
    assert_eq!(in_time(last).await.unwrap().unwrap(), "modified");
}

#[tokio::test(start_paused = true)]
async fn an_event_that_met_one_condition_may_meet_the_next() {
    let last = until(events(&["added"]), |event| *event == "added").then(|event| *event == "added");
    assert_eq!(in_time(last).await.unwrap().unwrap(), "added");
}

#[tokio::test(start_paused = true)]
async fn an_event_before_a_condition_was_met_does_not_meet_the_next() {
    let last =
        until(events(&["modified", "added"]), |event| *event == "added").then(|event| *event == "modified");
    assert!(in_time(last).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_is_never_met_is_waited_for_until_the_caller_gives_up() {
    let mut seen = Vec::new();
    let last =
        until(events(&["added"]), |event| *event == "added").then(|event| *event == "added").then(|event| {
            seen.push(*event);
            *event == "deleted"
        });
    assert!(in_time(last).await.is_none());
    assert_eq!(seen, ["added"], "it was tried with the last event, and conditions may borrow");
}

#[tokio::test(start_paused = true)]
async fn no_event_is_taken_that_no_condition_asked_for() {
    let mut all = Box::pin(events(&["added", "modified"]));
    assert_eq!(until(&mut all, |event| *event == "added").await.unwrap(), "added");
    assert_eq!(all.next().await.unwrap().unwrap(), "modified");
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_fails_ends_the_wait_with_its_error() {
    let last = until(events(&["added"]), |event| *event == "added")
        .then(|_| Err::<bool, _>("something bad".to_owned()))
        .then(|_| panic!("it is over") as bool);
    let error = in_time(last).await.unwrap().unwrap_err();
    assert!(
        matches!(&error, UntilError::Condition(cause) if cause.to_string() == "something bad"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn events_that_end_and_watches_that_fail_are_told_apart() {
    let ends = stream::iter(["added"]).map(Ok::<_, WatchError>);
    let error = until(ends, |event| *event == "deleted").await.unwrap_err();
    assert!(matches!(error, UntilError::Ended), "{error}");
    let fails = stream::iter([Ok("added"), Err(WatchError::UnknownEvent { event: "NEWS".to_owned() })]);
    let error = until(fails, |event| *event == "deleted").await.unwrap_err();
    assert!(matches!(error, UntilError::Watch(WatchError::UnknownEvent { .. })), "{error}");
}
