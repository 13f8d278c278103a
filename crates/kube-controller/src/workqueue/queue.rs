//! The queue as callers hold it: the state behind its monitor, and the rate limiter.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{Mutex, now};

use super::monitor::Monitor;
use super::slab::Id;
use super::state::{State, Take};
use super::{AddOptions, Key, Observation, Observed, RateLimiter, Work, WorkQueueBuilder};

/// Keys that wait to be worked on; see [the module](super) for what it promises. Clones are the same queue.
pub struct WorkQueue<T: Key> {
    shared: Arc<Shared<T>>,
}

/// What all clones of a queue, and all that was handed out, have in common.
pub(super) struct Shared<T: Key> {
    monitor: Monitor<T>,
    limiter: Mutex<Box<dyn RateLimiter<T>>>,
    of_controller: bool,
}

impl<T: Key> WorkQueue<T> {
    /// A queue by [client-go's rules](super::Rules::Layered), with its rate limiter for controllers.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Settings for a queue.
    pub fn builder() -> WorkQueueBuilder<T> {
        WorkQueueBuilder::new()
    }

    pub(super) fn from_builder(mut builder: WorkQueueBuilder<T>) -> Self {
        let limiter = builder.take_limiter();
        let state = State::new(builder.rules, builder.patience, builder.metrics.is_some());
        let shared = Arc::new(Shared {
            monitor: Monitor::new(state),
            limiter: Mutex::new(limiter),
            of_controller: builder.of_controller,
        });
        if let Some(metrics) = builder.metrics {
            let shared: Arc<dyn Observed> = Arc::<Shared<T>>::clone(&shared);
            metrics.add_queue(&builder.name, Arc::downgrade(&shared));
        }
        Self { shared }
    }

    /// Adds a key. False if the queue is shut down: then the key was not added.
    pub fn add(&self, item: T) -> bool {
        self.shared.add(item, AddOptions::new())
    }

    /// Adds a key when so much time has passed. False if the queue is shut down.
    pub fn add_after(&self, item: T, delay: Duration) -> bool {
        self.shared.add(item, AddOptions::new().after(delay))
    }

    /// Adds a key when the rate limiter lets it. False if the queue is shut down.
    pub fn add_rate_limited(&self, item: T) -> bool {
        self.shared.add(item, AddOptions::new().rate_limited())
    }

    /// Adds a key as the options say. False if the queue is shut down.
    pub fn add_with(&self, item: T, options: AddOptions) -> bool {
        self.shared.add(item, options)
    }

    /// Earlier failures of a key are forgotten: its next rate limited add is the first.
    pub fn forget(&self, item: &T) {
        self.shared.forget(item);
    }

    /// How often a key was added rate limited since it was forgotten.
    pub fn num_requeues(&self, item: &T) -> u32 {
        self.shared.limiter.lock().num_requeues(item)
    }

    /// The next key; waits until there is one. None when the queue is shut down and nothing is left.
    ///
    /// A call that is dropped before it is ready has taken nothing.
    pub async fn get(&self) -> Option<Work<T>> {
        let taken = self.shared.monitor.get().await?;
        Some(Work::new(&self.shared, taken))
    }

    /// The next key if there is one now.
    pub fn try_get(&self) -> Option<Work<T>> {
        match self.shared.monitor.operate(State::take) {
            Take::Work(taken) => Some(Work::new(&self.shared, taken)),
            Take::Wait(_) | Take::Closed => None,
        }
    }

    /// How many keys can be handed out now. Those that are delayed, and those that are being worked on, are not counted.
    pub fn len(&self) -> usize {
        self.shared.monitor.operate(State::len)
    }

    /// Nothing can be handed out now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys are delayed.
    pub fn delayed(&self) -> usize {
        self.shared.monitor.operate(State::delayed)
    }

    /// The queue takes no more keys.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.monitor.operate(|state, _| state.is_closed())
    }

    /// Takes no more keys. What waits is still handed out, and what is delayed is dropped and returned.
    ///
    /// A [drain](Self::shut_down_with_drain) that is under way is not waited for any longer.
    pub fn shut_down(&self) -> Vec<T> {
        self.shared.monitor.shut_down(State::close)
    }

    /// Takes no more keys, and drops and returns all that wait or are delayed.
    pub fn shut_down_now(&self) -> Vec<T> {
        self.shared.monitor.shut_down(State::clear)
    }

    /// Takes no more keys, and waits until all that wait have been handed out and worked on. What is delayed is dropped
    /// and returned.
    ///
    /// Somebody must go on to work: without that this waits until it is dropped, or until somebody calls
    /// [`shut_down`](Self::shut_down) or [`shut_down_now`](Self::shut_down_now). When this is dropped, what would have been returned is
    /// returned by the next shutdown of any kind.
    pub async fn shut_down_with_drain(&self) -> Vec<T> {
        self.shared.monitor.drain().await
    }
}

impl<T: Key> Shared<T> {
    /// Adds a key. Returns false if the queue is closed.
    pub(super) fn add(&self, item: T, options: AddOptions) -> bool {
        let limited = options.rate_limited.then(|| self.limiter.lock().when(&item, now()));
        let delay = match (options.after, limited) {
            (Some(after), Some(limited)) => Some(after.min(limited)),
            (after, limited) => after.or(limited),
        };
        self.monitor.operate(|state, now| state.add(now, item, options.priority, delay))
    }

    pub(super) fn forget(&self, item: &T) {
        self.limiter.lock().forget(item);
    }

    pub(super) fn done(&self, id: Id) {
        self.monitor.operate(|state, now| state.done(now, id));
    }
}

impl<T: Key> Observed for Shared<T> {
    fn observe(&self) -> Observation {
        let seen = self.monitor.operate(State::observe);
        Observation { of_controller: self.of_controller, ..seen }
    }
}

impl<T: Key> Clone for WorkQueue<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T: Key> Default for WorkQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Key> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, delayed, closed) =
            self.shared.monitor.operate(|state, now| (state.len(now), state.delayed(now), state.is_closed()));
        f.debug_struct("WorkQueue")
            .field("len", &len)
            .field("delayed", &delayed)
            .field("is_shutting_down", &closed)
            .finish_non_exhaustive()
    }
}
