//! How long a key waits before it is tried again.
//!
//! | limiter | what it does |
//! |---|---|
//! | [`ItemExponential`] | doubles the wait of a key with each failure of that key |
//! | [`Bucket`] | lets so many keys pass in a second, whatever they are |
//! | [`ItemFastSlow`] | a short wait for the first failures of a key, a long one after that |
//! | [`MaxOf`] | the longest wait that any of several limiters wants |
//! | [`WithMaxWait`] | another limiter's wait, but not more than so much |
//!
//! Limiters that count failures forget a key when they are told to. Should nobody tell them, they remember the latest
//! [`MAX_REMEMBERED`] keys.

mod bucket;
mod combine;
mod exponential;
mod failures;
mod fast_slow;

pub use bucket::Bucket;
pub use combine::{MaxOf, WithMaxWait};
pub use exponential::ItemExponential;
pub use failures::MAX_REMEMBERED;
pub use fast_slow::ItemFastSlow;

use std::time::Duration;

use tokio::time::Instant;

use super::Key;

/// The first wait of [`default_controller`] and of the priority queue's limiter.
pub const DEFAULT_BASE_DELAY: Duration = Duration::from_millis(5);
/// The first wait of [`default_item_based`].
pub const DEFAULT_ITEM_BASE_DELAY: Duration = Duration::from_millis(1);
/// The longest wait of the default limiters.
pub const DEFAULT_MAX_DELAY: Duration = Duration::from_secs(1000);
/// How many keys [`default_controller`] lets pass in a second.
pub const DEFAULT_QPS: f64 = 10.0;
/// How many keys [`default_controller`] lets pass at once after a quiet time.
pub const DEFAULT_BURST: u32 = 100;

/// Says how long a key waits before it is tried again.
pub trait RateLimiter<T>: Send {
    /// How long the key is to wait from now on. Asking counts as a failure of the key.
    fn when(&mut self, item: &T, now: Instant) -> Duration;

    /// The key is fine, or nobody cares any more: its failures are forgotten.
    fn forget(&mut self, item: &T);

    /// How often the key has failed.
    fn num_requeues(&self, item: &T) -> u32;
}

impl<T, L: RateLimiter<T> + ?Sized> RateLimiter<T> for Box<L> {
    fn when(&mut self, item: &T, now: Instant) -> Duration {
        (**self).when(item, now)
    }

    fn forget(&mut self, item: &T) {
        (**self).forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        (**self).num_requeues(item)
    }
}

/// client-go's limiter for controllers: 5 ms to 1000 s for each key, and 10 keys a second (100 at once) over all.
pub fn default_controller<T: Key>() -> MaxOf<T> {
    MaxOf::new()
        .and(ItemExponential::new(DEFAULT_BASE_DELAY, DEFAULT_MAX_DELAY))
        .and(Bucket::new(DEFAULT_QPS, DEFAULT_BURST))
}

/// client-go's limiter by key alone: 1 ms to 1000 s for each key.
pub fn default_item_based<T: Key>() -> ItemExponential<T> {
    ItemExponential::new(DEFAULT_ITEM_BASE_DELAY, DEFAULT_MAX_DELAY)
}

#[cfg(test)]
mod tests;
