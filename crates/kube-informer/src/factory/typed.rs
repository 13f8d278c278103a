//! The factory that is asked by type.

use std::any::TypeId;

use kube_core::Resource;
use serde::de::DeserializeOwned;

use super::{FactoryError, InformerFactory, Inner, Mode};
use crate::informer::SharedInformer;
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
    type Question = TypeId;
}

impl SharedInformerFactory {
    /// The informer of a type, made when it is first asked for, and anew after it was stopped. It has to be
    /// [started](Self::start).
    pub fn of<K>(&self) -> Result<SharedInformer<K>, FactoryError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let Inner { client, settings, registry } = &*self.inner;
        registry.get_or_make(TypeId::of::<K>(), |number| {
            let builder = settings.informer::<K>(client, &(), is_cluster_scoped::<K>(), number)?;
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
        self.inner.registry.shutdown_of(&TypeId::of::<K>()).await
    }
}
