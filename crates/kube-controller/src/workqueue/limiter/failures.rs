//! How often keys have failed.

use std::collections::HashMap;

use crate::workqueue::Key;

/// At most so many keys are remembered; beyond that, those that have not failed for the longest time are forgotten.
pub const MAX_REMEMBERED: usize = 1 << 20;

/// How often keys have failed.
///
/// Two generations: when the young one is full it becomes the old one, and what was in that is forgotten, unless it
/// failed again and so moved.
#[derive(Clone, Debug)]
pub(super) struct Failures<T> {
    young: HashMap<T, u32>,
    old: HashMap<T, u32>,
    generation: usize,
}

impl<T: Key> Failures<T> {
    pub(super) fn new() -> Self {
        Self::with_limit(MAX_REMEMBERED)
    }

    fn with_limit(limit: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), generation: (limit / 2).max(1) }
    }

    /// Counts a failure; says how many there were before.
    pub(super) fn count(&mut self, item: &T) -> u32 {
        if let Some(count) = self.young.get_mut(item) {
            let before = *count;
            *count = before.saturating_add(1);
            return before;
        }
        let before = self.old.remove(item).unwrap_or(0);
        if self.young.len() >= self.generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(item.clone(), before.saturating_add(1));
        before
    }

    pub(super) fn forget(&mut self, item: &T) {
        if self.young.remove(item).is_none() {
            self.old.remove(item);
        }
    }

    pub(super) fn get(&self, item: &T) -> u32 {
        self.young.get(item).or_else(|| self.old.get(item)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_lately_is_remembered_and_the_rest_is_bounded() {
        let mut failures = Failures::with_limit(10);
        for key in 0..100 {
            failures.count(&key);
            failures.count(&-1);
            assert!(failures.young.len() + failures.old.len() <= 10);
        }
        assert_eq!(failures.get(&-1), 100, "it has never been quiet");
        assert_eq!((failures.get(&99), failures.get(&0)), (1, 0));
        failures.forget(&-1);
        assert_eq!(failures.count(&-1), 0);
    }
}
