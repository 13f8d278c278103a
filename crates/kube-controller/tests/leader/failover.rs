//! How long nobody acts when a leader goes: the figures of `docs/robustness.md`.
//!
//! `cargo test -p kube-controller --test leader failover -- --nocapture` prints them.

use std::time::Duration;

use tokio::time::Instant;

use super::support::*;

const ROUNDS: u64 = 20;

/// A candidate waits for at most 2.2 retry periods.
const LONGEST_PAUSE: Duration = Duration::from_millis(4400);

/// What happens to the leader.
#[derive(Clone, Copy, Debug)]
enum Day {
    StopsAndReleases,
    Stops,
    Killed,
    Refused,
    Silent,
    Frozen,
}

/// From when it happened: until the old one acted for the last time, and until the new one acted first.
async fn round(day: Day, number: u64) -> (Duration, Duration) {
    let (server, log) = (server().await, Log::default());
    // What is frozen must ask before it acts; the others are aborted.
    let manner = if matches!(day, Day::Silent | Day::Refused) { Manner::Stubborn } else { Manner::Careful };
    let start = |name: &str| {
        let release = matches!(day, Day::StopsAndReleases);
        Process::start_with(&server, name, &log, manner, |builder| {
            builder.release_on_cancel(release).seed(number * 7 + u64::from(name.as_bytes()[0]))
        })
    };
    let old = start("a");
    tokio::time::sleep(S).await;
    let others = [start("b"), start("c")];
    // Somewhere between two renewals.
    tokio::time::sleep(30 * S + Duration::from_millis(number * 2000 / ROUNDS)).await;
    let happened = Instant::now();
    let mut old = Some(old);
    match day {
        Day::StopsAndReleases | Day::Stops => {
            old.take().unwrap().stop().await;
        }
        Day::Killed => old.take().unwrap().kill().await,
        Day::Refused => old.as_ref().unwrap().gate.set(Line::Refused),
        Day::Silent => old.as_ref().unwrap().gate.set(Line::Silent),
        Day::Frozen => old.as_ref().unwrap().freezer.freeze(),
    }
    tokio::time::sleep(30 * S).await;
    if let Some(old) = &old {
        old.freezer.thaw();
    }
    tokio::time::sleep(S).await;
    log.assert_never_two();
    let terms = log.terms();
    assert!(terms.len() == 2 && terms[0].0 == "a", "{:?}", log.leaders());
    for process in others.into_iter().chain(old) {
        process.kill().await;
    }
    (terms[0].2.saturating_duration_since(happened), terms[1].1 - happened)
}

#[tokio::test(start_paused = true)]
async fn another_acts_within_a_lease_and_two_of_the_longest_pauses_and_never_before_the_old_one_has_ended() {
    for day in [Day::StopsAndReleases, Day::Stops, Day::Killed, Day::Refused, Day::Silent, Day::Frozen] {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for number in 0..ROUNDS {
            let (last, first) = round(day, number).await;
            assert!(last <= first);
            old.push(last);
            new.push(first);
        }
        old.sort_unstable();
        new.sort_unstable();
        let [old_at_most, new_at_least, new_median, new_at_most] =
            [old[old.len() - 1], new[0], new[new.len() / 2], new[new.len() - 1]];
        println!(
            "{day:?}: the old one acts for at most {old_at_most:.1?}; another acts after {new_at_least:.1?} to {new_at_most:.1?}, half of the time within {new_median:.1?}"
        );
        assert!(old_at_most <= 12 * S + 500 * MS);
        // A candidate sees the last renewal up to a pause after it was made, respects it for the lease from then on, and
        // looks again up to a pause after that.
        let longest =
            if matches!(day, Day::StopsAndReleases) { LONGEST_PAUSE } else { 15 * S + 2 * LONGEST_PAUSE };
        assert!(new_at_most <= longest, "{new_at_most:?}");
    }
}
