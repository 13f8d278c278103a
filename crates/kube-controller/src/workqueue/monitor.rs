//! The lock of a queue, and its wake-ups.
//!
//! # Wake-up protocol
//!
//! A call of `get` that finds nothing waits for `getters`. One of these calls is the timekeeper: it also sleeps until the
//! first delay ends. A drain waits for `drains`.
//!
//! **Invariant.** Whenever the lock is free, these are being woken:
//!
//! - one call of `get`, if a key is ready, or if a key is delayed and there is no timekeeper;
//! - the timekeeper, if the first delay ends before its deadline;
//! - all calls of `get`, if the queue has ended;
//! - all drains, if the queue is closed and idle, or if a shutdown has released them.
//!
//! *Being woken* means: the operation that left the lock is about to notify, the [`Notify`] holds a permit, or it has notified a
//! call that has not looked at the state since. Calls that do not wait yet look at the state before they do.
//!
//! The invariant holds because:
//!
//! 1. Every operation goes through [`Monitor::with`], reads included, since reads may promote delayed keys. It applies one
//!    rule, [`Inner::wake_ups`], to the state that the operation leaves, whatever the operation was.
//! 2. A woken call looks at the state again, through `with`. So one wake-up is enough for many keys: the call that takes a key
//!    wakes the next call.
//! 3. A call creates its [`Notified`](tokio::sync::futures::Notified) before it looks. `notify_one` without a waiting call
//!    leaves a permit, `notify_waiters` reaches every `Notified` that exists, and a `Notified` that is dropped after
//!    `notify_one` passes the notification on.
//! 4. A timekeeper that is dropped resigns through `with`.
//! 5. A call of `get` that looks at a state that wakes it takes a key, becomes the timekeeper or ends. A drain that looks at
//!    such a state ends. So no call wakes itself without end.
//!
//! The model in `crates/kube-controller/model` explores this file with loom.

use crate::sync::{Mutex, Notify, now, sleep_until};

use tokio::time::Instant;

use super::Key;
use super::state::{State, Take, Taken};

/// A queue's state behind its lock, with the calls that wait for it to change.
pub(super) struct Monitor<T: Key> {
    inner: Mutex<Inner<T>>,
    getters: Notify,
    timekeeper: Notify,
    drains: Notify,
}

struct Inner<T> {
    state: State<T>,
    /// The deadline of the timekeeper, if there is one.
    deadline: Option<Instant>,
    /// The number of shutdowns that released drains.
    releases: u64,
    /// A shutdown has released the drains, and they have not been notified.
    release: bool,
}

/// Which calls have to be notified.
struct WakeUps {
    getters: Getters,
    timekeeper: bool,
    drains: bool,
}

enum Getters {
    None,
    One,
    All,
}

impl<T: Key> Monitor<T> {
    pub(super) fn new(state: State<T>) -> Self {
        Self {
            inner: Mutex::new(Inner { state, deadline: None, releases: 0, release: false }),
            getters: Notify::new(),
            timekeeper: Notify::new(),
            drains: Notify::new(),
        }
    }

    /// Runs an operation on the state at the present time, then wakes the calls that its outcome concerns.
    pub(super) fn operate<R>(&self, operation: impl FnOnce(&mut State<T>, Instant) -> R) -> R {
        self.with(|inner| operation(&mut inner.state, now()))
    }

    /// Waits for a key and takes it. Returns `None` when the queue has ended.
    pub(super) async fn get(&self) -> Option<Taken<T>> {
        let mut call = GetCall { monitor: self, deadline: None };
        loop {
            let woken = self.getters.notified();
            match self.with(|inner| inner.look(&mut call.deadline)) {
                Take::Work(taken) => return Some(taken),
                Take::Closed => return None,
                Take::Wait(_) => {}
            }
            match call.deadline {
                None => woken.await,
                Some(deadline) => tokio::select! {
                    biased;
                    () = woken => {}
                    () = self.timekeeper.notified() => {}
                    () = sleep_until(deadline) => {}
                },
            }
        }
    }

    /// Runs a shutdown, releases the drains, and returns the dropped keys.
    pub(super) fn shut_down(&self, shutdown: impl FnOnce(&mut State<T>, Instant)) -> Vec<T> {
        self.with(|inner| {
            shutdown(&mut inner.state, now());
            inner.releases += 1;
            inner.release = true;
            inner.state.take_dropped()
        })
    }

    /// Closes the queue, waits until it is idle or a later shutdown releases this drain, and returns the dropped keys.
    pub(super) async fn drain(&self) -> Vec<T> {
        let releases = self.with(|inner| {
            inner.state.close(now());
            inner.releases
        });
        loop {
            let woken = self.drains.notified();
            let dropped = self.with(|inner| {
                let over = inner.releases != releases || inner.state.is_idle();
                over.then(|| inner.state.take_dropped())
            });
            match dropped {
                Some(dropped) => return dropped,
                None => woken.await,
            }
        }
    }

    /// Runs an operation under the lock, then notifies as the protocol says. The only way to the state.
    fn with<R>(&self, operation: impl FnOnce(&mut Inner<T>) -> R) -> R {
        let mut inner = self.inner.lock();
        let result = operation(&mut inner);
        let wake_ups = inner.wake_ups();
        drop(inner);
        match wake_ups.getters {
            Getters::None => {}
            Getters::One => self.getters.notify_one(),
            Getters::All => self.getters.notify_waiters(),
        }
        if wake_ups.timekeeper {
            self.timekeeper.notify_one();
        }
        if wake_ups.drains {
            self.drains.notify_waiters();
        }
        result
    }
}

impl<T: Key> Inner<T> {
    /// The rule of the protocol: which calls the present state concerns.
    fn wake_ups(&mut self) -> WakeUps {
        let due = self.state.next_due();
        let getters = if self.state.has_ended() {
            Getters::All
        } else if self.state.has_ready() || (due.is_some() && self.deadline.is_none()) {
            Getters::One
        } else {
            Getters::None
        };
        WakeUps {
            getters,
            timekeeper: due.zip(self.deadline).is_some_and(|(due, deadline)| due < deadline),
            drains: std::mem::take(&mut self.release) || (self.state.is_closed() && self.state.is_idle()),
        }
    }

    /// Takes a key for a call of `get`. Without one the call becomes the timekeeper, if a key is delayed and no other
    /// call is the timekeeper. `own_deadline` is the deadline of the call, which is `Some` while it is the timekeeper.
    fn look(&mut self, own_deadline: &mut Option<Instant>) -> Take<T> {
        if own_deadline.take().is_some() {
            self.deadline = None;
        }
        let take = self.state.take(now());
        if let Take::Wait(Some(due)) = take
            && self.deadline.is_none()
        {
            (self.deadline, *own_deadline) = (Some(due), Some(due));
        }
        take
    }
}

/// A call of `get`, which resigns as timekeeper when it is dropped.
struct GetCall<'a, T: Key> {
    monitor: &'a Monitor<T>,
    /// Its deadline, which is `Some` while it is the timekeeper.
    deadline: Option<Instant>,
}

impl<T: Key> Drop for GetCall<'_, T> {
    fn drop(&mut self) {
        if self.deadline.is_some() {
            self.monitor.with(|inner| inner.deadline = None);
        }
    }
}
