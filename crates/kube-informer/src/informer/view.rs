//! A kind that is followed already, followed as a type: without a watch, and without a copy of its objects.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use kube_wire::{DecodeError, Event as WireEvent, ListMeta, ObjectKey};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{InformerError, InformerStatus, SharedInformer, Trouble};
use crate::fanout::{Event, Subscription};
use crate::object::{Lens, Object, Raw};
use crate::panics;
use crate::reflector::{Config, FAR, Failure, ListRequest, WatchRequest};
use crate::source::{ListPart, ListStream, ListWatch, Scope, SourceError, Want, WatchPart, WatchStream};
use crate::store::{Progress, Snapshot, Version};

/// So many objects are decoded before others get their turn.
const TURN: usize = 64;

/// A source of what another informer has.
pub(super) struct View<K> {
    of: SharedInformer<Raw>,
    lens: Arc<Lens<K>>,
    changes: Arc<Mutex<Option<ListChanges>>>,
}

/// The changes since a list, which the next watch takes.
struct ListChanges {
    subscription: Subscription<Raw>,
    /// The generation of the list.
    generation: u64,
}

impl<K> View<K> {
    pub(super) fn new(of: SharedInformer<Raw>, lens: Arc<Lens<K>>) -> Self {
        Self { of, lens, changes: Arc::default() }
    }
}

/// How to follow what is in the same program: it does not break off, and has a reason to be silent.
pub(super) fn config() -> Config {
    Config {
        initial_events: false,
        list_silence: FAR,
        list_timeout: FAR,
        silence: FAR,
        watch_timeout: FAR,
        ..Config::default()
    }
}

impl<K: Send + Sync + 'static> ListWatch<K> for View<K> {
    fn scope(&self) -> Scope {
        self.of.scope().clone()
    }

    fn list<'a>(
        &'a self,
        _: &'a ListRequest,
        _: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<ListStream<K>, SourceError>> {
        // Whoever starts the one wants the other.
        self.of.start();
        let (of, lens, slot) = (self.of.clone(), Arc::clone(&self.lens), Arc::clone(&self.changes));
        let troubles = until_synced(of.clone());
        let troubles = troubles.map(|trouble| {
            let Trouble { error, list_is_next, .. } = trouble?;
            Ok(ListPart::Trouble { error, passing: list_is_next })
        });
        let there = stream::once(async move {
            match of.changes_from_now() {
                Ok((there, changes)) => {
                    *slot.lock() =
                        Some(ListChanges { subscription: changes, generation: there.generation() });
                    items(lens, &there)
                }
                Err(error) => stream::iter([Err(gone(&error))]).boxed(),
            }
        });
        futures::future::ready(Ok(troubles.chain(there.flatten()).boxed())).boxed()
    }

    fn watch<'a>(
        &'a self,
        _: &'a WatchRequest,
        _: &'a Arc<Want<K>>,
    ) -> BoxFuture<'a, Result<WatchStream<K>, SourceError>> {
        let changes = self.changes.lock().take();
        let (of, lens) = (self.of.clone(), Arc::clone(&self.lens));
        let opened = match changes {
            Some(changes) => {
                let changes = changes_of(of, changes);
                Ok(changes.map(move |change| Ok(seen(&lens, change))).boxed())
            }
            // What has changed since the last list, nobody knows any more.
            None => Err(SourceError { failure: Failure::Expired, ..SourceError::silent("a change") }),
        };
        futures::future::ready(opened).boxed()
    }
}

/// The informer is of no use any more.
fn gone(error: &InformerError) -> SourceError {
    SourceError::trouble(error.to_string())
}

/// What is wrong, as long as not everything has arrived.
fn until_synced(of: SharedInformer<Raw>) -> BoxStream<'static, Result<Trouble, SourceError>> {
    let status = of.watch_status();
    let waiting = stream::unfold((of, status, None), async |(of, mut status, known)| {
        loop {
            let (synced, trouble) = {
                let status = status.borrow_and_update();
                (status.synced, status.trouble.clone())
            };
            if of.is_stopped() {
                return Some((Err(gone(&of.stopped_error())), (of, status, known)));
            }
            if synced {
                return None;
            }
            if let Some(trouble) = trouble.filter(|trouble| known != Some(mark(trouble))) {
                let known = Some(mark(&trouble));
                return Some((Ok(trouble), (of, status, known)));
            }
            // The sender is in the informer, which is held here.
            let _ = status.changed().await;
        }
    });
    waiting.boxed()
}

/// Tells one trouble from the next.
fn mark(trouble: &Trouble) -> (Instant, u64) {
    (trouble.since, trouble.times)
}

/// Everything that is there, its epoch, and the end.
fn items<K: Send + Sync + 'static>(lens: Arc<Lens<K>>, there: &Snapshot<Raw>) -> ListStream<K> {
    let objects: Vec<Object<Raw>> = there.iter().collect();
    let items = stream::iter(objects.into_iter().enumerate()).then(move |(number, object)| {
        let lens = Arc::clone(&lens);
        async move {
            if number % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
            Ok(see(&lens, &object).map_or_else(ListPart::Undecodable, ListPart::Item))
        }
    });
    let mut end = ListMeta::default();
    end.resource_version = there.resource_version().map(Version::to_string).unwrap_or_default();
    let epoch = ListPart::Epoch { epoch: there.epoch(), generation: there.generation() };
    stream::iter([Ok(epoch)]).chain(items).chain(stream::iter([Ok(ListPart::End(end))])).boxed()
}

/// An object as a type; an error says which it is.
fn see<K: Send + Sync + 'static>(
    lens: &Arc<Lens<K>>,
    object: &Object<Raw>,
) -> Result<Object<K>, DecodeError> {
    let named = |error: DecodeError| DecodeError { key: Some(key(object, true)), ..error };
    let seen = catch_unwind(AssertUnwindSafe(|| object.seen_as(lens)));
    seen.unwrap_or_else(|panic| Err(DecodeError::panicked(None, panics::decoding(panic)))).map_err(named)
}

fn key(object: &Object<Raw>, with_version: bool) -> Box<ObjectKey> {
    let version = if with_version { object.resource_version() } else { "" };
    let [namespace, name, uid, version] =
        [object.namespace(), object.name(), object.uid(), version].map(str::to_owned);
    Box::new(ObjectKey::new(namespace, name, uid, version))
}

/// What a view is told, whatever its type.
enum Change {
    Event(Event<Raw>),
    /// Everything up to this version has been told.
    Reached(Version),
    Trouble(Trouble),
}

/// What changes from now on, as long as the generation lasts.
fn changes_of(of: SharedInformer<Raw>, changes: ListChanges) -> BoxStream<'static, Change> {
    let ListChanges { subscription: changes, generation } = changes;
    let mut status = of.watch_status();
    // What is wrong already is to be told.
    status.mark_changed();
    let progress = of.store().watch_changes();
    let told = String::new();
    let following =
        Following { status, progress, generation, of, changes, told, behind: true, trouble: None };
    stream::unfold(following, async |mut following| Some((following.next().await?, following))).boxed()
}

struct Following {
    of: SharedInformer<Raw>,
    changes: Subscription<Raw>,
    status: watch::Receiver<InformerStatus>,
    progress: watch::Receiver<Progress>,
    /// The generation of the objects that are told.
    generation: u64,
    /// The version that was told last.
    told: String,
    /// The copy may have come further than what was told.
    behind: bool,
    /// What is wrong, as far as it was told.
    trouble: Option<(Instant, u64)>,
}

impl Following {
    /// The next change; none when the informer has been stopped, or its objects may have other content at the same version: then
    /// everything has to be listed.
    async fn next(&mut self) -> Option<Change> {
        loop {
            if self.progress.borrow().generation != self.generation {
                return None;
            }
            if let Some(event) = self.changes.next().now_or_never() {
                return self.event(event?);
            }
            if self.behind
                && let Some(version) = self.of.version_told(&self.changes)
            {
                self.behind = false;
                if version.as_str() != self.told {
                    version.as_str().clone_into(&mut self.told);
                    return Some(Change::Reached(version));
                }
            }
            tokio::select! {
                biased;
                event = self.changes.next() => return self.event(event?),
                changed = self.progress.changed() => {
                    changed.ok()?;
                    self.behind = true;
                }
                changed = self.status.changed() => {
                    changed.ok()?;
                    if let Some(trouble) = self.trouble() {
                        return Some(Change::Trouble(trouble));
                    }
                }
            }
        }
    }

    /// An event as a change; none if it belongs to another generation.
    fn event(&mut self, event: Event<Raw>) -> Option<Change> {
        if self.progress.borrow().generation != self.generation {
            return None;
        }
        event.object().resource_version().clone_into(&mut self.told);
        self.behind = true;
        Some(Change::Event(event))
    }

    /// What is wrong, if it was not told.
    fn trouble(&mut self) -> Option<Trouble> {
        let trouble = self.status.borrow_and_update().trouble.clone();
        let marked = trouble.as_ref().map(mark);
        if self.trouble.is_some() && marked.is_none() {
            // It is over: whatever is told next says so.
            (self.behind, self.told) = (true, String::new());
        }
        let is_new = self.trouble != marked;
        self.trouble = marked;
        trouble.filter(|_| is_new)
    }
}

/// A change as a type.
fn seen<K: Send + Sync + 'static>(lens: &Arc<Lens<K>>, change: Change) -> WatchPart<K> {
    let part = |name: &str, object: &Object<Raw>, make: fn(Object<K>) -> WireEvent<Object<K>>| match see(
        lens, object,
    ) {
        Ok(object) => WatchPart::Event(make(object)),
        Err(error) => WatchPart::Undecodable { event: name.to_owned(), error },
    };
    match change {
        Change::Event(Event::Added { object, .. }) => part("ADDED", &object, WireEvent::Added),
        Change::Event(Event::Updated { new, .. }) => part("MODIFIED", &new, WireEvent::Modified),
        // Nobody saw it go, so nobody is told in which state it went, nor at which version.
        Change::Event(Event::Deleted(lost)) if lost.final_state_unknown() => {
            let error = DecodeError::new(Some(key(lost.object(), false)), "it is gone");
            WatchPart::Undecodable { event: "DELETED".to_owned(), error }
        }
        Change::Event(Event::Deleted(lost)) => part("DELETED", lost.object(), WireEvent::Deleted),
        Change::Reached(version) => {
            let resource_version = version.to_string();
            WatchPart::Event(WireEvent::Bookmark { resource_version, initial_events_end: false })
        }
        Change::Trouble(Trouble { error, list_is_next, .. }) => {
            WatchPart::Trouble { error, passing: list_is_next }
        }
    }
}
