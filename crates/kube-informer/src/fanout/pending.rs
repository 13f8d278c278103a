//! The events that wait for one listener.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use super::{Deleted, Event};
use crate::object::Object;

/// The most bytes that a listener with a high-water mark queues in order. Only what the store may have replaced since is
/// counted: initial objects and resyncs are not.
const MAX_BYTES: usize = 256 << 20;

/// Events in order, until there are too many, or they hold too much memory; then one entry per object, in the order in which objects came first.
#[derive(Debug)]
pub(super) struct Pending<K> {
    /// None for ever so many.
    high_water: Option<usize>,
    state: State<K>,
    coalesced: u64,
}

#[derive(Debug)]
enum State<K> {
    Every {
        waiting: VecDeque<Run<K>>,
        /// How many events there are in them.
        len: usize,
        /// How many bytes they hold.
        bytes: usize,
    },
    Latest {
        order: VecDeque<Box<str>>,
        entries: HashMap<Box<str>, Entry<K>>,
    },
}

/// Events that were told together. All listeners share them.
#[derive(Debug)]
pub(super) struct Run<K> {
    /// Since when they wait.
    pub(super) since: Instant,
    pub(super) events: Arc<[Event<K>]>,
}

/// What the listener does not know yet about one object.
#[derive(Debug)]
struct Entry<K> {
    /// Since when the first of what is in it waits.
    since: Instant,
    /// What the listener saw last; none if it has not heard of the object.
    seen: Option<Object<K>>,
    now: Now<K>,
    initial: bool,
    resync: bool,
}

#[derive(Debug)]
enum Now<K> {
    There(Object<K>),
    Gone(Deleted<K>),
}

/// What became of an event that was put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Put {
    /// So many initial objects came and went, and the listener will never hear of them.
    pub(super) initial_cancelled: usize,
}

impl<K> Pending<K> {
    pub(super) fn new(high_water: Option<usize>) -> Self {
        Self { high_water, state: State::empty(), coalesced: 0 }
    }

    pub(super) fn len(&self) -> usize {
        match &self.state {
            State::Every { len, .. } => *len,
            State::Latest { entries, .. } => entries.len(),
        }
    }

    /// How many events were merged into others.
    pub(super) fn coalesced(&self) -> u64 {
        self.coalesced
    }

    pub(super) fn is_coalescing(&self) -> bool {
        matches!(self.state, State::Latest { .. })
    }

    /// Since when the first event waits.
    pub(super) fn oldest(&self) -> Option<Instant> {
        match &self.state {
            State::Every { waiting, .. } => waiting.front().map(|run| run.since),
            State::Latest { order, entries } => {
                order.iter().find_map(|key| entries.get(key)).map(|entry| entry.since)
            }
        }
    }

    pub(super) fn push(&mut self, events: &Arc<[Event<K>]>, now: Instant) -> Put {
        if let State::Every { waiting, len, bytes } = &mut self.state {
            let more = held(events);
            if self.high_water.is_none_or(|mark| *len + events.len() <= mark && *bytes + more <= MAX_BYTES) {
                *len += events.len();
                *bytes += more;
                waiting.push_back(Run { since: now, events: Arc::clone(events) });
                return Put { initial_cancelled: 0 };
            }
            let waiting = std::mem::take(waiting);
            self.state = State::Latest { order: VecDeque::new(), entries: HashMap::new() };
            let merged = waiting.into_iter().map(|run| self.merge_all(&run.events, run.since));
            let cancelled: usize = merged.sum();
            return Put { initial_cancelled: cancelled + self.merge_all(events, now) };
        }
        Put { initial_cancelled: self.merge_all(events, now) }
    }

    /// The next events, which were told together; none if nothing waits.
    pub(super) fn pop(&mut self) -> Option<Run<K>> {
        let State::Latest { order, entries } = &mut self.state else {
            let State::Every { waiting, len, bytes } = &mut self.state else { return None };
            let run = waiting.pop_front()?;
            *len = len.saturating_sub(run.events.len());
            *bytes = bytes.saturating_sub(held(&run.events));
            return Some(run);
        };
        while let Some(key) = order.pop_front() {
            let Some(entry) = entries.remove(&key) else { continue };
            if entries.is_empty() {
                self.state = State::empty();
            }
            return Some(Run { since: entry.since, events: [entry.into_event()].into() });
        }
        self.state = State::empty();
        None
    }

    pub(super) fn clear(&mut self) {
        self.state = State::empty();
    }

    /// Puts events into the entries of their objects; returns how many initial objects vanished with them.
    fn merge_all(&mut self, events: &[Event<K>], since: Instant) -> usize {
        events.iter().map(|event| self.merge(event.clone(), since)).sum()
    }

    /// Puts an event into the entry of its object; returns how many initial objects vanished with it.
    fn merge(&mut self, event: Event<K>, since: Instant) -> usize {
        let State::Latest { order, entries } = &mut self.state else { return 0 };
        let key: Box<str> = event.object().key().into();
        let Some(entry) = entries.get_mut(&key) else {
            order.push_back(key.clone());
            entries.insert(key, Entry::of(event, since));
            return 0;
        };
        self.coalesced += 1;
        // What comes out of the entry is what was in it before, or a change of that.
        let merged = usize::from(event.is_initial());
        entry.resync &= matches!(event, Event::Updated { resync: true, .. });
        entry.now = match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => Now::There(object),
            Event::Deleted(gone) => Now::Gone(gone),
        };
        if entry.seen.is_none() && matches!(entry.now, Now::Gone(_)) {
            // The listener never heard of it, and need not. Its place in the order is passed over later.
            let initial = usize::from(entry.initial);
            entries.remove(&key);
            forget_empty_places(order, entries);
            return merged + initial;
        }
        merged
    }
}

/// How many bytes events hold that the store may have replaced.
fn held<K>(events: &[Event<K>]) -> usize {
    let held = |event: &Event<K>| match event {
        Event::Added { initial: true, .. } | Event::Updated { resync: true, .. } => 0,
        event => event.object().bytes(),
    };
    events.iter().map(held).sum()
}

impl<K> State<K> {
    fn empty() -> Self {
        State::Every { waiting: VecDeque::new(), len: 0, bytes: 0 }
    }
}

/// Takes places out of the order that lead nowhere, once there are more of them than others: objects that come and go
/// while nobody listens must not pile up.
fn forget_empty_places<K>(order: &mut VecDeque<Box<str>>, entries: &HashMap<Box<str>, Entry<K>>) {
    /// Below this it is not worth the effort.
    const FEW: usize = 64;
    if order.len() < FEW + 2 * entries.len() {
        return;
    }
    let mut seen = HashSet::new();
    order.retain(|key| entries.contains_key(key) && seen.insert(key.clone()));
}

impl<K> Entry<K> {
    fn of(event: Event<K>, since: Instant) -> Self {
        match event {
            Event::Added { object, initial } => {
                Self { since, seen: None, now: Now::There(object), initial, resync: false }
            }
            Event::Updated { old, new, resync } => {
                Self { since, seen: Some(old), now: Now::There(new), initial: false, resync }
            }
            Event::Deleted(gone) => Self {
                since,
                seen: Some(gone.before().clone()),
                now: Now::Gone(gone),
                initial: false,
                resync: false,
            },
        }
    }

    fn into_event(self) -> Event<K> {
        match (self.seen, self.now) {
            (None, Now::There(object)) => Event::Added { object, initial: self.initial },
            (Some(old), Now::There(new)) => Event::Updated { old, new, resync: self.resync },
            (Some(seen), Now::Gone(gone)) => Event::Deleted(gone.after(seen)),
            (None, Now::Gone(gone)) => Event::Deleted(gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::object::DecodeContext;

    #[test]
    fn objects_that_come_and_go_while_nobody_listens_leave_nothing_behind() {
        let object = |name: &str| {
            let object = serde_json::json!({"metadata": {"name": name}});
            Object::<ConfigMap>::new(serde_json::from_value(object).unwrap())
        };
        let now = tokio::time::Instant::now().into_std();
        let mut pending = Pending::new(Some(1));
        pending.push(&[Event::Added { object: object("stays"), initial: false }].into(), now);
        for round in 0..10_000 {
            let name = format!("blink-{}", round % 7);
            pending.push(&[Event::Added { object: object(&name), initial: false }].into(), now);
            pending.push(&[Event::Deleted(Deleted::new(object(&name)))].into(), now);
        }
        assert_eq!(pending.len(), 1);
        let State::Latest { order, .. } = &pending.state else { panic!("it coalesces") };
        assert!(order.len() < 200, "{} places", order.len());
        assert_eq!(pending.pop().unwrap().events[0].object().key(), "stays");
        assert!(pending.pop().is_none() && !pending.is_coalescing());
    }

    #[test]
    fn events_that_hold_much_memory_are_merged_though_they_are_few() {
        let codec = Arc::new(DecodeContext::new(|_, _| Ok(Box::default()), None));
        let large = Object::<ConfigMap>::packed_at_rest(Box::default(), vec![0; 3 << 19].into(), &codec);
        let updated = |resync| Event::Updated { old: large.clone(), new: large.clone(), resync };
        let now = tokio::time::Instant::now().into_std();
        let pending = |high_water, event: Event<ConfigMap>| {
            let mut pending = Pending::new(high_water);
            for _ in 0..1_000 {
                pending.push(&[event.clone()].into(), now);
            }
            pending
        };
        let mut merged = pending(Some(65_536), updated(false));
        assert!(merged.is_coalescing() && merged.len() == 1, "{} events", merged.len());
        assert!(merged.pop().is_some() && merged.pop().is_none());
        for _ in 0..10 {
            merged.push(&[updated(false)].into(), now);
        }
        assert_eq!(merged.len(), 10, "what has been told holds nothing any more");
        assert_eq!(pending(None, updated(false)).len(), 1_000, "every event, however much memory they need");
        assert_eq!(pending(Some(65_536), updated(true)).len(), 1_000, "the store has these");
    }
}
