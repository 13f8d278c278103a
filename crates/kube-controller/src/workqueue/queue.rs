//! The queue as everybody holds it: the rules behind a lock, and those who wait.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::slab::Id;
use super::state::{Added, State, Take};
use super::{AddOptions, Key, Observation, Observed, RateLimiter, Work, WorkQueueBuilder};

/// Keys that wait to be worked on; see [the module](super) for what it promises. Clones are the same queue.
pub struct WorkQueue<T: Key> {
    shared: Arc<Shared<T>>,
}

/// What all clones of a queue, and all that was handed out, have in common.
pub(super) struct Shared<T> {
    inner: Mutex<Inner<T>>,
    limiter: Mutex<Box<dyn RateLimiter<T>>>,
    /// One of those in `get` should look again.
    wake: Notify,
    /// The one with the timer should look again.
    sooner: Notify,
    /// Those who wait for the end should look again.
    idle: Notify,
    of_controller: bool,
}

struct Inner<T> {
    state: State<T>,
    /// One of those in `get` has a timer for the first delay.
    timed: bool,
    /// A drain is not to be waited for any longer.
    forced: bool,
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
            inner: Mutex::new(Inner { state, timed: false, forced: false }),
            limiter: Mutex::new(limiter),
            wake: Notify::new(),
            sooner: Notify::new(),
            idle: Notify::new(),
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
        let shared = &*self.shared;
        let mut timer = Timer { shared, mine: false };
        loop {
            let woken = shared.wake.notified();
            let due = {
                let mut inner = shared.inner.lock();
                match inner.state.take(Instant::now()) {
                    Take::Work(taken) => {
                        // Whoever was woken for this may have been woken for more.
                        let more = inner.state.has_ready() || (inner.state.has_delayed() && !inner.timed);
                        drop(inner);
                        if more {
                            shared.wake.notify_one();
                        }
                        return Some(Work::new(&self.shared, taken));
                    }
                    Take::Closed => return None,
                    Take::Wait(due) => {
                        if timer.mine || !inner.timed {
                            // With nothing to wait for, the next delay finds somebody by `wake`.
                            timer.mine = due.is_some();
                            inner.timed = timer.mine;
                        }
                        due.filter(|_| timer.mine)
                    }
                }
            };
            match due {
                None => woken.await,
                Some(due) => tokio::select! {
                    biased;
                    () = woken => {}
                    () = shared.sooner.notified() => {}
                    () = tokio::time::sleep_until(due) => {}
                },
            }
        }
    }

    /// The next key if there is one now.
    pub fn try_get(&self) -> Option<Work<T>> {
        match self.shared.inner.lock().state.take(Instant::now()) {
            Take::Work(taken) => Some(Work::new(&self.shared, taken)),
            Take::Wait(_) | Take::Closed => None,
        }
    }

    /// How many keys can be handed out now. Those that are delayed, and those that are being worked on, are not counted.
    pub fn len(&self) -> usize {
        self.shared.inner.lock().state.len(Instant::now())
    }

    /// Nothing can be handed out now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys are delayed.
    pub fn delayed(&self) -> usize {
        self.shared.inner.lock().state.delayed(Instant::now())
    }

    /// The queue takes no more keys.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.inner.lock().state.is_closed()
    }

    /// Takes no more keys. What waits is still handed out, and what is delayed is dropped and returned.
    ///
    /// A [drain](Self::shut_down_with_drain) that is under way is not waited for any longer.
    pub fn shut_down(&self) -> Vec<T> {
        self.shared.close(|inner, now| {
            inner.state.close(now);
            inner.forced = true;
        })
    }

    /// Takes no more keys, and drops and returns all that wait or are delayed.
    pub fn shut_down_now(&self) -> Vec<T> {
        self.shared.close(|inner, now| {
            inner.state.clear(now);
            inner.forced = true;
        })
    }

    /// Takes no more keys, and waits until all that wait have been handed out and worked on. What is delayed is dropped
    /// and returned.
    ///
    /// Somebody must go on to work: without that this waits until it is dropped, or until somebody calls
    /// [`shut_down`](Self::shut_down) or [`shut_down_now`](Self::shut_down_now). When this is dropped, what would have been returned is
    /// returned by the next shutdown of any kind.
    pub async fn shut_down_with_drain(&self) -> Vec<T> {
        {
            let mut inner = self.shared.inner.lock();
            inner.state.close(Instant::now());
            inner.forced = false;
        }
        self.shared.wake.notify_waiters();
        loop {
            let looked = self.shared.idle.notified();
            {
                let mut inner = self.shared.inner.lock();
                if inner.forced || inner.state.is_idle() {
                    return inner.state.take_dropped();
                }
            }
            looked.await;
        }
    }
}

impl<T: Key> Shared<T> {
    pub(super) fn add(&self, item: T, options: AddOptions) -> bool {
        let now = Instant::now();
        let limited = options.rate_limited.then(|| self.limiter.lock().when(&item, now));
        let delay = match (options.after, limited) {
            (Some(after), Some(limited)) => Some(after.min(limited)),
            (after, limited) => after.or(limited),
        };
        let mut inner = self.inner.lock();
        let added = inner.state.add(now, item, options.priority, delay);
        let timed = inner.timed;
        drop(inner);
        match added {
            Added::Sooner if timed => self.sooner.notify_one(),
            Added::Ready | Added::Sooner => self.wake.notify_one(),
            Added::Nothing | Added::Refused => {}
        }
        added != Added::Refused
    }

    pub(super) fn forget(&self, item: &T) {
        self.limiter.lock().forget(item);
    }

    pub(super) fn done(&self, id: Id) {
        let mut inner = self.inner.lock();
        inner.state.done(Instant::now(), id);
        let (ready, closed, idle) = (inner.state.has_ready(), inner.state.is_closed(), inner.state.is_idle());
        drop(inner);
        if ready {
            self.wake.notify_one();
        } else if closed {
            // Those in `get` may have waited for this to come again.
            self.wake.notify_waiters();
        }
        if closed && idle {
            self.idle.notify_waiters();
        }
    }

    fn close(&self, how: impl FnOnce(&mut Inner<T>, Instant)) -> Vec<T> {
        let dropped = {
            let mut inner = self.inner.lock();
            how(&mut inner, Instant::now());
            inner.state.take_dropped()
        };
        self.wake.notify_waiters();
        self.idle.notify_waiters();
        dropped
    }
}

/// The right to have the timer, which is passed on when the one who has it leaves.
struct Timer<'a, T: Key> {
    shared: &'a Shared<T>,
    mine: bool,
}

impl<T: Key> Drop for Timer<'_, T> {
    fn drop(&mut self) {
        if self.mine {
            let mut inner = self.shared.inner.lock();
            inner.timed = false;
            let needed = inner.state.has_delayed();
            drop(inner);
            if needed {
                self.shared.wake.notify_one();
            }
        }
    }
}

impl<T: Key> Observed for Shared<T> {
    fn observe(&self) -> Observation {
        let seen = self.inner.lock().state.observe(Instant::now());
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
        let mut inner = self.shared.inner.lock();
        let now = Instant::now();
        f.debug_struct("WorkQueue")
            .field("len", &inner.state.len(now))
            .field("delayed", &inner.state.delayed(now))
            .field("is_shutting_down", &inner.state.is_closed())
            .finish_non_exhaustive()
    }
}
