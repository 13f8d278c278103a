//! What can be handed out, in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use super::slab::Id;

/// Of so many keys that are handed out, one is the oldest of those that have waited too long.
const OVERDUE_SHARE: u32 = 8;

/// What is gone is cleared away when there is so much more of it than of keys.
const STALE: usize = 1024;

/// So many priorities keep their memory when nobody waits.
const KEPT_LANES: usize = 8;

/// A place in the order: the highest priority first, then the lowest counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    priority: Reverse<i32>,
    counter: u64,
}

impl Place {
    pub(super) fn new(priority: i32, counter: u64) -> Self {
        Self { priority: Reverse(priority), counter }
    }

    pub(super) fn priority(&self) -> i32 {
        self.priority.0
    }

    pub(super) fn counter(&self) -> u64 {
        self.counter
    }
}

/// Somebody who waits, or has waited. No two have the same counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    counter: u64,
    id: Id,
}

/// What can be handed out.
///
/// Who is gone, or has another place now, stays where he was until he is at the front: whoever asks says who is still
/// there.
#[derive(Debug, Default)]
pub(super) struct Ready {
    lanes: BTreeMap<Reverse<i32>, Lane>,
    /// In the order in which they became ready.
    ages: VecDeque<Waiting>,
    /// How many are there.
    len: usize,
    /// Handed out since an overdue key was.
    since_overdue: u32,
}

/// Those of one priority.
#[derive(Debug, Default)]
struct Lane {
    /// By their counters.
    line: VecDeque<Waiting>,
    /// Those who kept a counter from before, and came when others were in line behind them.
    early: BTreeMap<u64, Id>,
}

impl Lane {
    fn insert(&mut self, waiting: Waiting) {
        if self.line.back().is_some_and(|last| last.counter > waiting.counter) {
            self.early.insert(waiting.counter, waiting.id);
        } else {
            self.line.push_back(waiting);
        }
    }

    /// Takes out the first who is still there.
    fn pop(&mut self, is_there: &impl Fn(Id, u64) -> bool) -> Option<Waiting> {
        loop {
            let first = self.line.front().copied();
            let early = self.early.first_key_value().map(|(&counter, &id)| Waiting { counter, id });
            let next = match (first, early) {
                (Some(first), Some(early)) if early.counter < first.counter => early,
                (Some(first), _) => first,
                (None, early) => early?,
            };
            if Some(next) == first {
                self.line.pop_front();
            } else {
                self.early.pop_first();
            }
            if is_there(next.id, next.counter) {
                return Some(next);
            }
        }
    }

    fn len(&self) -> usize {
        self.line.len() + self.early.len()
    }
}

impl Ready {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn insert(&mut self, place: Place, id: Id, is_there: impl Fn(Id, u64) -> bool) {
        let waiting = Waiting { counter: place.counter, id };
        let lane = self.lanes.entry(place.priority).or_default();
        lane.insert(waiting);
        self.ages.push_back(waiting);
        self.len += 1;
        let most = 2 * self.len + STALE;
        if self.ages.len() > most {
            self.ages.retain(|waiting| is_there(waiting.id, waiting.counter));
        }
        if lane.len() > most {
            lane.line.retain(|waiting| is_there(waiting.id, waiting.counter));
            lane.early.retain(|counter, id| is_there(*id, *counter));
        }
    }

    /// Somebody who waited waits no more, or elsewhere.
    pub(super) fn left(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Takes out who is next.
    pub(super) fn pop(
        &mut self,
        is_there: impl Fn(Id, u64) -> bool,
        is_overdue: impl Fn(Id) -> bool,
    ) -> Option<Id> {
        let due = self.since_overdue + 1 >= OVERDUE_SHARE;
        let overdue = if due { self.oldest(&is_there).filter(|oldest| is_overdue(oldest.id)) } else { None };
        let next = match overdue {
            Some(oldest) => {
                self.since_overdue = 0;
                oldest
            }
            None => {
                self.since_overdue = self.since_overdue.saturating_add(1);
                self.first(&is_there)?
            }
        };
        self.left();
        if self.len == 0 {
            self.clear();
        } else if self.ages.front() == Some(&next) {
            // Mostly it is the oldest that goes.
            self.ages.pop_front();
        }
        Some(next.id)
    }

    /// Everybody in order; nobody is there any more.
    pub(super) fn drain(&mut self, is_there: impl Fn(Id, u64) -> bool) -> Vec<Id> {
        let mut all = Vec::with_capacity(self.len);
        for mut lane in std::mem::take(&mut self.lanes).into_values() {
            all.extend(std::iter::from_fn(|| lane.pop(&is_there)).map(|waiting| waiting.id));
        }
        self.clear();
        all
    }

    fn first(&mut self, is_there: &impl Fn(Id, u64) -> bool) -> Option<Waiting> {
        loop {
            let mut lane = self.lanes.first_entry()?;
            if let Some(first) = lane.get_mut().pop(is_there) {
                return Some(first);
            }
            lane.remove();
        }
    }

    fn oldest(&mut self, is_there: &impl Fn(Id, u64) -> bool) -> Option<Waiting> {
        while let Some(oldest) = self.ages.front() {
            if is_there(oldest.id, oldest.counter) {
                return Some(*oldest);
            }
            self.ages.pop_front();
        }
        None
    }

    fn clear(&mut self) {
        self.len = 0;
        self.ages.clear();
        // What a flood of keys took is given back when it is over.
        self.ages.shrink_to(STALE);
        if self.lanes.len() > KEPT_LANES {
            self.lanes.clear();
        }
        for lane in self.lanes.values_mut() {
            lane.early.clear();
            lane.line.clear();
            lane.line.shrink_to(STALE);
        }
    }
}
