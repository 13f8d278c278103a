//! The factory that is asked by type.

use std::any::TypeId;

use kube_core::{GroupVersionResource, Resource};
use kube_wire::Codec;
use serde::de::DeserializeOwned;

use super::registry::State;
use super::{FactoryError, InformerFactory, Inner, Mode};
use crate::informer::{Inform, SharedInformer, UnnamedInformer};
use crate::lister::Lister;
use crate::source::is_cluster_scoped;

/// Makes informers, one for each type, and starts and stops them together.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kube_informer::factory::SharedInformerFactory;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # let client = server.client()?;
/// let factory = SharedInformerFactory::builder(client).namespace("default").build();
/// let pods = factory.of::<Pod>()?;
/// let configs = factory.of::<ConfigMap>()?;
/// factory.start();
/// factory.wait_for_cache_sync().await?; // an error names each type that cannot sync, and why
/// assert!(pods.store().list().is_empty() && configs.has_synced());
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub type SharedInformerFactory = InformerFactory<Typed>;

/// A factory that is asked by type.
#[derive(Debug)]
pub enum Typed {}

impl Mode for Typed {
    type Question = TypedQuestion;
}

/// What a typed factory can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypedQuestion(pub(super) Asked);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    /// By its type.
    Type(TypeId),
    /// By its resource, by somebody who does not know the type, and nobody has named it.
    Resource(GroupVersionResource),
}

impl SharedInformerFactory {
    /// The informer of a type, made when it is first asked for, and anew after it was stopped. It has to be
    /// [started](Self::start).
    pub fn of<K>(&self) -> Result<SharedInformer<K>, FactoryError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.decoding(Codec::serde())
    }

    /// The informer of a type that is decoded in this way.
    pub(crate) fn decoding<K>(&self, codec: Codec<K>) -> Result<SharedInformer<K>, FactoryError>
    where
        K: Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        let Inner { client, settings, registry } = &*self.inner;
        let question = |asked| TypedQuestion(asked);
        // Somebody who did not know the type may have asked for the same resource.
        let instead = |known: &State<TypedQuestion>| {
            let resource = GroupVersionResource::gvr(&K::group(&()), &K::version(&()), &K::plural(&()));
            let unnamed = known.find(&question(Asked::Resource(resource)))?;
            Some(unnamed.as_any().downcast_ref::<UnnamedInformer>()?.view(codec))
        };
        registry.get_or_make(question(Asked::Type(TypeId::of::<K>())), instead, |number| {
            let builder = settings.informer(codec, client, &(), is_cluster_scoped::<K>(), number)?;
            let builder = builder.resync(settings.resync_of::<K>());
            Ok(match settings.transform_of::<K>() {
                Some(transform) => builder.transform(transform).build(),
                None => builder.build(),
            })
        })
    }

    /// Reads what the informer of a type has.
    pub fn lister<K>(&self) -> Result<Lister<K>, FactoryError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        Ok(Lister::new(self.of::<K>()?.store().clone(), &()))
    }

    /// Stops the informer of one type, and returns when every task of it has ended; false if there was none. The next
    /// who asks for the type gets a new one.
    pub async fn shutdown_of<K: 'static>(&self) -> bool {
        let asked = TypedQuestion(Asked::Type(TypeId::of::<K>()));
        let is_it = |question: &TypedQuestion, informer: &dyn Inform| {
            let unnamed = informer.as_any().downcast_ref::<UnnamedInformer>();
            *question == asked || unnamed.is_some_and(UnnamedInformer::is_viewed_as::<K>)
        };
        self.inner.registry.shutdown_where(is_it).await
    }
}
