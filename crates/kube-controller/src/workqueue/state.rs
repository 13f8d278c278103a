//! The rules of a queue: what waits, what is delayed, what is being worked on. No waiting happens here.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::figures::{Figures, Observation};
use super::ready::{Place, Ready};
use super::running::Seat;
use super::slab::{Hash, Id, Keyed, Slab};
use super::{Key, Rules};

/// A delay that is longer than this is as long as this: thirty years.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// What a queue knows.
#[derive(Debug)]
pub(super) struct State<T> {
    rules: Rules,
    /// After so long a key has waited too long.
    patience: Duration,
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
    hash: Hash,
    waits: Waits,
    /// Its place in the order, if it waits.
    place: Place,
    /// Since when it waits.
    since: Instant,
    /// Few have one.
    delay: Option<Box<Delay>>,
    working: Option<Seat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    No,
    /// It can be handed out.
    Ready,
    /// It was added while somebody works on it.
    Again,
}

impl<T> Keyed<T> for Entry<T> {
    fn key(&self) -> &T {
        &self.item
    }

    fn hash(&self) -> Hash {
        self.hash
    }
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

impl<T: Key> State<T> {
    pub(super) fn new(rules: Rules, patience: Duration, shown: bool) -> Self {
        Self {
            rules,
            patience,
            entries: Slab::new(),
            ready: Ready::default(),
            delayed: BTreeMap::new(),
            again: 0,
            counter: 0,
            figures: Figures::new(shown),
            closed: false,
            dropped: Vec::new(),
        }
    }

    /// Adds a key. Returns false if the queue is closed.
    pub(super) fn add(&mut self, now: Instant, item: T, priority: i32, delay: Option<Duration>) -> bool {
        if self.closed {
            return false;
        }
        if delay.is_some() {
            self.figures.retried();
        }
        self.promote(now);
        let id = self.entries.id_of(item, |item, hash| Entry {
            item,
            hash,
            waits: Waits::No,
            place: Place::default(),
            since: now,
            delay: None,
            working: None,
        });
        match delay.filter(|delay| !delay.is_zero()) {
            None => self.add_now(now, id, priority),
            Some(delay) => self.add_delayed(now + delay.min(FAR), id, priority),
        }
        true
    }

    pub(super) fn take(&mut self, now: Instant) -> Take<T> {
        self.promote(now);
        let Self { entries, ready, patience, .. } = self;
        let overdue = |entry: &Entry<T>| now.saturating_duration_since(entry.since) >= *patience;
        let next = ready.pop(is_there(entries), |id| entries.get(id).is_some_and(overdue));
        let Some((id, entry)) = next.and_then(|id| Some((id, entries.get_mut(id)?))) else {
            return if self.has_ended() { Take::Closed } else { Take::Wait(self.next_due()) };
        };
        entry.waits = Waits::No;
        let priority = entry.place.priority();
        entry.working = Some(self.figures.taken(id, priority, entry.since, now));
        Take::Work(Taken { id, item: entry.item.clone(), priority })
    }

    /// Somebody is done with what was taken.
    pub(super) fn done(&mut self, now: Instant, id: Id) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let seat = entry.working.take();
        if let Some(moved) = seat.and_then(|seat| self.figures.finished(seat, now))
            && let Some(entry) = self.entries.get_mut(moved)
        {
            entry.working = seat;
        }
        let Some(entry) = self.entries.get_mut(id) else { return };
        if entry.waits != Waits::Again {
            return self.forget_if_unused(id);
        }
        let (mut place, since) = (entry.place, entry.since);
        self.again -= 1;
        if self.rules == Rules::Layered {
            place = Place::new(place.priority(), self.count());
        }
        self.make_ready(id, place, since);
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
        let mut waiting = self.ready.drain(is_there(&self.entries));
        waiting.extend(self.figures.running().ids());
        for id in waiting {
            let Some(entry) = self.entries.get_mut(id).filter(|entry| entry.waits != Waits::No) else {
                continue;
            };
            self.again -= usize::from(entry.waits == Waits::Again);
            entry.waits = Waits::No;
            if entry.delay.is_none() {
                dropped.push(entry.item.clone());
            }
            self.figures.dropped(entry.place.priority());
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
        self.ready.is_empty() && self.figures.running().len() == 0
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Nothing can be handed out any more.
    pub(super) fn has_ended(&self) -> bool {
        self.closed && self.again == 0 && self.ready.is_empty() && self.delayed.is_empty()
    }

    /// When the first delay ends.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.first_key_value().map(|((due, _), _)| *due)
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

    fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn forget_if_unused(&mut self, id: Id) {
        let used =
            |entry: &Entry<T>| entry.waits != Waits::No || entry.delay.is_some() || entry.working.is_some();
        if self.entries.get(id).is_some_and(|entry| !used(entry)) {
            self.entries.remove(id);
        }
    }

    /// Those whose delay is over wait from now on.
    fn promote(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry() {
            let (due, _) = *first.key();
            if due > now {
                break;
            }
            let id = first.remove();
            let Some(delay) = self.entries.get_mut(id).and_then(|entry| entry.delay.take()) else { continue };
            self.add_now(due, id, delay.priority);
        }
    }

    fn add_now(&mut self, now: Instant, id: Id, mut priority: i32) {
        let mut kept = None;
        if self.rules == Rules::Merged
            && let Some(delay) = self.end_delay(id)
        {
            // It keeps its place among equals, unless it has become more important.
            kept = (delay.priority >= priority).then_some(delay.counter);
            priority = priority.max(delay.priority);
        }
        if self.raise(id, priority) {
            return;
        }
        let counter = kept.unwrap_or_else(|| self.count());
        let place = Place::new(priority, counter);
        self.figures.added(priority);
        let Some(entry) = self.entries.get_mut(id) else { return };
        if entry.working.is_some() {
            (entry.waits, entry.place, entry.since) = (Waits::Again, place, now);
            self.again += 1;
            return;
        }
        self.make_ready(id, place, now);
    }

    fn add_delayed(&mut self, mut due: Instant, id: Id, mut priority: i32) {
        if self.rules == Rules::Merged && self.raise(id, priority) {
            return;
        }
        let mut kept = None;
        if let Some(delay) = self.end_delay(id) {
            due = due.min(delay.due);
            kept = (delay.priority >= priority).then_some(delay.counter);
            priority = priority.max(delay.priority);
        }
        let counter = kept.unwrap_or_else(|| self.count());
        if let Some(entry) = self.entries.get_mut(id) {
            entry.delay = Some(Box::new(Delay { due, counter, priority }));
            self.delayed.insert((due, counter), id);
        }
    }

    fn end_delay(&mut self, id: Id) -> Option<Delay> {
        let delay = self.entries.get_mut(id)?.delay.take()?;
        self.delayed.remove(&(delay.due, delay.counter));
        Some(*delay)
    }

    /// Gives what waits already the higher of two priorities, at the end of its new equals. False if it does not wait.
    fn raise(&mut self, id: Id, priority: i32) -> bool {
        let Some(entry) = self.entries.get_mut(id).filter(|entry| entry.waits != Waits::No) else {
            return false;
        };
        let (old, since, waits) = (entry.place.priority(), entry.since, entry.waits);
        if priority <= old {
            return true;
        }
        self.counter += 1;
        entry.place = Place::new(priority, self.counter);
        let place = entry.place;
        self.figures.raised(old, priority);
        if waits == Waits::Ready {
            self.ready.left();
            self.make_ready(id, place, since);
        }
        true
    }

    fn make_ready(&mut self, id: Id, place: Place, since: Instant) {
        if let Some(entry) = self.entries.get_mut(id) {
            (entry.waits, entry.place, entry.since) = (Waits::Ready, place, since);
            self.ready.insert(place, id, is_there(&self.entries));
        }
    }
}

/// Tells whether a key still waits at the place where it is found.
fn is_there<T>(entries: &Slab<Entry<T>>) -> impl Fn(Id, u64) -> bool + '_ {
    |id, counter| {
        entries.get(id).is_some_and(|entry| entry.waits == Waits::Ready && entry.place.counter() == counter)
    }
}
