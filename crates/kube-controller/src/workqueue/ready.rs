//! What can be handed out, in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::slab::Id;

/// Of so many keys that are handed out, one is the oldest of those that have waited too long.
const OVERDUE_SHARE: u32 = 8;

/// Old ages are cleared away when there are so many more of them than of keys.
const STALE_AGES: usize = 1024;

/// A place in the order: the highest priority first, then the lowest counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
}

/// What can be handed out.
#[derive(Debug)]
pub(super) struct Ready {
    order: BTreeMap<Place, Waiting>,
    /// Who became ready when, oldest first. Who is gone, or has moved, is still there until it is at the front.
    ages: VecDeque<Age>,
    /// Handed out since an overdue key was.
    since_overdue: u32,
    patience: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) id: Id,
    pub(super) since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Age {
    place: Place,
    since: Instant,
}

impl Ready {
    pub(super) fn new(patience: Duration) -> Self {
        Self { order: BTreeMap::new(), ages: VecDeque::new(), since_overdue: 0, patience }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn insert(&mut self, place: Place, waiting: Waiting) {
        self.order.insert(place, waiting);
        self.ages.push_back(Age { place, since: waiting.since });
        if self.ages.len() > 2 * self.order.len() + STALE_AGES {
            self.ages.retain(|age| self.order.contains_key(&age.place));
        }
    }

    pub(super) fn remove(&mut self, place: Place) -> Option<Waiting> {
        self.order.remove(&place)
    }

    /// Takes out who is next.
    pub(super) fn pop(&mut self, now: Instant) -> Option<(Place, Waiting)> {
        let overdue = if self.since_overdue + 1 < OVERDUE_SHARE { None } else { self.overdue(now) };
        let next = match overdue {
            Some(place) => {
                self.since_overdue = 0;
                self.order.remove(&place).map(|waiting| (place, waiting))
            }
            None => {
                self.since_overdue = self.since_overdue.saturating_add(1);
                self.order.pop_first()
            }
        };
        if self.order.is_empty() {
            self.ages.clear();
        }
        // Mostly it is the oldest that goes.
        if let (Some((place, _)), Some(front)) = (&next, self.ages.front())
            && front.place == *place
        {
            self.ages.pop_front();
        }
        next
    }

    /// Everything in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Waiting> + use<> {
        self.ages.clear();
        std::mem::take(&mut self.order).into_values()
    }

    /// The place of the oldest, if that has waited too long.
    fn overdue(&mut self, now: Instant) -> Option<Place> {
        while let Some(age) = self.ages.front() {
            if self.order.contains_key(&age.place) {
                let waited = now.saturating_duration_since(age.since);
                return (waited >= self.patience).then_some(age.place);
            }
            self.ages.pop_front();
        }
        None
    }
}
