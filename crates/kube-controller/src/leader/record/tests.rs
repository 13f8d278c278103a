//! Every state a lease can be found in.

use super::*;

const S: Duration = Duration::from_secs(1);

fn record() -> Record {
    Record::new("me".to_owned(), 15, BTreeMap::new())
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn lease(holder: &str, seconds: i32, renewed: i64) -> Lease {
    let mut lease = Lease::default();
    lease.metadata.resource_version = Some("7".to_owned());
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(holder.to_owned());
    spec.lease_duration_seconds = Some(seconds);
    spec.acquire_time = Some(MicroTime(time(1)));
    spec.renew_time = Some(MicroTime(time(renewed)));
    spec.lease_transitions = Some(4);
    lease
}

fn spec(lease: Option<Lease>) -> LeaseSpec {
    lease.unwrap().spec.unwrap()
}

#[test]
fn where_there_is_no_lease_one_is_made() {
    let spec = spec(record().takeover(Instant::now(), time(100)));
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("me"), Some(0)));
    assert_eq!(spec.lease_duration_seconds, Some(15));
    assert_eq!(
        (spec.acquire_time, spec.renew_time),
        (Some(MicroTime(time(100))), Some(MicroTime(time(100))))
    );
}

#[test]
fn a_lease_that_says_nothing_or_has_no_holder_is_taken_at_once() {
    let now = Instant::now();
    for free in [Lease::default(), lease("", 15, 50)] {
        let transitions = free.spec.as_ref().and_then(|spec| spec.lease_transitions).unwrap_or(0);
        let mut record = record();
        record.saw(free, now);
        assert_eq!(record.holder(), None);
        let spec = spec(record.takeover(now, time(100)));
        assert_eq!(spec.holder_identity.as_deref(), Some("me"));
        assert_eq!(spec.lease_transitions, Some(transitions + 1));
    }
}

#[test]
fn a_lease_of_another_is_respected_for_as_long_as_it_says_by_our_clock() {
    let start = Instant::now();
    let mut record = record();
    // Renewed long ago by its own words, which is nothing to go by.
    record.saw(lease("you", 3, -1_000_000), start);
    assert_eq!(record.holder(), Some("you"));
    assert!(record.takeover(start, time(100)).is_none());
    record.saw(lease("you", 3, -1_000_000), start + 2 * S);
    assert!(record.takeover(start + 2 * S, time(100)).is_none());
    record.saw(lease("you", 3, -1_000_000), start + 3 * S);
    let spec = spec(record.takeover(start + 3 * S, time(100)));
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("me"), Some(5)));
    assert_eq!(spec.acquire_time, Some(MicroTime(time(100))));
}

#[test]
fn every_renewal_of_another_starts_the_wait_anew() {
    let start = Instant::now();
    let mut record = record();
    for second in 0..10 {
        record.saw(lease("you", 3, i64::from(second)), start + 2 * S * second);
        assert!(record.takeover(start + 2 * S * second + S, time(100)).is_none());
    }
}

#[test]
fn ours_is_renewed_without_reading_while_nobody_can_have_taken_it() {
    let start = Instant::now();
    let mut record = record();
    assert!(record.renewal(start, time(100)).is_none(), "nothing is known");
    record.wrote(lease("me", 15, 50), start);
    let spec = spec(record.renewal(start + 14 * S, time(100)));
    assert_eq!(spec.renew_time, Some(MicroTime(time(100))));
    assert_eq!((spec.acquire_time, spec.lease_transitions), (Some(MicroTime(time(1))), Some(4)), "as before");
    assert!(record.renewal(start + 15 * S, time(100)).is_none(), "it must be read first");
    assert!(record.takeover(start + 15 * S, time(100)).is_some());
    record.saw(lease("you", 15, 60), start);
    assert!(record.renewal(start, time(100)).is_none());
}

#[test]
fn a_lease_without_a_version_is_never_written_unread() {
    let mut unversioned = lease("me", 15, 50);
    unversioned.metadata.resource_version = None;
    let mut record = record();
    record.wrote(unversioned, Instant::now());
    assert!(record.renewal(Instant::now(), time(100)).is_none());
}

#[test]
fn only_what_is_ours_is_given_away() {
    let now = Instant::now();
    let mut record = record();
    assert!(record.release(time(100)).is_none());
    record.saw(lease("you", 15, 50), now);
    assert!(record.release(time(100)).is_none());
    record.saw(lease("me", 15, 50), now);
    let spec = spec(record.release(time(100)));
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(""), Some(1)));
    assert_eq!(spec.lease_transitions, Some(4));
}

#[test]
fn labels_are_added_and_what_others_wrote_stays() {
    let wanted = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
    let mut record = Record::new("me".to_owned(), 15, wanted.clone());
    assert_eq!(record.takeover(Instant::now(), time(0)).unwrap().metadata.labels, Some(wanted));
    let mut found = lease("me", 15, 50);
    found.metadata.labels =
        Some([("other", "x"), ("app", "old")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    found.spec.as_mut().unwrap().strategy = Some("OldestEmulationVersion".to_owned());
    record.saw(found, Instant::now());
    let written = record.takeover(Instant::now(), time(0)).unwrap();
    let labels = written.metadata.labels.unwrap();
    assert_eq!((labels["app"].as_str(), labels["other"].as_str()), ("web", "x"));
    assert_eq!(written.spec.unwrap().strategy.as_deref(), Some("OldestEmulationVersion"));
}

#[test]
fn a_lease_with_strange_numbers_does_no_harm() {
    let now = Instant::now();
    for (seconds, free) in [(i32::MIN, true), (0, true), (i32::MAX, false)] {
        let mut record = record();
        let mut strange = lease("you", seconds, 0);
        strange.spec.as_mut().unwrap().lease_transitions = Some(i32::MAX);
        record.saw(strange, now);
        assert_eq!(record.takeover(now, Timestamp::MAX).is_some(), free, "{seconds}");
    }
}

#[test]
fn where_a_coordinator_decides_a_lease_is_renewed_by_the_one_it_was_given_to_and_taken_by_nobody() {
    let now = Instant::now();
    let mut record = record();
    assert_eq!(record.turn(now, time(100)), Turn::Nobodys, "there is no lease, and none is made");
    record.saw(lease("", 15, 50), now);
    assert_eq!(record.turn(now, time(100)), Turn::Nobodys, "nobody has it, and it is not taken");
    record.saw(lease("you", 15, 50), now);
    assert_eq!(record.turn(now, time(100)), Turn::Theirs("you".to_owned()));
    assert_eq!(
        record.turn(now + 60 * S, time(100)),
        Turn::Theirs("you".to_owned()),
        "not even when it is over"
    );

    let mut mine = lease("me", 15, 50);
    mine.spec.as_mut().unwrap().strategy = Some("OldestEmulationVersion".to_owned());
    record.saw(mine.clone(), now);
    let Turn::Ours(renewed) = record.turn(now, time(100)) else { panic!("it is ours") };
    let renewed = renewed.spec.unwrap();
    assert_eq!(renewed.renew_time, Some(MicroTime(time(100))));
    assert_eq!((renewed.acquire_time, renewed.lease_transitions), (Some(MicroTime(time(1))), Some(4)));
    assert_eq!(renewed.strategy.as_deref(), Some("OldestEmulationVersion"), "what is not ours is kept");
    assert_eq!(record.turn(now + 15 * S, time(100)), Turn::Nobodys, "too late");

    mine.spec.as_mut().unwrap().preferred_holder = Some("you".to_owned());
    record.saw(mine, now);
    assert_eq!(record.turn(now, time(100)), Turn::EndOfTerm("you".to_owned()));
}
