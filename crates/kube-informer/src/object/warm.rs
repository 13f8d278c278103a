//! Decoded values that are kept at hand because they were looked at.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::packed::View;

/// A decoded value needs about so many times the memory of its bytes.
const EXPANSION: usize = 9;

/// Values that were wanted once have so much of the budget at most: about what the caches of a core hold.
const TRIAL_BYTES: usize = 1 << 20;

/// And no more than this part of it, as one of four.
const TRIAL_SHARE: usize = 4;

/// A value that was made of more bytes than this is not kept for another to be made of.
const SPARE_BYTES: usize = 64 << 10;

/// Values that were looked at lately, within a budget.
///
/// Most values are wanted once, by handlers or by somebody who goes through all objects. They are here on trial, and go
/// soon, while their memory is still near; so they do not drive out those that are wanted again and again.
pub(crate) struct Warm<K> {
    /// For values on trial, and for those that stay.
    budgets: [usize; 2],
    kept: Mutex<Kept<K>>,
    /// Values can be made of others.
    remakes: bool,
    /// One that has gone, for the next to be made of; it is beside the budget.
    spare: Mutex<Option<Box<K>>>,
}

struct Kept<K> {
    /// The oldest goes first, and stays if it was wanted since it came.
    trial: Line<K>,
    /// The oldest goes first, unless it was wanted since it came or was last spared.
    lasting: Line<K>,
}

/// Values in the order in which they came.
struct Line<K> {
    values: VecDeque<(Arc<View<K>>, usize)>,
    bytes: usize,
}

impl<K: 'static> Warm<K> {
    pub(crate) fn new(budget: usize) -> Self {
        let trial = TRIAL_BYTES.min(budget / TRIAL_SHARE);
        let kept = Kept { trial: Line::default(), lasting: Line::default() };
        let remakes = kube_wire::can_be_remade::<K>();
        Self { budgets: [trial, budget - trial], kept: Mutex::new(kept), remakes, spare: Mutex::default() }
    }
}

impl<K> Warm<K> {
    /// A value that nobody needs any more, if there is one.
    pub(super) fn take_spare(&self) -> Option<Box<K>> {
        self.spare.lock().take()
    }

    /// Keeps a value that was made of so many bytes; `again` if it was made before.
    pub(super) fn keep(&self, view: Arc<View<K>>, packed_bytes: usize, again: bool) {
        let [for_trial, for_lasting] = self.budgets;
        let bytes = packed_bytes.saturating_mul(EXPANSION);
        let mut gone = Vec::new();
        let mut kept = self.kept.lock();
        let Kept { trial, lasting } = &mut *kept;
        if again {
            lasting.push(view, bytes);
        } else {
            trial.push(view, bytes);
        }
        while trial.bytes > for_trial
            && let Some((oldest, size)) = trial.pop()
        {
            if oldest.take_wanted() { lasting.push(oldest, size) } else { gone.push((oldest, size)) }
        }
        // Each value stays at most once in a round, so this comes to an end.
        let mut may_stay = lasting.values.len();
        while lasting.bytes > for_lasting
            && let Some((oldest, size)) = lasting.pop()
        {
            if may_stay > 0 && oldest.take_wanted() {
                lasting.push(oldest, size);
            } else {
                gone.push((oldest, size));
            }
            may_stay = may_stay.saturating_sub(1);
        }
        drop(kept);
        // Dropping large values takes time that others need not wait for.
        let small = |(view, bytes): (Arc<View<K>>, usize)| (bytes / EXPANSION <= SPARE_BYTES).then_some(view);
        let mut unused = gone.into_iter().filter_map(small).filter_map(Arc::into_inner);
        if self.remakes
            && let Some(view) = unused.next()
        {
            let before = self.spare.lock().replace(view.into_value());
            drop(before);
        }
    }
}

impl<K> Line<K> {
    fn push(&mut self, view: Arc<View<K>>, bytes: usize) {
        self.values.push_back((view, bytes));
        self.bytes += bytes;
    }

    fn pop(&mut self) -> Option<(Arc<View<K>>, usize)> {
        let oldest = self.values.pop_front();
        self.bytes -= oldest.as_ref().map_or(0, |(_, bytes)| *bytes);
        oldest
    }
}

impl<K> Default for Line<K> {
    fn default() -> Self {
        Self { values: VecDeque::new(), bytes: 0 }
    }
}
