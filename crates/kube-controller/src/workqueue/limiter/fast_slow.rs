//! A few quick tries, then slow ones.

use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;
use super::failures::Failures;
use crate::workqueue::Key;

/// A short wait for the first failures of a key, a long one after that.
#[derive(Clone, Debug)]
pub struct ItemFastSlow<T> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: Failures<T>,
}

impl<T: Key> ItemFastSlow<T> {
    /// The short wait, the long one, and how many failures of a key get the short one.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self { fast, slow, fast_attempts, failures: Failures::new() }
    }
}

impl<T: Key> RateLimiter<T> for ItemFastSlow<T> {
    fn when(&mut self, item: &T, _: Instant) -> Duration {
        if self.failures.count(item) < self.fast_attempts { self.fast } else { self.slow }
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.failures.get(item)
    }
}
