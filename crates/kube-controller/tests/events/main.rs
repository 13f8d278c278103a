//! Events on the embedded server, in paused time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as Written;
use kube_controller::events::{Event, EventRecorder, QUEUE};
use kube_testserver::{Fault, TestServer, Verb};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const S: Duration = Duration::from_secs(1);

fn foo(name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("example.com/v1".to_owned()),
        kind: Some("Foo".to_owned()),
        namespace: Some("default".to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

fn scaled() -> Event {
    Event::normal("Scaled", "Scale", "Scaled up to 3")
}

struct Story {
    server: TestServer,
    recorder: EventRecorder,
    stop: CancellationToken,
    writing: JoinHandle<()>,
}

impl Story {
    async fn begin() -> Self {
        let server = TestServer::start().await.unwrap();
        let (recorder, writer) = EventRecorder::new(server.in_process_client(), "example.com/foos", "pod-1");
        let stop = CancellationToken::new();
        let writing = tokio::spawn(writer.run(stop.clone()));
        Self { server, recorder, stop, writing }
    }

    fn events(&self) -> Vec<Written> {
        let events = self.server.objects("events.k8s.io/v1/Event").unwrap();
        events.into_iter().map(|event| serde_json::from_value(event).unwrap()).collect()
    }

    async fn end(self) -> (TestServer, EventRecorder) {
        self.stop.cancel();
        tokio::time::timeout(25 * S, self.writing).await.unwrap().unwrap();
        (self.server, self.recorder)
    }
}

fn count(event: &Written) -> Option<i32> {
    event.series.as_ref().map(|series| series.count)
}

#[tokio::test(start_paused = true)]
async fn what_happens_again_and_again_is_one_event_with_a_count() {
    let story = Story::begin().await;
    assert!(story.recorder.record(&foo("web"), scaled().related(foo("other"))));
    tokio::time::sleep(S).await;
    let events = story.events();
    assert_eq!(events.len(), 1);
    let event = &events[0];
    assert_eq!(event.regarding.as_ref().unwrap().name.as_deref(), Some("web"));
    assert_eq!(event.related.as_ref().unwrap().name.as_deref(), Some("other"));
    assert_eq!((event.type_.as_deref(), event.note.as_deref()), (Some("Normal"), Some("Scaled up to 3")));
    assert_eq!(event.action.as_deref(), Some("Scale"));
    assert!(event.event_time.is_some());
    for _ in 0..9 {
        story.recorder.record(&foo("web"), scaled().related(foo("other")));
        tokio::time::sleep(S).await;
    }
    assert_eq!(count(&story.events()[0]), Some(2), "the others are counted here");
    tokio::time::sleep(7 * 60 * S).await;
    assert_eq!(story.events().iter().map(count).collect::<Vec<_>>(), [Some(10)], "until it is over");
    story.recorder.record(&foo("web"), scaled().related(foo("other")));
    tokio::time::sleep(S).await;
    assert_eq!(story.events().len(), 2, "later it is another");
}

#[tokio::test(start_paused = true)]
async fn an_event_without_a_namespace_goes_to_the_default_one() {
    let story = Story::begin().await;
    let node =
        ObjectReference { kind: Some("Node".to_owned()), name: Some("n1".to_owned()), ..Default::default() };
    story.recorder.record(&node, Event::warning("NotReady", "Check", "It does not answer"));
    tokio::time::sleep(S).await;
    assert_eq!(story.events()[0].metadata.namespace.as_deref(), Some("default"));
    assert_eq!(story.events()[0].type_.as_deref(), Some("Warning"));
}

#[tokio::test(start_paused = true)]
async fn recording_never_waits_and_says_when_there_is_no_room() {
    let story = Story::begin().await;
    story.server.inject(Fault::no_reply());
    story.recorder.record(&foo("first"), scaled());
    tokio::time::sleep(S).await;
    let started = tokio::time::Instant::now();
    let taken = (0..2 * QUEUE)
        .filter(|number| story.recorder.record(&foo(&format!("web-{number}")), scaled()))
        .count();
    assert_eq!((taken, started.elapsed()), (QUEUE, Duration::ZERO));
    assert_eq!(story.recorder.stats().dropped, QUEUE as u64);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_for_a_minute_loses_no_event() {
    for fault in
        [Fault::no_reply(), Fault::reply(503), Fault::too_many_requests(S), Fault::lost_reply().times(5)]
    {
        let story = Story::begin().await;
        let fault = story.server.inject(fault);
        for number in 0..100 {
            assert!(story.recorder.record(&foo(&format!("web-{number}")), scaled()));
        }
        tokio::time::sleep(60 * S).await;
        fault.remove();
        tokio::time::sleep(60 * S).await;
        assert_eq!(story.events().len(), 100);
        assert_eq!((story.recorder.stats().written, story.recorder.stats().failed), (100, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_for_long_costs_the_event_and_not_the_next_one() {
    let story = Story::begin().await;
    let fault = story.server.inject(Fault::reply(503));
    story.recorder.record(&foo("web"), scaled());
    tokio::time::sleep(130 * S).await;
    assert_eq!((fault.hits(), story.recorder.stats().failed), (12, 1));
    fault.remove();
    story.recorder.record(&foo("web"), scaled());
    tokio::time::sleep(S).await;
    assert_eq!(story.events().iter().map(count).collect::<Vec<_>>(), [None], "it is the first that is there");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_no_is_not_asked_again() {
    let story = Story::begin().await;
    let fault = story.server.inject(Fault::reply(403).times(1));
    story.recorder.record(&foo("web"), scaled());
    story.recorder.record(&foo("other"), scaled());
    tokio::time::sleep(S).await;
    assert_eq!((fault.hits(), story.recorder.stats().failed, story.events().len()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_series_whose_event_is_gone_is_created_with_its_count() {
    let story = Story::begin().await;
    story.recorder.record(&foo("web"), scaled());
    tokio::time::sleep(S).await;
    let name = story.events()[0].metadata.name.clone().unwrap();
    story.server.delete("events.k8s.io/v1/Event", "default", &name).unwrap();
    story.recorder.record(&foo("web"), scaled());
    tokio::time::sleep(S).await;
    assert_eq!(story.events().iter().map(count).collect::<Vec<_>>(), [Some(2)]);
}

#[tokio::test(start_paused = true)]
async fn when_it_is_told_to_stop_it_writes_what_waits_and_every_count() {
    let story = Story::begin().await;
    for _ in 0..5 {
        story.recorder.record(&foo("web"), scaled());
    }
    tokio::time::sleep(S).await;
    for number in 0..50 {
        story.recorder.record(&foo(&format!("web-{number}")), scaled());
    }
    let (server, recorder) = story.end().await;
    let events = server.objects("events.k8s.io/v1/Event").unwrap();
    assert_eq!(events.len(), 51);
    assert!(events.iter().any(|event| event["series"]["count"] == 5), "{events:?}");
    assert!(!recorder.record(&foo("late"), scaled()), "nobody writes any more");
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_long_for_a_server_that_is_away() {
    let story = Story::begin().await;
    story.server.inject(Fault::no_reply());
    for number in 0..50 {
        story.recorder.record(&foo(&format!("web-{number}")), scaled());
    }
    tokio::time::sleep(S).await;
    let started = tokio::time::Instant::now();
    let (_, recorder) = story.end().await;
    // The request that was under way, and the ten seconds of the rest.
    assert!(started.elapsed() <= 20 * S, "{:?}", started.elapsed());
    let stats = recorder.stats();
    assert_eq!((stats.written, stats.failed + stats.dropped), (0, 50), "each is accounted for");
}

#[tokio::test(start_paused = true)]
async fn the_writer_ends_when_nobody_is_left_who_records() {
    let story = Story::begin().await;
    story.recorder.record(&foo("web"), scaled());
    drop(story.recorder);
    story.writing.await.unwrap();
    let requests = story.server.requests();
    assert_eq!(requests.iter().filter(|request| request.verb == Some(Verb::Create)).count(), 1);
}
