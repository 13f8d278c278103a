//! When watches start, and how long they last.

use std::time::Duration;

use tokio::time::Instant;

use crate::reflector::{Backoff, Config, FAR, MAX_RETRY_AFTER, after};

/// At least so long from the start of one watch to the start of the next, unless it is said otherwise.
pub const MIN_RESTART: Duration = Duration::from_secs(1);

/// When watches start, and how long they last.
#[derive(Debug)]
pub(super) struct Pace {
    config: Config,
    seed: u64,
    min_restart: Duration,
    waits: Backoff,
    lifetimes: Backoff,
}

impl Pace {
    pub(super) fn new(config: Config, seed: u64, min_restart: Duration) -> Self {
        // What lasts between once and twice a time that never grows is a backoff too.
        let lifetime = config.watch_timeout.min(FAR);
        let lifetimes = Config { backoff_initial: lifetime, backoff_max: lifetime, ..config.clone() };
        Self {
            waits: Backoff::new(&config, seed),
            lifetimes: Backoff::new(&lifetimes, seed),
            config,
            seed,
            min_restart,
        }
    }

    pub(super) fn with_config(&self, config: Config) -> Self {
        Self::new(config, self.seed, self.min_restart)
    }

    pub(super) fn with_seed(&self, seed: u64) -> Self {
        Self::new(self.config.clone(), seed, self.min_restart)
    }

    pub(super) fn with_min_restart(&self, time: Duration) -> Self {
        Self::new(self.config.clone(), self.seed, time)
    }

    /// How long the next watch is to last.
    pub(super) fn lifetime(&mut self, now: Instant) -> Duration {
        // Servers count whole seconds.
        Duration::from_secs(self.lifetimes.failed(now.into_std()).as_secs().max(1))
    }

    /// How long a watch is believed that is to last so long.
    pub(super) fn patience(&self, started: Instant, lifetime: Duration) -> Patience {
        let Config { silence, watch_slack, .. } = self.config;
        Patience { end: after(started, lifetime.saturating_add(watch_slack)), silence }
    }

    /// When the next watch starts, after one that ended now. One that failed without having brought anything backs
    /// off.
    pub(super) fn next_start(
        &mut self,
        started: Instant,
        now: Instant,
        fruitless: bool,
        asked_to_wait: Duration,
    ) -> Instant {
        let wait = if fruitless { self.waits.failed(now.into_std()) } else { Duration::ZERO };
        let wait = wait.max(asked_to_wait.min(MAX_RETRY_AFTER));
        after(started, self.min_restart).max(after(now, wait))
    }
}

/// How long a watch is believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// When it must have ended, however much arrives.
    end: Instant,
    silence: Duration,
}

impl Patience {
    /// When a watch is given up on which nothing has arrived since then.
    pub(super) fn deadline(&self, since: Instant) -> Instant {
        after(since, self.silence).min(self.end)
    }
}
