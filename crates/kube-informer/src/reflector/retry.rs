//! When everything is asked for again because a function of the program panicked.

use std::time::{Duration, Instant};

use super::{Backoff, Config};

/// The first wait, before the random part of up to as much again.
const FIRST: Duration = Duration::from_secs(10);

/// The longest wait, before the random part.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// After so long without a panic the waits start from the first again; longer than any wait.
const FORGOTTEN: Duration = Duration::from_secs(2 * 60 * 60);

/// Objects for which a transform panicked are gone from the stream: only a list has them again. One list serves all of them, so
/// what is remembered does not grow with their number.
pub(super) struct Retry {
    backoff: Backoff,
    /// When everything is asked for again; none if no object was lost since the last list.
    at: Option<Instant>,
}

impl Retry {
    pub(super) fn new(seed: u64) -> Self {
        let config = Config {
            backoff_initial: FIRST,
            backoff_max: LONGEST,
            backoff_reset: FORGOTTEN,
            ..Config::default()
        };
        Self { backoff: Backoff::new(&config, seed), at: None }
    }

    /// An object was lost to a panic.
    pub(super) fn lost(&mut self, now: Instant) {
        if self.at.is_none() {
            self.at = Some(now + self.backoff.failed(now));
        }
    }

    /// Everything has come again; whether objects were lost to panics once more.
    pub(super) fn listed(&mut self, any_lost: bool, now: Instant) {
        self.at = None;
        if any_lost {
            self.lost(now);
        }
    }

    /// When everything is asked for again.
    pub(super) fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Everything is to be asked for again now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| at <= now)
    }
}
