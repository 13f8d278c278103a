//! So many keys in a second, whatever they are.

use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;

/// No wait is longer than this, however many keys are in front: a year.
const LONGEST_WAIT: f64 = 365.0 * 24.0 * 3600.0;

/// Lets so many keys pass in a second, and more of them at once after a quiet time.
///
/// A token is taken for each key; where there is none, one is borrowed from the future, and the key waits until then.
#[derive(Clone, Debug)]
pub struct Bucket {
    qps: f64,
    burst: f64,
    /// Less than none if tokens were borrowed.
    tokens: f64,
    filled: Option<Instant>,
}

impl Bucket {
    /// How many a second, and how many at once. A rate that is not above zero lets the burst pass and then nothing for a
    /// long time.
    pub fn new(qps: f64, burst: u32) -> Self {
        let qps = if qps.is_nan() { 0.0 } else { qps.max(0.0) };
        let burst = f64::from(burst);
        Self { qps, burst, tokens: burst, filled: None }
    }

    /// Takes a token if there is one.
    pub fn try_take(&mut self, now: Instant) -> bool {
        self.fill(now);
        let there = self.tokens >= 1.0;
        if there {
            self.tokens -= 1.0;
        }
        there || self.qps == f64::INFINITY
    }

    /// Takes a token; says how long it takes until that is there.
    pub fn take(&mut self, now: Instant) -> Duration {
        if self.qps == f64::INFINITY {
            return Duration::ZERO;
        }
        self.fill(now);
        self.tokens -= 1.0;
        if self.tokens >= 0.0 {
            return Duration::ZERO;
        }
        let wait = -self.tokens / self.qps;
        if wait < LONGEST_WAIT {
            return Duration::from_secs_f64(wait);
        }
        // Nobody waits longer, so nothing more is borrowed.
        self.tokens = self.tokens.max(-LONGEST_WAIT * self.qps);
        Duration::from_secs_f64(LONGEST_WAIT)
    }

    fn fill(&mut self, now: Instant) {
        let since = self.filled.map_or(Duration::ZERO, |filled| now.saturating_duration_since(filled));
        self.filled = Some(self.filled.map_or(now, |filled| filled.max(now)));
        self.tokens = (self.tokens + since.as_secs_f64() * self.qps).min(self.burst);
    }
}

impl<T> RateLimiter<T> for Bucket {
    fn when(&mut self, _: &T, now: Instant) -> Duration {
        self.take(now)
    }

    fn forget(&mut self, _: &T) {}

    fn num_requeues(&self, _: &T) -> u32 {
        0
    }
}
