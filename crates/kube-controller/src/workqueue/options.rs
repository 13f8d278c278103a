//! What can be said when a key is added, and which rules a queue follows.

use std::hash::Hash;
use std::time::Duration;

/// The priority of what can wait: objects of a first list, and resyncs.
pub const LOW_PRIORITY: i32 = -100;

/// What a queue can hold. Queues clone keys: those that cost much to clone are better off in an `Arc`.
pub trait Key: Clone + Eq + Hash + Send + 'static {}

impl<T: Clone + Eq + Hash + Send + 'static> Key for T {}

/// What becomes of delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rules {
    /// As client-go's queues: delays are kept beside the queue. A key with a delay that is also added without one comes
    /// at once, and again when the delay is over. A key that was added while somebody worked on it takes its place in the
    /// order when that is done.
    #[default]
    Layered,
    /// As controller-runtime's priority queue: a key has one entry with its earliest time and its highest priority. Adding
    /// without a delay ends the delay, and a delay for what waits already is ignored. A key that was added while somebody
    /// worked on it has its place from then on.
    Merged,
}

/// How a key is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "options do nothing until they are given to `WorkQueue::add_with`"]
pub struct AddOptions {
    pub(super) after: Option<Duration>,
    pub(super) rate_limited: bool,
    pub(super) priority: i32,
}

impl AddOptions {
    /// At once, with priority 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Not before so much time has passed.
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = Some(delay);
        self
    }

    /// Not before the queue's rate limiter lets it. With [`after`](Self::after), the shorter of the two counts.
    pub fn rate_limited(mut self) -> Self {
        self.rate_limited = true;
        self
    }

    /// Higher numbers come first. A key that waits already keeps its priority if that is higher.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }
}
