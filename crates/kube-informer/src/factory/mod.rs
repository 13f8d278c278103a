//! One informer for each kind, shared by everybody who asks for it.
//!
//! | factory | asked by | gives |
//! |---|---|---|
//! | [`SharedInformerFactory`] | type: `of::<Pod>()`, or [by name](mod@crate::accessors): `core().v1().pods()` | informers of the type |
//! | | group, version and resource, if it is built in or was [made known](FactoryBuilder::kind) | [informers](crate::informer::GenericInformer) for those who do not know the type |
//! | [`DynamicSharedInformerFactory`] | group, version and resource | informers of [`DynamicObject`](kube_core::DynamicObject)s |
//! | [`MetadataSharedInformerFactory`] | group, version and resource | informers of the metadata alone, of any kind |
//! | [`ObjectOrMetadataInformerFactory`] | group, version and resource | informers of whole objects where the first factory knows the resource, of the metadata elsewhere |
//!
//! The first three are one [`InformerFactory`], asked in different ways; the last is made of two of them.
//!
//! An informer of a factory whose kind the server does not know, or not any more, goes on to ask for it, after pauses that
//! grow up to [a limit](crate::reflector::Config::backoff_max), as client-go's do, and what it knew stays in its copy until
//! the server has said otherwise. A [cache](crate::cache) takes such objects out, and asks no more until the kind is back.

mod builder;
mod dynamic;
mod either;
mod error;
mod known;
mod metadata;
mod registry;
mod resource;
mod shared;
mod typed;

pub use builder::FactoryBuilder;
pub use dynamic::{ByResource, Dynamic, DynamicSharedInformerFactory};
pub use either::ObjectOrMetadataInformerFactory;
pub use error::{FactoryError, NotSynced, Synced};
pub(crate) use known::{impossible, in_words};
pub use metadata::{Metadata, MetadataSharedInformerFactory};
pub(crate) use shared::{cause_in, is_scope_hopeless};
pub use typed::{SharedInformerFactory, Typed, TypedQuestion};

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use kube_client::Client;

use builder::Settings;
use registry::Registry;

use crate::informer::InformerStatus;

/// Makes informers, one for each kind, and starts and stops them together. Clones are the same factory.
pub struct InformerFactory<M: Mode> {
    inner: Arc<Inner<M>>,
}

struct Inner<M: Mode> {
    client: Client,
    settings: Settings,
    registry: Registry<M::Question>,
}

/// The way in which a factory is asked: [`Typed`], [`Dynamic`] or [`Metadata`].
pub trait Mode: 'static {
    /// What tells one informer from another.
    type Question: Clone + Eq + Hash + Send + Sync;
}

impl<M: Mode> InformerFactory<M> {
    /// A factory for all namespaces, with default settings.
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// Settings for a factory.
    pub fn builder(client: Client) -> FactoryBuilder<M> {
        FactoryBuilder::new(client)
    }

    /// Starts the informers that have been asked for and not been started. To be called again for those that are asked
    /// for later.
    pub fn start(&self) {
        self.inner.registry.start();
    }

    /// Waits until all informers that have been started have synced.
    ///
    /// Fails as soon as it is known that one cannot: the server refuses it (401, 403), does not know its type (404), or
    /// sends what cannot be decoded. All of which this is known by then are named. They go on trying, and may sync
    /// later. Informers that have not been started are not waited for.
    pub async fn wait_for_cache_sync(&self) -> Result<Vec<Synced>, FactoryError> {
        self.inner.registry.wait_for_cache_sync().await
    }

    /// The informers that have been asked for and have not synced, with what is wrong so far: what a caller of
    /// [`wait_for_cache_sync`](Self::wait_for_cache_sync) that has lost its patience is waiting for.
    pub fn not_synced(&self) -> Vec<NotSynced> {
        self.inner.registry.not_synced()
    }

    /// Returns how each informer that has been asked for is doing, with the name of its resource: `deployments.apps`. Of
    /// one resource there may be several.
    pub fn status(&self) -> Vec<(String, InformerStatus)> {
        self.inner.registry.status()
    }

    /// Stops all informers, and returns when every task of them has ended. May be called by many, at any time; what is
    /// asked for afterwards is refused.
    pub async fn shutdown(&self) {
        self.inner.registry.shutdown().await;
    }

    fn assemble(client: Client, settings: Settings) -> Self {
        Self { inner: Arc::new(Inner { client, settings, registry: Registry::new() }) }
    }
}

impl<M: Mode> Clone for InformerFactory<M> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<M: Mode> fmt::Debug for InformerFactory<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerFactory")
            .field("informers", &self.inner.registry.names())
            .finish_non_exhaustive()
    }
}
