//! Series, their ends, and what is too much.

use super::*;

const MIN: Duration = Duration::from_secs(60);

fn pod(name: &str) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".to_owned()),
        namespace: Some("shop".to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

/// A correlator and the time.
struct Story {
    correlator: Correlator,
    start: Instant,
    now: Duration,
}

impl Story {
    fn new() -> Self {
        let correlator = Correlator::new("example.com/c".to_owned(), "pod-1");
        Self { correlator, start: Instant::now(), now: Duration::ZERO }
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + i64::try_from(self.now.as_secs()).unwrap()).unwrap()
    }

    fn see(&mut self, name: &str, reason: &str) -> Option<Write> {
        let (now, time) = (self.start + self.now, self.time());
        let event = Event::normal(reason, "Act", format!("at {:?}", self.now));
        self.correlator.see(now, time, &pod(name), event).map(|(_, write)| write)
    }

    fn due(&mut self) -> Vec<Write> {
        self.correlator.due(self.start + self.now).into_iter().map(|(_, write)| write).collect()
    }
}

fn created(write: Option<Write>) -> Written {
    match write {
        Some(Write::Create(event)) => *event,
        other => panic!("{other:?}"),
    }
}

fn count(write: &Write) -> i32 {
    match write {
        Write::Series(event) => event.series.as_ref().unwrap().count,
        Write::Create(event) => panic!("{event:?}"),
    }
}

#[test]
fn the_first_is_created_the_second_makes_a_series_and_the_others_are_counted() {
    let mut story = Story::new();
    let first = created(story.see("web", "Scaled"));
    assert_eq!((first.type_.as_deref(), first.reason.as_deref()), (Some("Normal"), Some("Scaled")));
    assert_eq!(first.note.as_deref(), Some("at 0ns"));
    assert_eq!(first.metadata.namespace.as_deref(), Some("shop"));
    assert!(first.metadata.name.unwrap().starts_with("web."));
    assert_eq!(
        (first.reporting_controller.as_deref(), first.reporting_instance.as_deref()),
        (Some("example.com/c"), Some("pod-1"))
    );
    story.now = MIN;
    assert_eq!(count(&story.see("web", "Scaled").unwrap()), 2, "another note is no other event");
    assert_eq!((0..10).filter_map(|_| story.see("web", "Scaled")).count(), 0);
    created(story.see("web", "Stopped"));
    created(story.see("other", "Scaled"));
}

#[test]
fn a_series_ends_with_its_count_when_nothing_has_happened_for_six_minutes() {
    let mut story = Story::new();
    story.see("web", "Scaled");
    story.see("once", "Scaled");
    for minute in 1..=8 {
        story.now = minute * MIN;
        story.see("web", "Scaled");
        assert_eq!(story.due(), [], "what happened once is over, and needs no last word");
    }
    assert_eq!(story.correlator.known.len(), 1);
    assert_eq!(story.correlator.next_due(), Some(story.start + 14 * MIN));
    story.now = 14 * MIN;
    let last = story.due();
    assert_eq!(last.iter().map(count).collect::<Vec<_>>(), [9]);
    assert_eq!(story.correlator.next_due(), None);
    created(story.see("web", "Scaled"));
}

#[test]
fn counts_of_what_goes_on_are_written_every_half_hour() {
    let mut story = Story::new();
    let mut counts = Vec::new();
    for minute in 0..=65 {
        story.now = minute * MIN;
        story.see("web", "Scaled");
        counts.extend(story.due().iter().map(|write| (minute, count(write))));
    }
    assert_eq!(counts, [(30, 31), (60, 61)]);
    assert_eq!(story.correlator.behind().len(), 1);
    assert_eq!(story.correlator.behind().len(), 0, "now they are written");
}

#[test]
fn an_object_gets_so_many_events_of_a_type_and_then_one_in_five_minutes() {
    let mut story = Story::new();
    let written = |story: &mut Story, from: u32| {
        (from..from + 100).filter_map(|number| story.see("web", &format!("Reason{number}"))).count()
    };
    assert_eq!(written(&mut story, 0), 25);
    created(story.see("other", "Reason0"));
    let warning = Event::warning("Reason0", "Act", "");
    assert!(story.correlator.see(story.start, story.time(), &pod("web"), warning).is_some(), "another type");
    story.now = 5 * MIN;
    assert_eq!(written(&mut story, 100), 1);
}

#[test]
fn what_is_remembered_is_bounded_and_what_must_go_is_written() {
    let mut story = Story::new();
    for number in 0..2 * MAX_KNOWN {
        created(story.see(&format!("pod-{number}"), "Scaled"));
        story.see(&format!("pod-{number}"), "Scaled");
        story.see(&format!("pod-{number}"), "Scaled");
        let gone = story.due();
        assert_eq!(
            gone.iter().map(count).collect::<Vec<_>>(),
            if number < MAX_KNOWN { vec![] } else { vec![3] }
        );
    }
    assert_eq!((story.correlator.known.len(), story.correlator.quiet.len()), (MAX_KNOWN, MAX_KNOWN));
}

#[test]
fn what_could_not_be_written_is_not_known() {
    let mut story = Story::new();
    let time = story.time();
    let seen = story.correlator.see(story.start, time, &pod("web"), Event::normal("Scaled", "Act", ""));
    story.correlator.forget(&seen.unwrap().0);
    created(story.see("web", "Scaled"));
}

#[test]
fn objects_without_names_or_with_long_ones_get_names_that_servers_take() {
    let mut story = Story::new();
    let mut name = |about: ObjectReference| {
        let seen =
            story.correlator.see(story.start, story.time(), &about, Event::normal("R", "A", "")).unwrap();
        created(Some(seen.1)).metadata
    };
    let none = name(ObjectReference::default());
    assert_eq!(none.namespace.as_deref(), Some("default"));
    assert!(none.name.unwrap().starts_with("unknown."));
    assert!(name(pod(&"x".repeat(300))).name.unwrap().len() <= 253);
    assert!(name(pod("..system:Nodé.x")).name.unwrap().starts_with("system-nod-.x."));
}
