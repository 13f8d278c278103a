//! An informer whose type is not known here.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use kube_core::Resource;
use kube_wire::Codec;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::{InformerError, InformerStatus, SharedInformer, UnnamedInformer};
use crate::fanout::{AnyEvent, AnyRegistration, Event, ListenerOptions};
use crate::lister::{GenericLister, Lister};
use crate::source::Scope;

/// An informer of a type that is not known here: what a [`SharedInformer`] is to its users who know the type. Clones
/// are the same informer.
///
/// ```
/// use k8s_openapi::api::core::v1::Secret;
/// use kube_informer::informer::{GenericInformer, SharedInformer};
/// use kube_informer::source::KubeSource;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: v1, kind: Secret, metadata: {name: hello}}")?;
/// # let client = server.client()?;
/// let secrets = SharedInformer::new(KubeSource::<Secret>::all(client, &()));
/// let informer = GenericInformer::from(secrets);
/// informer.add_event_handler(|event| println!("{}", event.object().key()))?;
/// informer.start();
/// assert!(informer.synced().await);
/// assert_eq!(informer.lister().get("default", "hello")?.key(), "default/hello");
/// assert!(informer.downcast::<Secret>().is_some());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct GenericInformer(Arc<dyn Inform>);

impl GenericInformer {
    /// The name, for logs and metrics.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// What it is an informer of: `deployments.apps`.
    pub fn resource(&self) -> String {
        self.0.resource()
    }

    /// Reads what the informer has.
    pub fn lister(&self) -> GenericLister {
        self.0.lister()
    }

    /// Adds a handler. It gets a task of its own, so this needs a tokio runtime.
    pub fn add_event_handler(
        &self,
        handler: impl FnMut(AnyEvent) + Send + 'static,
    ) -> Result<AnyRegistration, InformerError> {
        self.add_event_handler_with(handler, ListenerOptions::new())
    }

    /// Adds a handler that wants to be told in a certain way.
    pub fn add_event_handler_with(
        &self,
        handler: impl FnMut(AnyEvent) + Send + 'static,
        options: ListenerOptions,
    ) -> Result<AnyRegistration, InformerError> {
        self.0.add_event_handler(Box::new(handler), options)
    }

    /// The same events, as a stream.
    pub fn subscribe(&self) -> Result<BoxStream<'static, AnyEvent>, InformerError> {
        self.subscribe_with(ListenerOptions::new())
    }

    /// The same events, as a stream that is told in a certain way.
    pub fn subscribe_with(
        &self,
        options: ListenerOptions,
    ) -> Result<BoxStream<'static, AnyEvent>, InformerError> {
        self.0.subscribe(options)
    }

    /// Starts to follow. Calls after the first do nothing. Needs a tokio runtime.
    pub fn start(&self) {
        self.0.start();
    }

    /// The copy has held everything that the server had at some moment after the start.
    pub fn has_synced(&self) -> bool {
        self.0.has_synced()
    }

    /// Waits until the informer [has synced](Self::has_synced); false if it was stopped before.
    pub async fn synced(&self) -> bool {
        self.0.synced().await
    }

    /// How the informer is doing.
    pub fn status(&self) -> InformerStatus {
        self.0.status()
    }

    /// The informer has been told to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    /// Stops the informer. Handlers finish the call they are in, and no other follows.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Stops the informer, and returns when every task of it has ended.
    pub async fn shutdown(&self) {
        self.0.shutdown().await;
    }

    /// The informer with its type; none if it has another one.
    ///
    /// One whose type nobody had named when it was made has every type of its resource: that informer has a copy of its own,
    /// of handles to the same objects, and no watch. What stops this one, stops it too.
    pub fn downcast<K>(&self) -> Option<SharedInformer<K>>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        if let Some(informer) = self.0.as_any().downcast_ref::<SharedInformer<K>>() {
            return Some(informer.clone());
        }
        let unnamed = self.0.as_any().downcast_ref::<UnnamedInformer>()?;
        unnamed.suits::<K>().then(|| unnamed.view(Codec::serde()))
    }

    pub(crate) fn of(informer: Arc<dyn Inform>) -> Self {
        Self(informer)
    }
}

impl<K: Resource + Send + Sync + 'static> From<SharedInformer<K>> for GenericInformer {
    fn from(informer: SharedInformer<K>) -> Self {
        Self(Arc::new(informer))
    }
}

impl fmt::Debug for GenericInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenericInformer").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// What is known of an informer of any type.
pub(crate) trait Inform: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn name(&self) -> &str;
    fn resource(&self) -> String;
    fn lister(&self) -> GenericLister;
    fn add_event_handler(
        &self,
        handler: Box<dyn FnMut(AnyEvent) + Send>,
        options: ListenerOptions,
    ) -> Result<AnyRegistration, InformerError>;
    fn subscribe(&self, options: ListenerOptions) -> Result<BoxStream<'static, AnyEvent>, InformerError>;
    fn start(&self);
    fn has_synced(&self) -> bool;
    fn synced(&self) -> BoxFuture<'_, bool>;
    fn status(&self) -> InformerStatus;
    fn watch_status(&self) -> watch::Receiver<InformerStatus>;
    fn is_stopped(&self) -> bool;
    fn stop(&self);
    fn shutdown(&self) -> BoxFuture<'_, ()>;
    /// It has been stopped, and no task of it runs any more.
    fn has_ended(&self) -> bool;
    /// Its resource, in all namespaces.
    fn scope(&self) -> &Scope;
    /// The informers of types that live on this one.
    fn views(&self) -> Vec<Arc<dyn Inform>> {
        Vec::new()
    }
}

impl<K: Resource + Send + Sync + 'static> Inform for SharedInformer<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn name(&self) -> &str {
        SharedInformer::name(self)
    }

    fn resource(&self) -> String {
        SharedInformer::resource(self)
    }

    fn lister(&self) -> GenericLister {
        Lister::named(self.store().clone(), SharedInformer::scope(self)).into()
    }

    fn add_event_handler(
        &self,
        mut handler: Box<dyn FnMut(AnyEvent) + Send>,
        options: ListenerOptions,
    ) -> Result<AnyRegistration, InformerError> {
        let handler = move |event: Event<K>| handler(event.into());
        Ok(self.add_event_handler_with(handler, options)?.into())
    }

    fn subscribe(&self, options: ListenerOptions) -> Result<BoxStream<'static, AnyEvent>, InformerError> {
        Ok(self.subscribe_with(options)?.map(AnyEvent::from).boxed())
    }

    fn start(&self) {
        SharedInformer::start(self);
    }

    fn has_synced(&self) -> bool {
        SharedInformer::has_synced(self)
    }

    fn synced(&self) -> BoxFuture<'_, bool> {
        SharedInformer::synced(self).boxed()
    }

    fn status(&self) -> InformerStatus {
        SharedInformer::status(self)
    }

    fn is_stopped(&self) -> bool {
        SharedInformer::is_stopped(self)
    }

    fn stop(&self) {
        SharedInformer::stop(self);
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        SharedInformer::shutdown(self).boxed()
    }

    fn watch_status(&self) -> watch::Receiver<InformerStatus> {
        SharedInformer::watch_status(self)
    }

    fn has_ended(&self) -> bool {
        SharedInformer::has_ended(self)
    }

    fn scope(&self) -> &Scope {
        SharedInformer::scope(self)
    }
}
