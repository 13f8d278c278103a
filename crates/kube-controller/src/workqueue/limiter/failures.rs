//! How often keys have failed.

use crate::generations::Generations;
use crate::workqueue::Key;

/// At most so many keys are remembered; beyond that, those that have not failed for the longest time are forgotten.
pub const MAX_REMEMBERED: usize = 1 << 20;

/// How often keys have failed.
#[derive(Clone, Debug)]
pub(super) struct Failures<T>(Generations<T, u32>);

impl<T: Key> Failures<T> {
    pub(super) fn new() -> Self {
        Self(Generations::new(MAX_REMEMBERED))
    }

    /// Counts a failure; says how many there were before.
    pub(super) fn count(&mut self, item: &T) -> u32 {
        let count = self.0.get_or_insert(item, || 0);
        let before = *count;
        *count = before.saturating_add(1);
        before
    }

    pub(super) fn forget(&mut self, item: &T) {
        self.0.remove(item);
    }

    pub(super) fn get(&self, item: &T) -> u32 {
        self.0.get(item).copied().unwrap_or(0)
    }
}
