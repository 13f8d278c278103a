//! A wait that doubles with each failure of a key.

use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;
use super::failures::Failures;
use crate::workqueue::Key;

/// A wait that doubles with each failure of a key, up to a limit.
#[derive(Clone, Debug)]
pub struct ItemExponential<T> {
    base: Duration,
    max: Duration,
    failures: Failures<T>,
}

impl<T: Key> ItemExponential<T> {
    /// The first wait, and the longest.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, failures: Failures::new() }
    }
}

impl<T: Key> RateLimiter<T> for ItemExponential<T> {
    fn when(&mut self, item: &T, _: Instant) -> Duration {
        let failures = self.failures.count(item);
        let factor = 1u32.checked_shl(failures);
        let wait = factor.and_then(|factor| self.base.checked_mul(factor));
        // A factor that does not fit is more than 4 billion: a base that is still short then is none.
        wait.map_or(if self.base.is_zero() { self.base } else { self.max }, |wait| wait.min(self.max))
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.failures.get(item)
    }
}
