//! What the handlers of one run hear.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::command::{Heard, Kind, Seen};

/// Everything that the handlers of one run have heard so far, in order.
#[derive(Debug)]
pub struct Log {
    inner: Mutex<Inner>,
    /// Counts what was heard, for those who wait.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Inner {
    step: usize,
    handlers: BTreeMap<String, HandlerLog>,
}

/// What one handler has heard.
#[derive(Clone, Debug, Default)]
pub struct HandlerLog {
    /// Each call, with the number of the step during which it came.
    pub heard: Vec<(usize, Heard)>,
    /// What it must believe to be there: for each key what it heard last.
    pub view: BTreeMap<String, State>,
    /// How often it heard of an object that had not changed, by key.
    again: BTreeMap<String, u64>,
}

/// A state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The number of the write that made it so.
    pub write: u64,
    /// It is being deleted.
    pub deleting: bool,
}

impl State {
    /// The state in which an object was seen.
    pub fn of(seen: &Seen) -> Self {
        Self { write: seen.write(), deleting: seen.deleting }
    }
}

impl Heard {
    /// Whether it says that nothing has changed.
    pub fn is_again(&self) -> bool {
        self.old.as_ref().is_some_and(|old| {
            (old.version.as_str(), State::of(old)) == (self.object.version.as_str(), State::of(&self.object))
        })
    }
}

impl HandlerLog {
    /// How often it was told everything again.
    pub fn rounds(&self) -> u64 {
        self.again.values().copied().max().unwrap_or(0)
    }
}

impl Log {
    /// Nothing has been heard.
    pub fn new() -> Self {
        Self { inner: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// A handler was called.
    pub fn heard(&self, handler: &str, heard: Heard) {
        let mut inner = self.inner.lock();
        let step = inner.step;
        let log = inner.handlers.entry(handler.to_owned()).or_default();
        let key = heard.object.key.clone();
        if heard.is_again() {
            *log.again.entry(key.clone()).or_default() += 1;
        }
        match heard.kind {
            Kind::Delete => drop(log.view.remove(&key)),
            Kind::Add | Kind::Update => drop(log.view.insert(key, State::of(&heard.object))),
        }
        log.heard.push((step, heard));
        drop(inner);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// What comes from now on belongs to this step.
    pub fn step(&self, step: usize) {
        self.inner.lock().step = step;
    }

    /// Looks at what one handler has heard.
    pub fn look<T>(&self, handler: &str, look: impl FnOnce(&HandlerLog) -> T) -> T {
        match self.inner.lock().handlers.get(handler) {
            Some(log) => look(log),
            None => look(&HandlerLog::default()),
        }
    }

    /// Everything that was heard.
    pub fn all(&self) -> BTreeMap<String, HandlerLog> {
        self.inner.lock().handlers.clone()
    }

    /// Tells when more is heard.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}
