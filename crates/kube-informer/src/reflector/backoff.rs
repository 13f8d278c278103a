//! How long to wait after a failure.

use std::time::{Duration, Instant};

use super::Config;
use crate::random::Random;

/// Waits that double, with a random part, and start anew after a time without failures.
#[derive(Clone, Debug)]
pub struct Backoff {
    initial: Duration,
    max: Duration,
    reset: Duration,
    next: Duration,
    last_failure: Option<Instant>,
    random: Random,
}

impl Backoff {
    /// Starts with the first wait. The seed makes the random parts repeatable.
    pub fn new(config: &Config, seed: u64) -> Self {
        Self {
            initial: config.backoff_initial,
            max: config.backoff_max,
            reset: config.backoff_reset,
            next: config.backoff_initial,
            last_failure: None,
            random: Random::new(seed),
        }
    }

    /// How long to wait after a failure now: between once and twice the next step.
    pub fn failed(&mut self, now: Instant) -> Duration {
        if self.last_failure.is_some_and(|last| now.saturating_duration_since(last) > self.reset) {
            self.next = self.initial;
        }
        self.last_failure = Some(now);
        let step = self.next;
        self.next = step.saturating_mul(2).min(self.max);
        step.saturating_add(step.mul_f64(self.fraction()))
    }

    /// A random number in [0, 1).
    pub(super) fn fraction(&mut self) -> f64 {
        self.random.fraction()
    }
}
