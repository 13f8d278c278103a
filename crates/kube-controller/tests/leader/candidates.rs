//! Two and three candidates, and how leadership goes from one to the next.

use std::time::Duration;

use kube_controller::leader::Outcome;

use super::support::*;

/// When everybody has had time to take over what can be taken over: the lease and two of the longest pauses.
const TAKEOVER: Duration = Duration::from_millis(15_000 + 2 * 4400);

#[tokio::test(start_paused = true)]
async fn of_two_candidates_one_leads_and_the_other_waits() {
    let (server, log) = (server().await, Log::default());
    let a = Process::start(&server, "a", &log, Manner::Careful);
    tokio::time::sleep(S).await;
    let b = Process::start(&server, "b", &log, Manner::Careful);
    tokio::time::sleep(600 * S).await;
    assert_eq!(log.leaders(), ["a"]);
    assert_eq!(holder(&server), "a");
    assert_eq!(lease(&server).spec.unwrap().lease_transitions, Some(0));
    assert_eq!((a.stop().await, b.stop().await), (Outcome::Cancelled, Outcome::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_gives_the_lease_away_or_lets_it_run_out() {
    for (release, at_least, at_most) in [(true, Duration::ZERO, 5 * S), (false, 10 * S, TAKEOVER)] {
        let (server, log) = (server().await, Log::default());
        let start = |name| {
            Process::start_with(&server, name, &log, Manner::Careful, |builder| {
                builder.release_on_cancel(release)
            })
        };
        let a = start("a");
        tokio::time::sleep(S).await;
        let b = start("b");
        tokio::time::sleep(30 * S).await;
        assert_eq!(a.stop().await, Outcome::Cancelled);
        assert_eq!(holder(&server), if release { "" } else { "a" });
        let stopped = tokio::time::Instant::now();
        tokio::time::sleep(TAKEOVER).await;
        let terms = log.terms();
        assert_eq!(log.leaders(), ["a", "b"]);
        let gap = terms[1].1 - stopped;
        assert!((at_least..at_most).contains(&gap), "release {release}: {gap:?}");
        assert_eq!(lease(&server).spec.unwrap().lease_transitions, Some(1));
        log.assert_never_two();
        b.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_three_candidates_each_takes_over_when_the_one_before_is_killed() {
    let (server, log) = (server().await, Log::default());
    let mut alive: Vec<Process> =
        ["a", "b", "c"].map(|name| Process::start(&server, name, &log, Manner::Stubborn)).into();
    let mut killed = Vec::new();
    while !alive.is_empty() {
        tokio::time::sleep(TAKEOVER).await;
        let leader = holder(&server);
        let at = alive.iter().position(|process| process.name == leader).expect("somebody who lives leads");
        alive.remove(at).kill().await;
        killed.push((leader, tokio::time::Instant::now()));
    }
    log.assert_never_two();
    let terms = log.terms();
    assert_eq!(terms.len(), 3);
    for ((killed, next), (who, ..)) in killed.iter().zip(&terms[1..]).zip(&terms) {
        assert_eq!(&killed.0, who);
        assert!(next.1 - killed.1 >= 12 * S, "a lease is respected to its end");
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_was_not_there_before_waits_for_a_whole_lease_whatever_its_time_says() {
    let (server, log) = (server().await, Log::default());
    let a = Process::start(&server, "a", &log, Manner::Careful);
    tokio::time::sleep(30 * S).await;
    a.kill().await;
    // The lease was over long ago by the time in it, but who knows what clock wrote that.
    tokio::time::sleep(3600 * S).await;
    let started = tokio::time::Instant::now();
    let b = Process::start(&server, "b", &log, Manner::Careful);
    tokio::time::sleep(TAKEOVER).await;
    let gap = log.terms()[1].1 - started;
    assert!((15 * S..TAKEOVER).contains(&gap), "{gap:?}");
    b.stop().await;
}

#[tokio::test(start_paused = true)]
async fn clocks_that_disagree_by_a_day_change_nothing() {
    use k8s_openapi::jiff::{SignedDuration, Timestamp};
    let (server, log) = (server().await, Log::default());
    let start = |name, hours: i64| {
        let started = tokio::time::Instant::now();
        let clock = move || {
            let since =
                SignedDuration::try_from(started.elapsed()).unwrap() + SignedDuration::from_hours(hours);
            Timestamp::from_second(1_800_000_000).unwrap() + since
        };
        Process::start_with(&server, name, &log, Manner::Stubborn, move |builder| builder.clock(clock))
    };
    let a = start("a", 0);
    tokio::time::sleep(S).await;
    let (b, c) = (start("b", 24), start("c", -24));
    tokio::time::sleep(300 * S).await;
    assert_eq!(log.leaders(), ["a"], "nobody thinks that the lease is over");
    a.kill().await;
    tokio::time::sleep(TAKEOVER).await;
    let second = holder(&server);
    let (second, third) = if second == "b" { (b, c) } else { (c, b) };
    second.kill().await;
    tokio::time::sleep(TAKEOVER).await;
    assert_eq!(holder(&server), third.name);
    log.assert_never_two();
    assert_eq!(log.leaders().len(), 3);
    third.kill().await;
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_kept_until_the_work_has_ended_however_long_that_takes() {
    let (server, log) = (server().await, Log::default());
    let start = |name| {
        Process::start_with(&server, name, &log, Manner::Slow(120 * S), |builder| {
            builder.release_on_cancel(true)
        })
    };
    let a = start("a");
    tokio::time::sleep(S).await;
    let b = start("b");
    tokio::time::sleep(S).await;
    a.stop.cancel();
    tokio::time::sleep(110 * S).await;
    assert_eq!(log.leaders(), ["a"], "it still finishes its work");
    assert_eq!(a.run.await.unwrap(), Outcome::Cancelled);
    tokio::time::sleep(5 * S).await;
    assert_eq!(log.leaders(), ["a", "b"]);
    log.assert_never_two();
    b.kill().await;
}
