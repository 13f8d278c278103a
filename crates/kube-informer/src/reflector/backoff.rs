//! How long to wait after a failure.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use super::Config;

/// Waits that double, with a random part, and start anew after a time without failures.
#[derive(Clone, Debug)]
pub struct Backoff {
    initial: Duration,
    max: Duration,
    reset: Duration,
    next: Duration,
    last_failure: Option<Instant>,
    random: u64,
}

/// A seed that is another each time.
pub(crate) fn any_seed() -> u64 {
    RandomState::new().hash_one(0)
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
            random: seed,
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
        // SplitMix64; 53 bits are what an f64 holds exactly.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
