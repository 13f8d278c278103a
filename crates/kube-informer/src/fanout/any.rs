//! What a listener hears that does not know the type, and how it is removed.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_core::Resource;

use super::{Event, ListenerStatus, Registration};
use crate::object::{AnyObject, Lenses, Object, Raw, Unnamed};

/// A change to an object of a type that is not known here: an [`Event`] without its type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyEvent {
    /// The object is new to the listener.
    Added {
        /// The object.
        object: AnyObject,
        /// It was there when the listener or the informer started.
        initial: bool,
    },
    /// The object has changed.
    Updated {
        /// What the listener saw last.
        old: AnyObject,
        /// What is there now.
        new: AnyObject,
        /// Nothing has changed: it is told again because the listener asked for it.
        resync: bool,
    },
    /// The object is gone.
    Deleted {
        /// The object, in its last known state.
        object: AnyObject,
        /// Nobody saw it go: it may have changed before it went.
        final_state_unknown: bool,
    },
}

impl AnyEvent {
    /// The object that the event is about, as it is or was last.
    pub fn object(&self) -> &AnyObject {
        match self {
            AnyEvent::Added { object, .. } | AnyEvent::Deleted { object, .. } => object,
            AnyEvent::Updated { new, .. } => new,
        }
    }
}

impl<K: Resource + Send + Sync + 'static> From<Event<K>> for AnyEvent {
    fn from(event: Event<K>) -> Self {
        match event {
            Event::Added { object, initial } => AnyEvent::Added { object: object.erase(), initial },
            Event::Updated { old, new, resync } => {
                AnyEvent::Updated { old: old.erase(), new: new.erase(), resync }
            }
            Event::Deleted(gone) => AnyEvent::Deleted {
                object: Object::clone(gone.object()).erase(),
                final_state_unknown: gone.final_state_unknown(),
            },
        }
    }
}

impl AnyEvent {
    /// An event about an object whose type nobody has named.
    pub(crate) fn unnamed(event: Event<Raw>, lenses: &Arc<Lenses>) -> Self {
        let erase = |object| Unnamed::erase(object, lenses);
        match event {
            Event::Added { object, initial } => AnyEvent::Added { object: erase(object), initial },
            Event::Updated { old, new, resync } => {
                AnyEvent::Updated { old: erase(old), new: erase(new), resync }
            }
            Event::Deleted(gone) => AnyEvent::Deleted {
                object: erase(gone.object().clone()),
                final_state_unknown: gone.final_state_unknown(),
            },
        }
    }
}

/// A handler of [`AnyEvent`]s that was added: a [`Registration`] without its type.
#[derive(Clone)]
pub struct AnyRegistration(Arc<dyn Registered>);

impl AnyRegistration {
    /// The handler has been called with every object that was there when it or the informer started.
    pub fn has_synced(&self) -> bool {
        self.0.status().synced
    }

    /// Waits until the handler [has synced](Self::has_synced); false if it ended before.
    pub async fn synced(&self) -> bool {
        self.0.synced().await
    }

    /// Removes the handler at once: what waits is dropped. A call that is under way is finished.
    pub fn remove(&self) {
        self.0.close(false);
    }

    /// Removes the handler after what waits has been told.
    pub fn drain(&self) {
        self.0.close(true);
    }

    /// Waits until the handler's task has ended, after it was removed or drained. Not to be awaited by the handler.
    pub async fn ended(&self) {
        self.0.ended().await;
    }

    /// How the handler is doing.
    pub fn status(&self) -> ListenerStatus {
        self.0.status()
    }
}

impl<K: Resource + Send + Sync + 'static> From<Registration<K>> for AnyRegistration {
    fn from(registration: Registration<K>) -> Self {
        Self(Arc::new(registration))
    }
}

impl fmt::Debug for AnyRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyRegistration").field(&self.status()).finish()
    }
}

trait Registered: Send + Sync {
    fn synced(&self) -> BoxFuture<'_, bool>;
    fn ended(&self) -> BoxFuture<'_, ()>;
    fn close(&self, drain: bool);
    fn status(&self) -> ListenerStatus;
}

impl<K: Send + Sync + 'static> Registered for Registration<K> {
    fn synced(&self) -> BoxFuture<'_, bool> {
        Registration::synced(self).boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        Registration::ended(self).boxed()
    }

    fn close(&self, drain: bool) {
        if drain { self.drain() } else { self.remove() }
    }

    fn status(&self) -> ListenerStatus {
        Registration::status(self)
    }
}
