//! A kind that a controller listens to.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_core::Resource;
use kube_informer::cache::{CacheInformer, CacheRegistration};
use kube_informer::fanout::{AnyRegistration, Event, ListenerOptions, ListenerStatus};
use kube_informer::{Object, SharedInformer};

use super::predicate::Predicate;

/// A kind that a controller listens to: an informer, and which of its events matter.
///
/// A reference to a [`SharedInformer`], or to the informer of a [`Cache`](kube_informer::Cache), is one without
/// predicates.
#[must_use = "a watch does nothing until it is given to a controller"]
pub struct Watch<K> {
    pub(super) informer: Arc<dyn Informer<K>>,
    pub(super) filters: Vec<Predicate<K>>,
}

impl<K: Resource + Send + Sync + 'static> Watch<K> {
    /// All events of an informer.
    pub fn new(informer: impl IntoWatch<Kind = K>) -> Self {
        informer.into_watch()
    }

    /// Only events that the predicate accepts, and all predicates that were given before.
    pub fn filter(mut self, predicate: Predicate<K>) -> Self {
        self.filters.push(predicate);
        self
    }

    /// Only events of objects that the function accepts, as they are now or were last.
    pub fn filter_objects(self, accepts: impl Fn(&Object<K>) -> bool + Send + Sync + 'static) -> Self {
        self.filter(Predicate::of_object(accepts))
    }

    /// Only events that the function accepts.
    pub fn filter_events(self, accepts: impl Fn(&Event<K>) -> bool + Send + Sync + 'static) -> Self {
        self.filter(Predicate::new(accepts))
    }
}

/// What a controller can listen to: references to informers, and [`Watch`]es.
pub trait IntoWatch {
    /// The type of the objects.
    type Kind: Resource + Send + Sync + 'static;

    /// The events of the kind that matter.
    fn into_watch(self) -> Watch<Self::Kind>;
}

impl<K: Resource + Send + Sync + 'static> IntoWatch for &SharedInformer<K> {
    type Kind = K;

    fn into_watch(self) -> Watch<K> {
        Watch { informer: Arc::new(self.clone()), filters: Vec::new() }
    }
}

impl<K: Resource + Send + Sync + 'static> IntoWatch for &CacheInformer<K> {
    type Kind = K;

    fn into_watch(self) -> Watch<K> {
        Watch { informer: Arc::new(self.clone()), filters: Vec::new() }
    }
}

impl<K: Resource + Send + Sync + 'static> IntoWatch for Watch<K> {
    type Kind = K;

    fn into_watch(self) -> Watch<K> {
        self
    }
}

impl<K> fmt::Debug for Watch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("resource", &self.informer.resource())
            .field("filters", &self.filters.len())
            .finish()
    }
}

/// What is called with events.
pub(super) type Listener<K> = Box<dyn FnMut(Event<K>) + Send>;

/// What a controller needs of an informer, wherever it comes from.
pub(super) trait Informer<K>: Send + Sync {
    fn resource(&self) -> String;
    fn start(&self);
    fn listen(&self, name: &str, listener: Listener<K>) -> Result<Box<dyn Listening>, String>;
    /// What is wrong with following the server.
    fn trouble(&self) -> Option<String>;
}

/// What a controller needs to know of a handler that it added.
pub(super) trait Listening: Send + Sync {
    fn synced(&self) -> BoxFuture<'_, bool>;
    fn ended(&self) -> BoxFuture<'_, ()>;
    fn remove(&self);
    fn status(&self) -> ListenerStatus;
}

impl<K: Resource + Send + Sync + 'static> Informer<K> for SharedInformer<K> {
    fn resource(&self) -> String {
        SharedInformer::resource(self)
    }

    fn start(&self) {
        SharedInformer::start(self);
    }

    fn listen(&self, name: &str, listener: Listener<K>) -> Result<Box<dyn Listening>, String> {
        let options = ListenerOptions::new().name(name);
        let added = self.add_event_handler_with(listener, options).map_err(|error| error.to_string())?;
        Ok(Box::new(AnyRegistration::from(added)))
    }

    fn trouble(&self) -> Option<String> {
        self.watch_status().borrow().trouble.as_ref().map(|trouble| trouble.error.to_string())
    }
}

impl<K: Send + Sync + 'static> Informer<K> for CacheInformer<K> {
    fn resource(&self) -> String {
        CacheInformer::resource(self)
    }

    /// The cache starts its informers itself.
    fn start(&self) {}

    fn listen(&self, name: &str, listener: Listener<K>) -> Result<Box<dyn Listening>, String> {
        let options = ListenerOptions::new().name(name);
        let added = self.add_event_handler_with(listener, options).map_err(|error| error.to_string())?;
        Ok(Box::new(added))
    }

    fn trouble(&self) -> Option<String> {
        self.watch_status().borrow().trouble.as_ref().map(|trouble| trouble.error.to_string())
    }
}

impl Listening for AnyRegistration {
    fn synced(&self) -> BoxFuture<'_, bool> {
        AnyRegistration::synced(self).boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        AnyRegistration::ended(self).boxed()
    }

    fn remove(&self) {
        AnyRegistration::remove(self);
    }

    fn status(&self) -> ListenerStatus {
        AnyRegistration::status(self)
    }
}

impl Listening for CacheRegistration {
    fn synced(&self) -> BoxFuture<'_, bool> {
        CacheRegistration::synced(self).boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        CacheRegistration::ended(self).boxed()
    }

    fn remove(&self) {
        CacheRegistration::remove(self);
    }

    fn status(&self) -> ListenerStatus {
        CacheRegistration::status(self)
    }
}
