//! From one stream of changes to many listeners, each at its own pace.
//!
//! Each listener has a queue of its own, so that a slow one does not delay others. A queue that grows past its high-water
//! mark keeps one entry per object from then on: the listener misses states in between, but never an object, and
//! the `old` it is told is what it saw last.

mod any;
mod event;
mod handler;
mod listener;
mod pending;
mod resync;
mod running;
#[cfg(test)]
mod tests;

pub use any::{AnyEvent, AnyRegistration};
pub use event::{Deleted, Event};
pub use handler::{EventHandler, Filtered, Handle};
pub use listener::{ListenerOptions, ListenerStatus, Registration, Subscription};

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube_core::Resource;
use tokio_util::task::TaskTracker;

use crate::object::Object;
use crate::store::Snapshot;
pub(crate) use resync::Zone;

use listener::{Listener, TURN};

/// All listeners of one kind.
///
/// Everything here is quick and never waits: it is called while the next change is held back.
#[derive(Debug)]
pub struct Fanout<K> {
    listeners: Vec<Arc<Listener<K>>>,
    /// The tasks of the handlers, for those who wait for their end.
    tasks: TaskTracker,
    next_id: u64,
    /// The first list has been handed out, so the initial objects of all listeners are known.
    synced: bool,
    /// What is told again, and when.
    zones: Vec<Zone>,
    /// The time between resyncs is counted.
    counting: bool,
}

impl<K: Resource + Send + Sync + 'static> Fanout<K> {
    /// Nobody listens yet.
    pub fn new() -> Self {
        Self::with_tasks(TaskTracker::new())
    }

    /// Nobody listens yet; the tasks of handlers are tracked here.
    pub fn with_tasks(tasks: TaskTracker) -> Self {
        let zones = vec![Zone::default()];
        Self { listeners: Vec::new(), tasks, next_id: 0, synced: false, zones, counting: false }
    }

    /// Tells listeners everything again, every so often; zero for never. Listeners may ask for other periods. To be
    /// set before listeners are added.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.zones = vec![Zone::everything(period)];
        self
    }

    /// Tells listeners the objects of each zone again at its own period, from now on.
    pub(crate) fn resync_zones(&mut self, zones: Vec<Zone>, now: Instant) {
        let mut before = std::mem::replace(&mut self.zones, zones);
        let mut kept = Vec::with_capacity(self.zones.len());
        for zone in &mut self.zones {
            let same = before.iter().position(|known| known.is_like(zone));
            kept.push(same);
            if let Some(at) = same {
                zone.clock = std::mem::take(&mut before[at].clock);
            }
        }
        for listener in &self.listeners {
            listener.join_again(&mut self.zones, &kept);
        }
        for (zone, known) in self.zones.iter_mut().zip(kept) {
            if self.counting && known.is_none() {
                zone.clock.start(now);
            }
        }
    }

    /// Starts to count the time between resyncs.
    pub fn start_resync(&mut self, now: Instant) {
        self.counting = true;
        self.zones.iter_mut().for_each(|zone| zone.clock.start(now));
    }

    /// When to call [`note_due`](Self::note_due) next; none for never.
    pub fn next_resync(&self) -> Option<Instant> {
        self.zones.iter().filter_map(|zone| zone.clock.next_check()).min()
    }

    /// Finds out which listeners are due; false if nobody is. They are told when [`tell_again`](Self::tell_again) is
    /// called.
    pub fn note_due(&mut self, now: Instant) -> bool {
        let mut any = false;
        for (at, zone) in self.zones.iter_mut().enumerate().filter(|(_, zone)| zone.clock.is_due(now)) {
            let started = zone.clock.last_check();
            for listener in &self.listeners {
                any |= listener.note_due(at, now, started);
            }
            zone.clock.checked(now);
        }
        any
    }

    /// Tells everything that is there to the listeners that were due.
    pub fn tell_again(&mut self, now: Instant, there: &Snapshot<K>) {
        for (at, zone) in self.zones.iter().enumerate() {
            for listener in self.listeners.iter().filter(|listener| listener.take_due(at)) {
                let again = there.iter().filter(|object| zone.covers(object.namespace()));
                let again =
                    again.map(|object| Event::Updated { old: object.clone(), new: object, resync: true });
                listener.push(&runs(again), now);
            }
        }
    }

    /// Adds a handler, and tells it of the objects that are there. It is called with one event after the other, on the threads that
    /// the runtime has for work that blocks.
    pub fn add_handler(
        &mut self,
        handler: impl Handle<K>,
        options: ListenerOptions,
        there: impl IntoIterator<Item = Object<K>>,
    ) -> Registration<K> {
        let listener = self.add(options, there);
        self.tasks.spawn(running::run(Arc::clone(&listener), handler));
        Registration::new(listener)
    }

    /// Adds somebody who asks for events instead of being called.
    pub fn subscribe(
        &mut self,
        options: ListenerOptions,
        there: impl IntoIterator<Item = Object<K>>,
    ) -> Subscription<K> {
        Subscription::new(self.add(options, there))
    }

    /// Tells everybody what has happened, in order.
    pub fn tell(&mut self, events: &[Event<K>]) {
        self.tell_all(events.iter().cloned());
    }

    /// The same with events that nobody else needs.
    pub(crate) fn tell_all(&mut self, events: impl IntoIterator<Item = Event<K>>) {
        if self.listeners.is_empty() {
            return;
        }
        let (runs, now) = (runs(events), tokio::time::Instant::now().into_std());
        self.listeners.retain(|listener| listener.push(&runs, now));
    }

    /// Says that the first list has been told in whole.
    pub fn initial_complete(&mut self) {
        self.synced = true;
        for listener in &self.listeners {
            listener.initial_complete();
        }
    }

    fn add(
        &mut self,
        options: ListenerOptions,
        there: impl IntoIterator<Item = Object<K>>,
    ) -> Arc<Listener<K>> {
        self.next_id += 1;
        let listener = Arc::new(Listener::new(self.next_id, options, &mut self.zones));
        let now = tokio::time::Instant::now().into_std();
        listener.push(&runs(there.into_iter().map(|object| Event::Added { object, initial: true })), now);
        if self.synced {
            listener.initial_complete();
        }
        if self.listeners.len() == self.listeners.capacity() {
            // Where nothing happens, those who come and go would pile up.
            self.listeners.retain(|listener| listener.is_open());
        }
        self.listeners.push(Arc::clone(&listener));
        listener
    }
}

/// Events in short pieces, which all listeners share: what one of them has looked at, the others need not decode, and
/// what all have heard of goes soon.
fn runs<K>(events: impl IntoIterator<Item = Event<K>>) -> Vec<Arc<[Event<K>]>> {
    let mut events = events.into_iter().peekable();
    let mut runs = Vec::new();
    while events.peek().is_some() {
        runs.push(events.by_ref().take(TURN).collect());
    }
    runs
}

impl<K> Fanout<K> {
    /// How each listener is doing.
    pub fn status(&self) -> Vec<ListenerStatus> {
        let open = self.listeners.iter().filter(|listener| listener.is_open());
        open.map(|listener| listener.status()).collect()
    }

    /// Ends all listeners: what waits is still told if `drain`, and nothing follows.
    pub fn close(&mut self, drain: bool) {
        for listener in self.listeners.drain(..) {
            listener.close(drain);
        }
    }
}

impl<K> Drop for Fanout<K> {
    fn drop(&mut self) {
        self.close(false);
    }
}

impl<K: Resource + Send + Sync + 'static> Default for Fanout<K> {
    fn default() -> Self {
        Self::new()
    }
}
