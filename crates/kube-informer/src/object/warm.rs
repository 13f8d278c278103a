//! Decoded values that are kept at hand because they were looked at.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::packed::View;

/// A decoded value needs about so many times the memory of its bytes.
const EXPANSION: usize = 9;

/// Values that were looked at lately, within a budget. The oldest goes first, unless it was looked at since it came or
/// was last spared.
pub(crate) struct Warm<K> {
    budget: usize,
    kept: Mutex<Kept<K>>,
}

struct Kept<K> {
    values: VecDeque<(Arc<View<K>>, usize)>,
    bytes: usize,
}

impl<K> Warm<K> {
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, kept: Mutex::new(Kept { values: VecDeque::new(), bytes: 0 }) }
    }

    /// Keeps a value that was made of so many bytes.
    pub(super) fn keep(&self, view: Arc<View<K>>, packed_bytes: usize) {
        let bytes = packed_bytes.saturating_mul(EXPANSION);
        let mut gone = Vec::new();
        let mut kept = self.kept.lock();
        kept.values.push_back((view, bytes));
        kept.bytes += bytes;
        // Each value is spared at most once in a round, so this comes to an end.
        let mut spare = kept.values.len();
        while kept.bytes > self.budget {
            let Some((oldest, size)) = kept.values.pop_front() else { break };
            if spare > 0 && oldest.take_looked() {
                kept.values.push_back((oldest, size));
            } else {
                kept.bytes -= size;
                gone.push(oldest);
            }
            spare = spare.saturating_sub(1);
        }
        drop(kept);
        // Dropping large values takes time that others need not wait for.
        drop(gone);
    }
}
