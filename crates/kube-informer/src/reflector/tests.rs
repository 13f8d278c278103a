//! Every rule of following, without a server.

use std::time::{Duration, Instant};

use super::*;

/// A machine and its clock.
struct Run {
    machine: Machine,
    now: Instant,
}

impl Run {
    fn new(config: Config) -> Self {
        Self { machine: Machine::new(config, 1), now: start() }
    }

    /// With lists only.
    fn listing() -> Self {
        Self::new(Config { initial_events: false, ..Config::default() })
    }

    /// What is done next, waits aside; and how long it had to be waited for.
    fn next(&mut self) -> (Duration, Step) {
        let before = self.now;
        loop {
            match self.machine.next(self.now) {
                Step::Wait(until) => self.now = until,
                step => return (self.now - before, step),
            }
        }
    }

    /// The same, on a server that has come as far as the copy.
    fn next_of_same_server(&mut self) -> (Duration, Step) {
        let (waited, step) = self.next();
        let Step::Probe(request) = step else { return (waited, step) };
        assert!(!self.machine.probed(ProbeAnswer::Version(&request.resource_version), self.now));
        let (then, step) = self.next();
        (waited + then, step)
    }

    fn list(&mut self) -> ListRequest {
        match self.next() {
            (_, Step::List(request)) => request,
            (_, other) => panic!("{other:?} instead of a list"),
        }
    }

    fn watch(&mut self) -> WatchRequest {
        match self.next_of_same_server() {
            (_, Step::Watch(request)) => {
                self.machine.watch_opened(self.now);
                request
            }
            (_, other) => panic!("{other:?} instead of a watch"),
        }
    }

    /// A page with an item arrives.
    fn page(&mut self, version: &str, token: &str) -> PageVerdict {
        self.machine.page(version, token, 500, self.now)
    }

    fn fail_list(&mut self, failure: &Failure) {
        self.machine.list_failed(failure, self.now);
    }

    fn end(&mut self, end: &WatchEnd) {
        self.machine.watch_ended(end, self.now);
    }

    fn event(&mut self, version: &str) -> EventVerdict {
        self.machine.event(false, version, self.now)
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Lists at a version, and opens the watch.
    fn synced(version: &str) -> Self {
        let mut run = Self::listing();
        run.list();
        run.page(version, "");
        run.watch();
        run
    }
}

#[expect(clippy::disallowed_methods, reason = "any instant will do, and there is no other way to make one")]
fn start() -> Instant {
    Instant::now()
}

fn complete(version: &str) -> PageVerdict {
    PageVerdict::Complete { resource_version: version.to_owned(), new_epoch: false }
}

const SECOND: Duration = Duration::from_secs(1);

// Which version is asked for.

#[test]
fn the_first_list_takes_any_version_and_the_watch_follows_it() {
    let mut run = Run::listing();
    let list = run.list();
    assert_eq!((list.resource_version.as_str(), list.limit), ("0", Some(500)));
    assert_eq!(run.page("10", ""), complete("10"));
    let watch = run.watch();
    assert_eq!((watch.resource_version.as_str(), watch.initial_events), ("10", false));
}

#[test]
fn a_later_list_is_not_older_than_what_was_seen_and_comes_in_one_piece() {
    let mut run = Run::synced("10");
    assert_eq!(run.event("12"), EventVerdict::Apply);
    run.end(&WatchEnd::Error(Failure::Expired));
    let list = run.list();
    assert_eq!((list.resource_version.as_str(), list.limit), ("12", None));
}

#[test]
fn a_version_the_server_does_not_have_leads_to_the_latest_at_once() {
    for failure in [Failure::Expired, Failure::VersionTooLarge] {
        let mut run = Run::synced("10");
        run.end(&WatchEnd::Error(Failure::Expired));
        assert_eq!(run.list().resource_version, "10");
        run.fail_list(&failure);
        let (waited, step) = run.next();
        assert_eq!(waited, Duration::ZERO);
        assert_eq!(step, Step::List(ListRequest { limit: None, ..ListRequest::default() }));
        assert_eq!(run.page("20", ""), complete("20"));
        run.watch();
        run.end(&WatchEnd::Error(Failure::Expired));
        assert_eq!(run.list().resource_version, "20", "once it worked, versions are asked for again");
    }
}

#[test]
fn a_latest_list_that_fails_too_backs_off_and_stays_with_the_latest() {
    let mut run = Run::synced("10");
    run.end(&WatchEnd::Error(Failure::Expired));
    run.list();
    run.fail_list(&Failure::Expired);
    run.list();
    run.fail_list(&Failure::Other);
    let (waited, step) = run.next();
    assert!(waited >= Duration::from_millis(800));
    assert!(matches!(step, Step::List(ListRequest { resource_version, .. }) if resource_version.is_empty()));
}

#[test]
fn an_expired_watch_does_not_make_its_version_unavailable() {
    let mut run = Run::synced("10");
    run.end(&WatchEnd::Refused(Failure::Expired));
    assert_eq!(run.list().resource_version, "10");
}

// Pages.

#[test]
fn pages_follow_their_token_without_a_version_and_have_the_version_of_the_first() {
    let mut run = Run::listing();
    run.list();
    assert_eq!(run.page("10", "token"), PageVerdict::More);
    let next = run.list();
    assert_eq!((next.resource_version.as_str(), next.continue_token.as_str()), ("", "token"));
    assert_eq!(next.limit, Some(500));
    assert_eq!(run.page("11", ""), complete("10"));
}

#[test]
fn a_server_that_sends_pages_at_version_zero_is_asked_for_pages_later() {
    let mut run = Run::listing();
    run.list();
    run.page("10", "token");
    run.list();
    run.page("10", "");
    run.watch();
    run.end(&WatchEnd::Error(Failure::Expired));
    assert_eq!(run.list().limit, Some(500));
}

#[test]
fn a_page_size_that_is_set_is_always_used() {
    let mut run = Run::new(Config { initial_events: false, page_size: Some(7), ..Config::default() });
    assert_eq!(run.list().limit, Some(7));
    run.page("10", "");
    run.watch();
    run.end(&WatchEnd::Error(Failure::Expired));
    assert_eq!(run.list().limit, Some(7));
}

#[test]
fn pages_that_expire_half_way_are_replaced_by_one_full_list() {
    let mut run = Run::listing();
    run.list();
    run.page("10", "token");
    run.list();
    run.fail_list(&Failure::Expired);
    let (waited, step) = run.next();
    assert_eq!(waited, Duration::ZERO);
    let full = ListRequest { resource_version: "0".to_owned(), limit: None, continue_token: String::new() };
    assert_eq!(step, Step::List(full));
    assert_eq!(run.page("15", ""), complete("15"));
}

#[test]
fn pages_that_expire_again_without_a_limit_wait_ever_longer() {
    for refused_first in [false, true] {
        let mut run = Run::listing();
        let mut waits = Vec::new();
        for _ in 0..6 {
            for limited in [true, false] {
                let list = run.list();
                assert_eq!((list.limit.is_some(), list.continue_token.as_str()), (limited, ""));
                if refused_first && list.resource_version == "0" {
                    run.fail_list(&Failure::Expired);
                    let latest = run.list();
                    assert_eq!((latest.resource_version.as_str(), latest.limit), ("", list.limit));
                }
                run.page("10", "token");
                run.list();
                run.fail_list(&Failure::Expired);
            }
            let Step::Wait(until) = run.machine.next(run.now) else { panic!("it waits") };
            waits.push(until - run.now);
        }
        assert!(waits[5] > 4 * waits[0], "{waits:?}");
    }
}

// Initial events.

#[test]
fn initial_events_are_asked_for_first_and_their_end_starts_the_copy() {
    let mut run = Run::new(Config::default());
    let watch = run.watch();
    assert_eq!((watch.resource_version.as_str(), watch.initial_events), ("", true));
    assert_eq!(run.machine.event(true, "5", run.now), EventVerdict::Collect);
    assert_eq!(run.machine.bookmark("6", false, run.now), BookmarkVerdict::Ignore);
    let end = BookmarkVerdict::Complete { resource_version: "9".to_owned(), new_epoch: false };
    assert_eq!(run.machine.bookmark("9", true, run.now), end);
    assert_eq!(run.machine.resource_version(), "9");
    assert_eq!(run.event("10"), EventVerdict::Apply, "the same stream goes on");
    assert_eq!(run.machine.event(true, "11", run.now), EventVerdict::Apply);
    run.end(&WatchEnd::Closed);
    let watch = run.watch();
    assert_eq!((watch.resource_version.as_str(), watch.initial_events), ("11", false));
}

#[test]
fn later_initial_events_are_not_older_than_what_was_seen() {
    let mut run = Run::new(Config::default());
    run.watch();
    run.machine.bookmark("9", true, run.now);
    run.end(&WatchEnd::Error(Failure::Expired));
    let watch = run.watch();
    assert_eq!((watch.resource_version.as_str(), watch.initial_events), ("9", true));
    run.end(&WatchEnd::Refused(Failure::Expired));
    let (waited, step) = run.next();
    assert_eq!(waited, Duration::ZERO);
    assert!(
        matches!(step, Step::Watch(WatchRequest { resource_version, initial_events: true, .. }) if resource_version.is_empty())
    );
}

#[test]
fn a_server_without_initial_events_is_asked_for_a_list_at_once_and_that_is_remembered() {
    let mut run = Run::new(Config::default());
    run.watch();
    run.end(&WatchEnd::Refused(Failure::NotUnderstood));
    let (waited, step) = run.next();
    assert_eq!(waited, Duration::ZERO);
    assert!(matches!(step, Step::List(_)));
    run.page("10", "");
    run.watch();
    run.end(&WatchEnd::Error(Failure::Expired));
    run.list();
    run.page("20", "");
    run.watch();
    run.pass(Config::default().fallback_for);
    run.end(&WatchEnd::Error(Failure::Expired));
    assert!(run.watch().initial_events, "after a while it is tried again");
}

#[test]
fn initial_events_that_fail_for_another_reason_are_tried_again_next_time() {
    for end in [WatchEnd::Refused(Failure::Other), WatchEnd::Error(Failure::Internal)] {
        let mut run = Run::new(Config::default());
        run.watch();
        run.end(&end);
        let (waited, step) = run.next();
        assert_eq!(waited, Duration::ZERO);
        assert!(matches!(step, Step::List(_)));
        run.fail_list(&Failure::Other);
        assert!(run.watch().initial_events);
    }
}

#[test]
fn initial_events_that_stop_coming_are_given_up_for_a_list() {
    let mut run = Run::new(Config::default());
    run.watch();
    run.pass(20 * SECOND);
    run.machine.event(true, "5", run.now);
    let deadline = run.machine.deadline().unwrap();
    assert_eq!(deadline, run.now + Config::default().initial_silence);
    run.now = deadline;
    run.end(&WatchEnd::Overdue);
    assert_eq!(run.list().resource_version, "0");
}

#[test]
fn initial_events_that_break_off_are_asked_for_again_after_a_wait() {
    for end in [WatchEnd::Closed, WatchEnd::Broken] {
        let mut run = Run::new(Config::default());
        run.watch();
        for _ in 0..3 {
            run.machine.event(true, "5", run.now);
            run.end(&end);
            let (waited, step) = run.next();
            assert!(waited >= Duration::from_millis(800), "{end:?}");
            assert!(matches!(step, Step::Watch(WatchRequest { initial_events: true, .. })), "{end:?}");
            assert_eq!(run.machine.resource_version(), "", "half of the objects are none");
        }
        run.machine.event(true, "5", run.now);
        run.end(&end);
        assert_eq!(run.list().resource_version, "0", "not for ever");
    }
}

#[test]
fn initial_events_that_make_no_sense_or_end_at_once_are_given_up_for_a_list() {
    for end in [WatchEnd::Closed, WatchEnd::Broken, WatchEnd::Garbled] {
        let mut run = Run::new(Config::default());
        run.watch();
        run.end(&end);
        let (waited, step) = run.next();
        assert_eq!(waited, Duration::ZERO);
        assert!(matches!(step, Step::List(_)), "{end:?}");
    }
    let mut run = Run::new(Config::default());
    run.watch();
    run.machine.event(true, "5", run.now);
    run.end(&WatchEnd::Garbled);
    assert!(matches!(run.next().1, Step::List(_)), "also in the middle");
}

#[test]
fn a_busy_server_is_asked_for_initial_events_again_later() {
    for failure in [Failure::ConnectionRefused, Failure::TooManyRequests { retry_after: None }] {
        let mut run = Run::new(Config::default());
        run.watch();
        run.end(&WatchEnd::Refused(failure));
        let (waited, step) = run.next();
        assert!(waited >= Duration::from_millis(800));
        assert!(matches!(step, Step::Watch(WatchRequest { initial_events: true, .. })));
    }
}

// Watching.

#[test]
fn a_watch_that_ends_in_good_order_goes_on_at_once_from_the_last_version() {
    let mut run = Run::synced("10");
    run.event("11");
    run.machine.bookmark("15", false, run.now);
    run.pass(300 * SECOND);
    run.end(&WatchEnd::Closed);
    let (waited, step) = run.next();
    assert_eq!(waited, Duration::ZERO);
    assert!(matches!(step, Step::Watch(WatchRequest { resource_version, .. }) if resource_version == "15"));
}

#[test]
fn an_object_added_right_after_the_initial_events_is_not_asked_for_again() {
    let mut run = Run::new(Config::default());
    run.watch();
    run.machine.bookmark("9", true, run.now);
    run.machine.event(true, "10", run.now);
    assert_eq!(run.machine.resource_version(), "10");
}

#[test]
fn a_bookmark_without_a_version_says_nothing() {
    let mut run = Run::synced("10");
    assert_eq!(run.machine.bookmark("", false, run.now), BookmarkVerdict::Ignore);
    assert_eq!(run.machine.resource_version(), "10");
}

#[test]
fn a_server_cannot_silence_a_client_for_ever() {
    let mut run = Run::synced("10");
    run.end(&WatchEnd::Refused(Failure::TooManyRequests { retry_after: Some(Duration::from_secs(1 << 40)) }));
    let (waited, _) = run.next();
    assert!(waited <= Duration::from_secs(5 * 60), "{waited:?}");
}

#[test]
fn a_watch_that_ends_at_once_without_an_event_waits_and_lists() {
    for end in [WatchEnd::Closed, WatchEnd::Broken] {
        let mut run = Run::synced("10");
        run.pass(SECOND / 2);
        run.end(&end);
        let (waited, step) = run.next();
        assert!(waited >= Duration::from_millis(800));
        assert!(matches!(step, Step::List(_)));
    }
}

#[test]
fn watches_that_end_early_again_and_again_wait_though_they_work() {
    let mut run = Run::synced("10");
    let mut waits = Vec::new();
    for version in 11..21 {
        run.event(&version.to_string());
        run.end(&WatchEnd::Closed);
        let (waited, step) = run.next();
        assert!(matches!(step, Step::Watch(_)));
        waits.push(waited > Duration::ZERO);
    }
    assert_eq!(waits, [false, false, false, true, true, true, true, true, true, true]);
}

#[test]
fn a_short_watch_with_an_event_is_a_good_one() {
    let mut run = Run::synced("10");
    run.event("11");
    run.end(&WatchEnd::Closed);
    assert_eq!(run.watch().resource_version, "11");
}

#[test]
fn watches_last_between_once_and_twice_the_setting_and_not_all_the_same() {
    let mut run = Run::synced("10");
    let mut timeouts = Vec::new();
    for _ in 0..20 {
        run.pass(400 * SECOND);
        run.end(&WatchEnd::Closed);
        timeouts.push(run.watch().timeout);
    }
    assert!(timeouts.iter().all(|timeout| (300 * SECOND..600 * SECOND).contains(timeout)), "{timeouts:?}");
    timeouts.dedup();
    assert!(timeouts.len() > 10);
}

#[test]
fn a_time_for_watches_that_is_set_is_used_whatever_it_is() {
    for setting in [SECOND, 1800 * SECOND] {
        let config = Config { initial_events: false, watch_timeout: setting, ..Config::default() };
        let mut run = Run::new(config);
        run.list();
        run.page("10", "");
        for _ in 0..20 {
            let timeout = run.watch().timeout;
            assert!((setting..2 * setting).contains(&timeout), "{timeout:?}");
            run.pass(2 * setting);
            run.end(&WatchEnd::Closed);
        }
    }
}

#[test]
fn a_silent_watch_is_cut_in_under_three_minutes_and_reopened_without_a_list() {
    let mut run = Run::synced("10");
    run.pass(100 * SECOND);
    run.machine.bookmark("12", false, run.now);
    let deadline = run.machine.deadline().unwrap();
    assert!(deadline > run.now + 60 * SECOND && deadline < run.now + 180 * SECOND);
    run.now = deadline;
    run.end(&WatchEnd::Overdue);
    let (waited, step) = run.next_of_same_server();
    assert_eq!(waited, Duration::ZERO);
    assert!(matches!(step, Step::Watch(WatchRequest { resource_version, .. }) if resource_version == "12"));
}

#[test]
fn a_watch_that_outlives_its_time_is_cut_however_busy_it_is() {
    let mut run = Run::synced("10");
    let opened = run.now;
    for _ in 0..100 {
        run.pass(10 * SECOND);
        run.machine.heard(run.now);
    }
    assert!(run.machine.deadline().unwrap() <= opened + 630 * SECOND);
}

#[test]
fn refused_and_busy_watches_are_tried_again_without_a_list() {
    let busy = Failure::TooManyRequests { retry_after: Some(20 * SECOND) };
    for end in [
        WatchEnd::Refused(Failure::ConnectionRefused),
        WatchEnd::Refused(busy.clone()),
        WatchEnd::Error(busy),
    ] {
        let mut run = Run::synced("10");
        run.end(&end);
        let (waited, step) = run.next_of_same_server();
        let asked =
            if end == WatchEnd::Refused(Failure::ConnectionRefused) { Duration::ZERO } else { 20 * SECOND };
        assert!(waited >= asked.max(Duration::from_millis(800)), "{end:?}: {waited:?}");
        assert!(
            matches!(step, Step::Watch(WatchRequest { resource_version, .. }) if resource_version == "10")
        );
    }
}

#[test]
fn every_other_failure_of_a_watch_waits_and_lists() {
    for end in [
        WatchEnd::Refused(Failure::Other),
        WatchEnd::Refused(Failure::Expired),
        WatchEnd::Refused(Failure::Internal),
        WatchEnd::Error(Failure::Expired),
        WatchEnd::Error(Failure::Internal),
        WatchEnd::Error(Failure::Other),
        WatchEnd::Garbled,
    ] {
        let mut run = Run::synced("10");
        run.end(&end);
        let (waited, step) = run.next();
        assert!(waited >= Duration::from_millis(800), "{end:?}");
        assert!(matches!(step, Step::List(_)), "{end:?}");
    }
}

#[test]
fn internal_errors_are_waited_out_without_a_list_if_that_is_set() {
    // With one error a second, and a pause after some of them.
    for (setting, pause_after, expected) in [(0, None, 0), (30, None, 31), (30, Some(9), 40)] {
        let config =
            Config { initial_events: false, internal_error_retry: setting * SECOND, ..Config::default() };
        let mut run = Run::new(config);
        run.list();
        run.page("10", "");
        let mut watches = 0;
        while let (waited, Step::Watch(request)) = run.next() {
            assert_eq!((waited, request.resource_version.as_str()), (Duration::ZERO, "10"));
            run.machine.watch_opened(run.now);
            run.pass(if pause_after == Some(watches) { 60 * SECOND } else { SECOND });
            run.end(&WatchEnd::Error(Failure::Internal));
            watches += 1;
        }
        assert_eq!(watches - 1, expected, "{setting} s, a pause after {pause_after:?}");
    }
}

#[test]
fn internal_errors_count_anew_after_something_came() {
    let config = Config { initial_events: false, internal_error_retry: 10 * SECOND, ..Config::default() };
    let mut run = Run::new(config);
    run.list();
    run.page("10", "");
    for version in 11..20 {
        run.watch();
        run.event(&version.to_string());
        run.pass(8 * SECOND);
        run.end(&WatchEnd::Error(Failure::Internal));
    }
    assert_eq!(run.watch().resource_version, "19");
}

#[test]
fn a_connection_that_breaks_goes_on_from_the_last_version() {
    let mut run = Run::synced("10");
    run.event("11");
    run.end(&WatchEnd::Broken);
    assert_eq!(run.watch().resource_version, "11");
    run.pass(60 * SECOND);
    run.end(&WatchEnd::Broken);
    let (waited, step) = run.next_of_same_server();
    assert_eq!(waited, Duration::ZERO, "a quiet watch that was cut is no failure");
    assert!(matches!(step, Step::Watch(WatchRequest { resource_version, .. }) if resource_version == "11"));
}

#[test]
fn a_watch_from_nowhere_counts_no_version_before_its_first_change() {
    for nowhere in ["", "0"] {
        let mut run = Run::synced(nowhere);
        run.machine.event(true, "50", run.now);
        assert_eq!(run.machine.resource_version(), nowhere);
        run.machine.event(false, "60", run.now);
        run.machine.event(true, "61", run.now);
        assert_eq!(run.machine.resource_version(), "61");
    }
}

// Waiting.

#[test]
fn waits_double_up_to_thirty_seconds_with_as_much_again_at_random() {
    let mut run = Run::listing();
    let mut expected = 0.8;
    for _ in 0..10 {
        run.list();
        run.fail_list(&Failure::Other);
        let (waited, _) = run.next();
        let waited = waited.as_secs_f64();
        assert!((expected..expected * 2.0).contains(&waited), "{waited} after {expected}");
        expected = f64::min(expected * 2.0, 30.0);
    }
}

#[test]
fn refused_connections_back_off_up_to_the_longest_wait_without_a_list() {
    let mut initial = Run::new(Config::default());
    initial.watch();
    for mut run in [initial, Run::synced("10")] {
        let mut expected = 0.8;
        for _ in 0..10 {
            run.end(&WatchEnd::Refused(Failure::ConnectionRefused));
            let (waited, step) = run.next_of_same_server();
            if let Step::Watch(_) = step {
                let waited = waited.as_secs_f64();
                assert!((expected..expected * 2.0).contains(&waited), "{waited} after {expected}");
            } else {
                panic!("{step:?}");
            }
            expected = f64::min(expected * 2.0, 30.0);
        }
        assert!((expected - 30.0).abs() < f64::EPSILON);
    }
}

#[test]
fn the_first_the_longest_and_the_forgotten_wait_are_those_of_the_settings() {
    let mut run = Run::new(Config {
        initial_events: false,
        backoff_initial: SECOND / 100,
        backoff_max: SECOND / 20,
        backoff_reset: SECOND,
        ..Config::default()
    });
    let mut fail = |pause| {
        run.list();
        run.pass(pause);
        run.fail_list(&Failure::Other);
        run.next().0
    };
    for millis in [10, 20, 40, 50, 50, 50] {
        let step = Duration::from_millis(millis);
        assert!((step..2 * step).contains(&fail(Duration::ZERO)), "{step:?}");
    }
    assert!(fail(2 * SECOND) < SECOND / 50, "what is long ago is forgotten");
}

#[test]
fn waits_start_anew_after_two_minutes_without_a_failure() {
    let mut run = Run::listing();
    for _ in 0..10 {
        run.list();
        run.fail_list(&Failure::Other);
    }
    run.list();
    run.pass(121 * SECOND);
    run.fail_list(&Failure::Other);
    let (waited, _) = run.next();
    assert!(waited < 2 * SECOND, "{waited:?}");
}

#[test]
fn the_same_seed_gives_the_same_waits() {
    let waits = |seed| {
        let mut run = Run {
            machine: Machine::new(Config { initial_events: false, ..Config::default() }, seed),
            now: start(),
        };
        (0..5)
            .map(|_| {
                run.list();
                run.fail_list(&Failure::Other);
                run.next().0
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(waits(7), waits(7));
    assert_ne!(waits(7), waits(8));
}

#[test]
fn settings_that_mean_never_are_taken_as_never() {
    let forever = Duration::MAX;
    let config = Config {
        initial_silence: forever,
        fallback_for: forever,
        watch_timeout: forever,
        watch_slack: forever,
        silence: forever,
        backoff_initial: forever,
        backoff_max: forever,
        ..Config::default()
    };
    let mut run = Run::new(config);
    run.watch();
    assert!(run.machine.deadline().is_some());
    run.end(&WatchEnd::Overdue);
    run.list();
    run.fail_list(&Failure::Other);
    assert!(matches!(run.machine.next(run.now), Step::Wait(_)));
}

// Versions that begin again.

#[test]
fn a_list_below_the_last_version_is_asked_for_again_and_begins_an_epoch() {
    let mut run = Run::synced("600");
    run.end(&WatchEnd::Error(Failure::Expired));
    assert_eq!(run.list().resource_version, "600");
    assert_eq!(run.page("405", ""), PageVerdict::WentBack);
    let (waited, step) = run.next();
    assert!(waited >= Duration::from_millis(800), "{waited:?}");
    assert!(matches!(step, Step::List(ListRequest { resource_version, .. }) if resource_version.is_empty()));
    let began = PageVerdict::Complete { resource_version: "406".to_owned(), new_epoch: true };
    assert_eq!(run.page("406", ""), began);
    assert_eq!(run.watch().resource_version, "406");
    run.event("407");
    run.end(&WatchEnd::Error(Failure::Expired));
    run.list();
    assert_eq!(run.page("408", ""), complete("408"), "the epoch goes on");
}

#[test]
fn a_list_of_a_server_that_was_behind_begins_no_epoch() {
    let mut run = Run::synced("600");
    run.end(&WatchEnd::Error(Failure::Expired));
    run.list();
    assert_eq!(run.page("599", ""), PageVerdict::WentBack);
    run.list();
    run.fail_list(&Failure::Other);
    assert_eq!(run.list().resource_version, "");
    assert_eq!(run.page("600", ""), complete("600"));
    assert_eq!(run.watch().resource_version, "600");
}

#[test]
fn initial_events_below_the_last_version_begin_an_epoch_the_second_time() {
    let mut run = Run::new(Config::default());
    run.watch();
    run.machine.bookmark("600", true, run.now);
    run.end(&WatchEnd::Error(Failure::Expired));
    run.watch();
    run.event("405");
    assert_eq!(run.machine.bookmark("405", true, run.now), BookmarkVerdict::WentBack);
    run.end(&WatchEnd::WentBack);
    let watch = run.watch();
    assert_eq!((watch.resource_version.as_str(), watch.initial_events), ("", true));
    let began = BookmarkVerdict::Complete { resource_version: "405".to_owned(), new_epoch: true };
    assert_eq!(run.machine.bookmark("405", true, run.now), began);
    assert_eq!(run.machine.resource_version(), "405");
}

#[test]
fn a_bookmark_below_the_last_version_leads_to_a_list() {
    let mut run = Run::synced("600");
    assert_eq!(run.machine.bookmark("405", false, run.now), BookmarkVerdict::WentBack);
    run.end(&WatchEnd::WentBack);
    assert_eq!(run.list().resource_version, "");
    let began = PageVerdict::Complete { resource_version: "405".to_owned(), new_epoch: true };
    assert_eq!(run.page("405", ""), began);
}

#[test]
fn versions_that_cannot_be_compared_begin_no_epoch() {
    let mut run = Run::synced("zz");
    run.end(&WatchEnd::Error(Failure::Expired));
    run.list();
    assert_eq!(run.page("aa", ""), complete("aa"));
}

#[test]
fn a_server_that_is_behind_the_copy_after_a_break_is_asked_for_a_list() {
    for end in [WatchEnd::Broken, WatchEnd::Overdue, WatchEnd::Refused(Failure::ConnectionRefused)] {
        let mut run = Run::synced("600");
        run.event("601");
        run.pass(200 * SECOND);
        run.end(&end);
        let (_, Step::Probe(probe)) = run.next() else { panic!("{end:?}") };
        assert_eq!((probe.resource_version.as_str(), probe.limit), ("601", Some(1)), "{end:?}");
        run.machine.probed(ProbeAnswer::Failed(&Failure::ConnectionRefused), run.now);
        let (waited, Step::Probe(_)) = run.next() else { panic!("{end:?}") };
        assert!(waited >= Duration::from_millis(800), "{waited:?}");
        assert!(!run.machine.probed(ProbeAnswer::Failed(&Failure::VersionTooLarge), run.now));
        assert_eq!(run.list().resource_version, "", "{end:?}");
        let began = PageVerdict::Complete { resource_version: "405".to_owned(), new_epoch: true };
        assert_eq!(run.page("405", ""), began);
    }
}

#[test]
fn a_server_that_stays_silent_is_probed_ever_more_rarely() {
    let mut run = Run::synced("600");
    let mut probes = 0;
    for _ in 0..1_000 {
        run.pass(200 * SECOND);
        run.end(&WatchEnd::Overdue);
        probes += u32::from(matches!(run.next(), (_, Step::Probe(_))));
        assert_eq!(run.watch().resource_version, "600");
    }
    assert_eq!(probes, 10);
    run.machine.bookmark("601", false, run.now);
    run.end(&WatchEnd::Overdue);
    assert!(matches!(run.next(), (_, Step::Probe(_))), "one that has spoken is probed at once");
}

#[test]
fn a_server_that_has_the_version_after_a_break_is_watched_from_there() {
    for answer in [ProbeAnswer::Version("600"), ProbeAnswer::Version("700"), ProbeAnswer::Denied] {
        let mut run = Run::synced("600");
        run.pass(2 * SECOND);
        run.end(&WatchEnd::Broken);
        let (_, Step::Probe(_)) = run.next() else { panic!("{answer:?}") };
        assert!(!run.machine.probed(answer, run.now));
        assert_eq!(run.watch().resource_version, "600", "{answer:?}: what came in between is not skipped");
    }
    let mut run = Run::synced("600");
    run.pass(2 * SECOND);
    run.end(&WatchEnd::Broken);
    run.next();
    assert!(
        run.machine.probed(ProbeAnswer::Version("405"), run.now),
        "a server that takes the version for a wish"
    );
    assert_eq!(run.list().resource_version, "");
}

#[test]
fn a_probe_that_fails_is_repeated_with_backoff_before_the_server_is_watched() {
    let busy = Failure::TooManyRequests { retry_after: Some(20 * SECOND) };
    for failure in [Failure::Other, Failure::Internal, Failure::ConnectionRefused, busy] {
        let mut run = Run::synced("600");
        run.pass(2 * SECOND);
        run.end(&WatchEnd::Broken);
        let mut waits = Vec::new();
        for _ in 0..10 {
            let (waited, Step::Probe(_)) = run.next() else { panic!("{failure:?}") };
            waits.push(waited);
            assert!(!run.machine.probed(ProbeAnswer::Failed(&failure), run.now));
        }
        assert!(waits[1] >= Duration::from_millis(800).max(failure.retry_after()), "{failure:?}: {waits:?}");
        assert!(waits[9] >= 30 * SECOND, "{failure:?}: {waits:?}");
        assert_eq!(run.watch().resource_version, "600", "{failure:?}");
    }
    let mut run = Run::synced("600");
    run.pass(2 * SECOND);
    run.end(&WatchEnd::Broken);
    run.next();
    run.machine.probed(ProbeAnswer::Failed(&Failure::NotUnderstood), run.now);
    let (waited, step) = run.next();
    assert!(waited >= Duration::from_millis(800), "{waited:?}");
    assert!(matches!(step, Step::List(_)), "a probe that is not understood is none the next time");
}

#[test]
fn a_server_is_probed_after_a_watch_was_closed_and_the_next_one_was_refused() {
    let busy = Failure::TooManyRequests { retry_after: None };
    for refusal in [WatchEnd::Refused(busy.clone()), WatchEnd::Error(busy)] {
        let mut run = Run::synced("600");
        run.pass(300 * SECOND);
        run.end(&WatchEnd::Closed);
        assert!(matches!(run.next(), (_, Step::Watch(_))), "not before it was refused");
        run.end(&refusal);
        let (waited, step) = run.next();
        assert!(waited >= Duration::from_millis(800), "{refusal:?}: {waited:?}");
        assert!(matches!(step, Step::Probe(_)), "{refusal:?}: {step:?}");
        assert!(run.machine.probed(ProbeAnswer::Version("405"), run.now), "{refusal:?}");
    }
}

#[test]
fn the_copy_is_distrusted_after_any_answer_below_it_until_the_next_list_is_complete() {
    type Evidence = fn(&mut Run);
    let list: Evidence = |run| {
        run.end(&WatchEnd::Error(Failure::Expired));
        run.list();
        assert_eq!(run.page("405", ""), PageVerdict::WentBack);
    };
    let refused: Evidence = |run| {
        run.end(&WatchEnd::Error(Failure::Expired));
        run.list();
        run.fail_list(&Failure::VersionTooLarge);
    };
    let probe = |run: &mut Run, answer: ProbeAnswer<'_>| {
        run.pass(2 * SECOND);
        run.end(&WatchEnd::Broken);
        assert!(matches!(run.next(), (_, Step::Probe(_))));
        run.machine.probed(answer, run.now);
    };
    let evidence: [&dyn Fn(&mut Run); 7] = [
        &list,
        &refused,
        &|run| probe(run, ProbeAnswer::Version("405")),
        &|run| probe(run, ProbeAnswer::Failed(&Failure::VersionTooLarge)),
        &|run| drop(run.machine.bookmark("405", false, run.now)),
        &|run| assert_eq!(run.event("405"), EventVerdict::WentBack),
        &|run| run.machine.rewound(),
    ];
    for (number, evidence) in evidence.iter().enumerate() {
        let mut run = Run::synced("600");
        assert!(!run.machine.distrusts_copy());
        evidence(&mut run);
        assert!(run.machine.distrusts_copy(), "{number}");
        assert_eq!(run.list().resource_version, "", "{number}");
        run.fail_list(&Failure::Other);
        assert_eq!(run.list().resource_version, "", "{number}");
        assert!(run.machine.distrusts_copy(), "{number}");
        assert_eq!(run.page("650", ""), complete("650"), "{number}: the server has caught up");
        assert!(!run.machine.distrusts_copy(), "{number}");
    }
}

#[test]
fn an_event_below_the_last_version_leads_to_a_list() {
    let mut run = Run::synced("600");
    assert_eq!(run.event("600"), EventVerdict::Apply);
    assert_eq!(run.event("405"), EventVerdict::WentBack);
    run.end(&WatchEnd::WentBack);
    assert_eq!(run.machine.resource_version(), "600");
    let (waited, step) = run.next();
    assert!(waited >= Duration::from_millis(800), "{waited:?}");
    assert!(matches!(step, Step::List(ListRequest { resource_version, .. }) if resource_version.is_empty()));
}

#[test]
fn a_machine_of_a_copy_that_is_there_asks_for_nothing_older_and_begins_an_epoch_below_it() {
    let config = Config { initial_events: false, ..Config::default() };
    let mut run = Run { machine: Machine::new(config, 1).starting_at("600"), now: start() };
    assert_eq!(run.list().resource_version, "600");
    assert_eq!(run.page("405", ""), PageVerdict::WentBack);
    assert_eq!(run.list().resource_version, "");
    let began = PageVerdict::Complete { resource_version: "405".to_owned(), new_epoch: true };
    assert_eq!(run.page("405", ""), began);
    let mut run = Run { machine: Machine::new(Config::default(), 1).starting_at("600"), now: start() };
    let watch = run.watch();
    assert_eq!((watch.resource_version.as_str(), watch.initial_events), ("600", true));
}

#[test]
fn the_epoch_that_a_source_names_counts_and_not_its_versions() {
    let mut run = Run::listing();
    let mut list = |named: (u64, u64), version: &str| {
        run.list();
        run.machine.epoch(named.0, named.1);
        let distrusts = run.machine.distrusts_copy();
        let PageVerdict::Complete { new_epoch, .. } = run.page(version, "") else { panic!("{named:?}") };
        run.watch();
        run.end(&WatchEnd::Refused(Failure::Expired));
        (new_epoch, distrusts)
    };
    assert_eq!(list((3, 3), "600"), (false, false));
    assert_eq!(list((3, 3), "500"), (false, false), "objects come in any order");
    assert_eq!(list((4, 4), "650"), (true, true));
    assert_eq!(list((4, 5), "651"), (false, true));
    assert_eq!(list((4, 5), "652"), (false, false));
}

// Pages without end.

#[test]
fn a_continue_token_that_repeats_ends_the_list_which_is_asked_for_again_later() {
    let mut run = Run::listing();
    run.list();
    let mut pages = 0;
    let verdict = loop {
        match run.page("10", ["a", "b", "c"][pages % 3]) {
            PageVerdict::More => pages += 1,
            verdict => break verdict,
        }
        run.list();
    };
    assert_eq!(verdict, PageVerdict::Endless(EndlessList::TokenRepeats));
    assert!(pages < 9, "{pages}");
    let (waited, step) = run.next();
    assert!(waited >= Duration::from_millis(800), "{waited:?}");
    assert!(matches!(step, Step::List(ListRequest { continue_token, .. }) if continue_token.is_empty()));
    assert_eq!(run.page("10", "a"), PageVerdict::More, "the tokens of another list are its own");
    assert_eq!(run.page("10", ""), complete("10"));
}
