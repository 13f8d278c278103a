//! The rules of a queue: what waits, what is delayed, what is being worked on. No waiting happens here.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::figures::{Figures, Observation};
use super::ready::{Place, Ready, Waiting};
use super::slab::{Id, Slab};
use super::{Key, Rules};

/// A delay that is longer than this is as long as this: thirty years.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// What a queue knows.
#[derive(Debug)]
pub(super) struct State<T> {
    rules: Rules,
    ids: HashMap<T, Id>,
    entries: Slab<Entry<T>>,
    ready: Ready,
    /// By the time when the delay is over, then in the order of adding.
    delayed: BTreeMap<(Instant, u64), Id>,
    /// Keys that were added while somebody works on them.
    again: usize,
    counter: u64,
    figures: Figures,
    closed: bool,
    /// What a shutdown has dropped and nobody has been told of yet.
    dropped: Vec<T>,
}

/// A key that is somewhere in the queue. It may wait, or come again, but not both; and have a delay as well.
#[derive(Debug)]
struct Entry<T> {
    item: T,
    ready: Option<Place>,
    /// It was added while somebody works on it.
    again: Option<Again>,
    delay: Option<Delay>,
    working: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Again {
    place: Place,
    since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Delay {
    due: Instant,
    counter: u64,
    priority: i32,
}

/// What there is for somebody who wants to work.
#[derive(Debug)]
pub(super) enum Take<T> {
    Work(Taken<T>),
    /// Nothing now; the first delay is over then.
    Wait(Option<Instant>),
    /// Nothing, and nothing will come any more.
    Closed,
}

#[derive(Debug)]
pub(super) struct Taken<T> {
    pub(super) id: Id,
    pub(super) item: T,
    pub(super) priority: i32,
}

/// What an add has changed for those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// The queue is shut down.
    Refused,
    /// Nothing that anybody waits for.
    Nothing,
    /// There is something to hand out.
    Ready,
    /// The first delay ends sooner than before.
    Sooner,
}

impl<T: Key> State<T> {
    pub(super) fn new(rules: Rules, patience: Duration, shown: bool) -> Self {
        Self {
            rules,
            ids: HashMap::new(),
            entries: Slab::new(),
            ready: Ready::new(patience),
            delayed: BTreeMap::new(),
            again: 0,
            counter: 0,
            figures: Figures::new(shown),
            closed: false,
            dropped: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, now: Instant, item: T, priority: i32, delay: Option<Duration>) -> Added {
        if self.closed {
            return Added::Refused;
        }
        if delay.is_some() {
            self.figures.retried();
        }
        let promoted = self.promote(now);
        let id = self.entry_of(item);
        let added = match delay.filter(|delay| !delay.is_zero()) {
            None => self.add_now(now, id, priority),
            Some(delay) => self.add_delayed(now + delay.min(FAR), id, priority),
        };
        if promoted { Added::Ready } else { added }
    }

    pub(super) fn take(&mut self, now: Instant) -> Take<T> {
        self.promote(now);
        let Some((place, Waiting { id, since })) = self.ready.pop(now) else {
            return match self.next_due() {
                None if self.closed && self.again == 0 => Take::Closed,
                due => Take::Wait(due),
            };
        };
        self.figures.taken(id, place.priority(), since, now);
        match self.entries.get_mut(id) {
            Some(entry) => {
                entry.ready = None;
                entry.working = Some(now);
                Take::Work(Taken { id, item: entry.item.clone(), priority: place.priority() })
            }
            // What is ready has an entry.
            None => Take::Wait(self.next_due()),
        }
    }

    /// Somebody is done with what was taken.
    pub(super) fn done(&mut self, now: Instant, id: Id) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let (working, again) = (entry.working.take(), entry.again.take());
        if let Some(since) = working {
            self.figures.finished(id, since, now);
        }
        match again {
            Some(Again { place, since }) => {
                self.again -= 1;
                let place = match self.rules {
                    Rules::Layered => Place::new(place.priority(), self.count()),
                    Rules::Merged => place,
                };
                self.make_ready(id, place, since);
            }
            None => self.forget_if_unused(id),
        }
    }

    /// No more adds. What is delayed is dropped; what waits stays.
    pub(super) fn close(&mut self, now: Instant) {
        self.promote(now);
        self.closed = true;
        for (_, id) in std::mem::take(&mut self.delayed) {
            let Some(entry) = self.entries.get_mut(id) else { continue };
            entry.delay = None;
            self.dropped.push(entry.item.clone());
            self.forget_if_unused(id);
        }
    }

    /// Drops what waits as well, and what was to come again.
    pub(super) fn clear(&mut self, now: Instant) {
        self.promote(now);
        let mut dropped = Vec::new();
        let waiting: Vec<Id> =
            self.ready.drain().map(|waiting| waiting.id).chain(self.figures.running_ids()).collect();
        for id in waiting {
            let Some(entry) = self.entries.get_mut(id) else { continue };
            let (ready, again) = (entry.ready.take(), entry.again.take());
            self.again -= usize::from(again.is_some());
            let Some(place) = ready.or(again.map(|again| again.place)) else { continue };
            if entry.delay.is_none() {
                dropped.push(entry.item.clone());
            }
            self.figures.dropped(place.priority());
            self.forget_if_unused(id);
        }
        self.close(now);
        dropped.append(&mut self.dropped);
        self.dropped = dropped;
    }

    pub(super) fn take_dropped(&mut self) -> Vec<T> {
        std::mem::take(&mut self.dropped)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Nothing waits, and nobody works.
    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.figures.running() == 0
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(super) fn has_delayed(&self) -> bool {
        !self.delayed.is_empty()
    }

    pub(super) fn len(&mut self, now: Instant) -> usize {
        self.promote(now);
        self.ready.len()
    }

    pub(super) fn delayed(&mut self, now: Instant) -> usize {
        self.promote(now);
        self.delayed.len()
    }

    pub(super) fn observe(&mut self, now: Instant) -> Observation {
        self.promote(now);
        self.figures.observe(self.rules, now)
    }

    fn next_due(&self) -> Option<Instant> {
        self.delayed.first_key_value().map(|((due, _), _)| *due)
    }

    fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn entry_of(&mut self, item: T) -> Id {
        match self.ids.entry(item) {
            MapEntry::Occupied(known) => *known.get(),
            MapEntry::Vacant(new) => {
                let item = new.key().clone();
                let entry = Entry { item, ready: None, again: None, delay: None, working: None };
                *new.insert(self.entries.insert(entry))
            }
        }
    }

    fn forget_if_unused(&mut self, id: Id) {
        let used = |entry: &Entry<T>| {
            entry.ready.is_some() || entry.again.is_some() || entry.delay.is_some() || entry.working.is_some()
        };
        if self.entries.get(id).is_some_and(|entry| !used(entry))
            && let Some(entry) = self.entries.remove(id)
        {
            self.ids.remove(&entry.item);
            if self.ids.is_empty() && self.ids.capacity() > KEPT_KEYS {
                // What a flood of keys took is given back when it is over.
                self.ids = HashMap::new();
            }
        }
    }

    /// Those whose delay is over wait from now on. Says whether there is something to hand out because of that.
    fn promote(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(first) = self.delayed.first_entry() {
            let (due, _) = *first.key();
            if due > now {
                break;
            }
            let id = first.remove();
            let Some(delay) = self.entries.get_mut(id).and_then(|entry| entry.delay.take()) else { continue };
            any |= self.add_now(due, id, delay.priority) == Added::Ready;
        }
        any
    }

    fn add_now(&mut self, now: Instant, id: Id, mut priority: i32) -> Added {
        let mut kept = None;
        if self.rules == Rules::Merged
            && let Some(delay) = self.end_delay(id)
        {
            // It keeps its place among equals, unless it has become more important.
            kept = (delay.priority >= priority).then_some(delay.counter);
            priority = priority.max(delay.priority);
        }
        if self.raise(id, priority) {
            return Added::Nothing;
        }
        let counter = kept.unwrap_or_else(|| self.count());
        let place = Place::new(priority, counter);
        self.figures.added(priority);
        let Some(entry) = self.entries.get_mut(id) else { return Added::Nothing };
        if entry.working.is_some() {
            entry.again = Some(Again { place, since: now });
            self.again += 1;
            return Added::Nothing;
        }
        self.make_ready(id, place, now);
        Added::Ready
    }

    fn add_delayed(&mut self, mut due: Instant, id: Id, mut priority: i32) -> Added {
        if self.rules == Rules::Merged && self.raise(id, priority) {
            return Added::Nothing;
        }
        let first = self.next_due();
        let mut kept = None;
        if let Some(delay) = self.end_delay(id) {
            due = due.min(delay.due);
            kept = (delay.priority >= priority).then_some(delay.counter);
            priority = priority.max(delay.priority);
        }
        let counter = kept.unwrap_or_else(|| self.count());
        if let Some(entry) = self.entries.get_mut(id) {
            entry.delay = Some(Delay { due, counter, priority });
            self.delayed.insert((due, counter), id);
        }
        if first.is_none_or(|first| due < first) { Added::Sooner } else { Added::Nothing }
    }

    fn end_delay(&mut self, id: Id) -> Option<Delay> {
        let delay = self.entries.get_mut(id)?.delay.take()?;
        self.delayed.remove(&(delay.due, delay.counter));
        Some(delay)
    }

    /// Gives what waits already the higher of two priorities, at the end of its new equals. False if it does not wait.
    fn raise(&mut self, id: Id, priority: i32) -> bool {
        let Some(entry) = self.entries.get(id) else { return false };
        let (ready, again) = (entry.ready, entry.again);
        let Some(old) = ready.or(again.map(|again| again.place)) else { return false };
        if priority <= old.priority() {
            return true;
        }
        let place = Place::new(priority, self.count());
        self.figures.raised(old.priority(), priority);
        if ready.is_some()
            && let Some(waiting) = self.ready.remove(old)
        {
            self.make_ready(id, place, waiting.since);
        } else if let (Some(again), Some(entry)) = (again, self.entries.get_mut(id)) {
            entry.again = Some(Again { place, ..again });
        }
        true
    }

    fn make_ready(&mut self, id: Id, place: Place, since: Instant) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.ready = Some(place);
            self.ready.insert(place, Waiting { id, since });
        }
    }
}

/// So much room for keys is kept when there are none.
const KEPT_KEYS: usize = 2048;
