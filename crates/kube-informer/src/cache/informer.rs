//! The informer of one kind of a cache, heard as one type.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::{Stream, StreamExt};
use tokio::sync::watch;

use super::CacheError;
use super::entry::Entry;
use crate::fanout::{Deleted, Event, Handle, ListenerOptions, ListenerStatus, Registration, Subscription};
use crate::informer::InformerStatus;
use crate::object::{Lens, Object, Raw};
use crate::store::Version;

/// The informer of one kind of a cache. Who holds it keeps the kind from being stopped as idle.
pub struct CacheInformer<K> {
    entry: Arc<Entry>,
    lens: Arc<Lens<K>>,
}

impl<K: Send + Sync + 'static> CacheInformer<K> {
    pub(super) fn new(entry: Arc<Entry>, lens: Arc<Lens<K>>) -> Self {
        Self { entry, lens }
    }

    /// Adds a handler; see [`SharedInformer::add_event_handler`](crate::SharedInformer::add_event_handler). An object
    /// that comes not to fit the type is deleted for it, and one that comes to fit is added.
    pub fn add_event_handler(&self, handler: impl Handle<K>) -> Result<CacheRegistration, CacheError> {
        self.add_event_handler_with(handler, ListenerOptions::new())
    }

    /// Adds a handler that wants to be told in a certain way.
    pub fn add_event_handler_with(
        &self,
        handler: impl Handle<K>,
        options: ListenerOptions,
    ) -> Result<CacheRegistration, CacheError> {
        let seeing = Seeing { lens: Arc::clone(&self.lens), handler };
        Ok(CacheRegistration(self.entry.informer().add_event_handler_with(seeing, options)?))
    }

    /// The same events, as a stream.
    pub fn subscribe(&self) -> Result<CacheSubscription<K>, CacheError> {
        let events = self.entry.informer().subscribe()?;
        Ok(CacheSubscription { events, lens: Arc::clone(&self.lens) })
    }

    /// What it is an informer of: `deployments.apps`.
    pub fn resource(&self) -> String {
        self.entry.informer().resource()
    }

    /// The copy has held everything that the server had at some moment after the start.
    pub fn has_synced(&self) -> bool {
        self.entry.informer().has_synced()
    }

    /// It has been stopped: by whoever removed the kind, or the cache.
    pub fn is_stopped(&self) -> bool {
        self.entry.informer().is_stopped()
    }

    /// How it is doing.
    pub fn status(&self) -> InformerStatus {
        self.entry.informer().status()
    }

    /// Changes of the status; the listeners, and what is counted by the byte, aside.
    pub fn watch_status(&self) -> watch::Receiver<InformerStatus> {
        self.entry.informer().watch_status()
    }

    /// The version up to which the copy is current; none before the first list.
    pub fn resource_version(&self) -> Option<Version> {
        self.entry.informer().store().resource_version()
    }

    /// The objects that do not fit the type, and why.
    pub fn unfit(&self) -> Vec<(String, String)> {
        let objects = self.entry.informer().store().list().into_iter();
        let unfit = objects.filter_map(|object| {
            let error = object.seen_as(&self.lens).err()?;
            Some((object.key().to_owned(), error.why))
        });
        unfit.collect()
    }
}

/// A handler of one type among the listeners of all types.
struct Seeing<K, H> {
    lens: Arc<Lens<K>>,
    handler: H,
}

impl<K: Send + Sync + 'static, H: Handle<K>> Handle<Raw> for Seeing<K, H> {
    fn handle(&mut self, event: Event<Raw>) {
        if let Some(event) = seen(&self.lens, event) {
            self.handler.handle(event);
        }
    }
}

/// An event as a type; none if it means nothing for it.
fn seen<K: Send + Sync + 'static>(lens: &Arc<Lens<K>>, event: Event<Raw>) -> Option<Event<K>> {
    let see = |object: &Object<Raw>| object.seen_as(lens).ok();
    match event {
        Event::Added { object, initial } => Some(Event::Added { object: see(&object)?, initial }),
        // Nothing has changed for those who are content with metadata.
        Event::Updated { old, new, .. }
            if !lens.is_whole() && old.is_metadata_only() && !new.is_metadata_only() =>
        {
            let same = old.is_same_version(&new);
            let (old, new) = (see(&old)?, see(&new)?);
            (!same).then_some(Event::Updated { old, new, resync: false })
        }
        Event::Updated { old, new, resync } => match (see(&old), see(&new)) {
            (Some(old), Some(new)) => Some(Event::Updated { old, new, resync }),
            (None, Some(object)) => Some(Event::Added { object, initial: false }),
            (Some(old), None) => Some(Event::Deleted(Deleted::unseen(old))),
            (None, None) => None,
        },
        Event::Deleted(gone) => {
            let before = see(gone.before())?;
            Some(Event::Deleted(match see(gone.object()) {
                Some(object) if !gone.final_state_unknown() => Deleted::new(object).after(before),
                _ => Deleted::unseen(before),
            }))
        }
    }
}

/// A handler that was added to the informer of a cache.
#[derive(Debug)]
pub struct CacheRegistration(Registration<Raw>);

impl CacheRegistration {
    /// The handler has heard of everything that was there from the start.
    pub fn has_synced(&self) -> bool {
        self.0.has_synced()
    }

    /// Waits until the handler [has synced](Self::has_synced); false if it was removed before.
    pub async fn synced(&self) -> bool {
        self.0.synced().await
    }

    /// Removes the handler: it finishes the call it is in, and no other follows.
    pub fn remove(&self) {
        self.0.remove();
    }

    /// Removes the handler when it has heard of everything that waits for it.
    pub fn drain(&self) {
        self.0.drain();
    }

    /// Waits until the handler will be called no more.
    pub async fn ended(&self) {
        self.0.ended().await;
    }

    /// How it is doing.
    pub fn status(&self) -> ListenerStatus {
        self.0.status()
    }
}

/// The events of a kind of a cache, as a stream. Ends when the kind is stopped.
#[must_use = "a stream does nothing unless it is polled"]
pub struct CacheSubscription<K> {
    events: Subscription<Raw>,
    lens: Arc<Lens<K>>,
}

impl<K: Send + Sync + 'static> Stream for CacheSubscription<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        loop {
            let Some(event) = ready!(self.events.poll_next_unpin(context)) else { return Poll::Ready(None) };
            if let Some(event) = seen(&self.lens, event) {
                return Poll::Ready(Some(event));
            }
        }
    }
}

impl<K> fmt::Debug for CacheSubscription<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheSubscription").field(&self.events).finish()
    }
}

impl<K> Clone for CacheInformer<K> {
    fn clone(&self) -> Self {
        Self { entry: Arc::clone(&self.entry), lens: Arc::clone(&self.lens) }
    }
}

impl<K> fmt::Debug for CacheInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheInformer").field(self.entry.informer()).finish()
    }
}
