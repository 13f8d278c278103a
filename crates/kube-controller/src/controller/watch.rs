//! A kind that a controller listens to.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_core::Resource;
use kube_informer::SharedInformer;
use kube_informer::cache::{CacheInformer, CacheRegistration};
use kube_informer::fanout::{AnyRegistration, Event, ListenerOptions, ListenerStatus};

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

impl<K: 'static> Watch<K> {
    /// All events of an informer.
    pub fn new(informer: impl Into<Self>) -> Self {
        informer.into()
    }

    /// Only events that the predicate accepts, and all predicates that were given before.
    pub fn filter(mut self, predicate: impl Into<Predicate<K>>) -> Self {
        self.filters.push(predicate.into());
        self
    }
}

impl<K: Resource + Send + Sync + 'static> From<&SharedInformer<K>> for Watch<K> {
    fn from(informer: &SharedInformer<K>) -> Self {
        Self { informer: Arc::new(informer.clone()), filters: Vec::new() }
    }
}

impl<K: Send + Sync + 'static> From<&CacheInformer<K>> for Watch<K> {
    fn from(informer: &CacheInformer<K>) -> Self {
        Self { informer: Arc::new(informer.clone()), filters: Vec::new() }
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
