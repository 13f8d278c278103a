//! A key that somebody works on.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::queue::Shared;
use super::slab::Id;
use super::state::Taken;
use super::{AddOptions, Key};

/// A key that was handed out. Nobody else gets it until this is [done](Self::done) or dropped.
#[must_use = "the key is free again when this is dropped"]
pub struct Work<T: Key> {
    shared: Arc<Shared<T>>,
    id: Id,
    item: T,
    priority: i32,
}

impl<T: Key> Work<T> {
    pub(super) fn new(shared: &Arc<Shared<T>>, taken: Taken<T>) -> Self {
        let Taken { id, item, priority } = taken;
        Self { shared: Arc::clone(shared), id, item, priority }
    }

    /// The priority that the key had.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The work is done; what happens to a dropped one as well.
    pub fn done(self) {}

    /// The work is done and went well: earlier failures of the key are forgotten.
    pub fn forget(self) {
        self.shared.forget(&self.item);
    }

    /// The work is done and went wrong: the key comes again when the rate limiter lets it, with the priority it had.
    /// False if the queue is shut down.
    pub fn retry(self) -> bool {
        self.add(AddOptions::new().rate_limited())
    }

    /// The work is done for now: earlier failures are forgotten, and the key comes again after so much time, with the
    /// priority it had. False if the queue is shut down.
    pub fn retry_after(self, delay: Duration) -> bool {
        self.shared.forget(&self.item);
        self.add(AddOptions::new().after(delay))
    }

    fn add(&self, options: AddOptions) -> bool {
        self.shared.add(self.item.clone(), options.priority(self.priority))
    }
}

impl<T: Key> Deref for Work<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.item
    }
}

impl<T: Key> Drop for Work<T> {
    fn drop(&mut self) {
        self.shared.done(self.id);
    }
}

impl<T: Key + fmt::Debug> fmt::Debug for Work<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("item", &self.item)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
