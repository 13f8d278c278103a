//! An informer of a kind whose type nobody has named: it keeps bytes, which are seen as a type when somebody names it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use kube_core::Resource;
use kube_wire::Codec;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::view::{self, View};
use super::{Inform, InformerError, InformerStatus, SharedInformer};
use crate::fanout::{AnyEvent, AnyRegistration, Event, ListenerOptions};
use crate::lister::{GenericLister, Lister};
use crate::object::{Lenses, Raw};
use crate::source::Scope;

/// An informer of a kind whose type nobody has named, and of those types of it that somebody has named since. They share
/// its watch and its objects.
pub(crate) struct UnnamedInformer {
    informer: SharedInformer<Raw>,
    lenses: Arc<Lenses>,
    resync: Duration,
    views: Mutex<Vec<Arc<dyn Inform>>>,
}

impl UnnamedInformer {
    pub(crate) fn new(informer: SharedInformer<Raw>, lenses: Lenses, resync: Duration) -> Self {
        Self { informer, lenses: Arc::new(lenses), resync, views: Mutex::default() }
    }

    /// It can be seen as a type.
    pub(crate) fn suits<K: Resource + 'static>(&self) -> bool {
        self.lenses.suits::<K>()
    }

    /// The informer of a type: the same for all who ask. It runs if this one does, and is started with it if not.
    pub(crate) fn view<K>(&self, codec: Codec<K>) -> SharedInformer<K>
    where
        K: Resource + Send + Sync + 'static,
    {
        let mut views = self.views.lock();
        views.retain(|view| !view.is_stopped());
        let known = views.iter().find_map(|view| view.as_any().downcast_ref::<SharedInformer<K>>());
        if let Some(known) = known {
            return known.clone();
        }
        let source = View::<K>::new(self.informer.clone(), self.lenses.of(codec));
        let builder = SharedInformer::builder(source).name(self.informer.name());
        let view = builder.resync(self.resync).config(view::config()).build();
        views.push(Arc::new(view.clone()));
        if self.informer.is_stopped() {
            view.stop();
        } else {
            view.start_like(&self.informer);
        }
        view
    }

    /// Somebody has asked for it as a type.
    pub(crate) fn is_viewed_as<K: 'static>(&self) -> bool {
        self.views().iter().any(|view| view.as_any().is::<SharedInformer<K>>())
    }
}

impl Inform for UnnamedInformer {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn name(&self) -> &str {
        self.informer.name()
    }

    fn resource(&self) -> String {
        self.informer.resource()
    }

    fn lister(&self) -> GenericLister {
        let lister = Lister::named(self.informer.store().clone(), self.informer.scope());
        GenericLister::unnamed(lister, &self.lenses)
    }

    fn add_event_handler(
        &self,
        mut handler: Box<dyn FnMut(AnyEvent) + Send>,
        options: ListenerOptions,
    ) -> Result<AnyRegistration, InformerError> {
        let lenses = Arc::clone(&self.lenses);
        let handler = move |event: Event<Raw>| handler(AnyEvent::unnamed(event, &lenses));
        Ok(self.informer.add_event_handler_with(handler, options)?.into())
    }

    fn subscribe(&self, options: ListenerOptions) -> Result<BoxStream<'static, AnyEvent>, InformerError> {
        let lenses = Arc::clone(&self.lenses);
        let events = self.informer.subscribe_with(options)?;
        Ok(events.map(move |event| AnyEvent::unnamed(event, &lenses)).boxed())
    }

    fn start(&self) {
        self.informer.start();
        self.views().iter().for_each(|view| view.start());
    }

    fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    fn synced(&self) -> BoxFuture<'_, bool> {
        self.informer.synced().boxed()
    }

    fn status(&self) -> InformerStatus {
        self.informer.status()
    }

    fn is_stopped(&self) -> bool {
        self.informer.is_stopped()
    }

    fn stop(&self) {
        self.views().iter().for_each(|view| view.stop());
        self.informer.stop();
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async move {
            let views = self.views.lock().clone();
            join_all(views.iter().map(|view| view.shutdown())).await;
            self.informer.shutdown().await;
        }
        .boxed()
    }

    fn watch_status(&self) -> watch::Receiver<InformerStatus> {
        self.informer.watch_status()
    }

    fn has_ended(&self) -> bool {
        self.informer.has_ended() && self.views.lock().iter().all(|view| view.has_ended())
    }

    fn scope(&self) -> &Scope {
        self.informer.scope()
    }

    fn views(&self) -> Vec<Arc<dyn Inform>> {
        self.views.lock().iter().filter(|view| !view.is_stopped()).cloned().collect()
    }
}
