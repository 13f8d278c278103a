//! The factory of programs that follow everything, whether they have a type for it or not.

use kube_core::GroupVersionResource;

use super::{FactoryError, MetadataSharedInformerFactory, NotSynced, SharedInformerFactory, Synced};
use crate::informer::{GenericInformer, InformerStatus};

/// Informers of any resource: of the type where it is known, of the metadata alone elsewhere. What
/// kube-controller-manager calls its object-or-metadata factory; its garbage collector lives on it.
///
/// It is made of two factories, and shares their informers with everybody else who has them.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::GroupVersionResource;
/// use kube_core::metadata::PartialObjectMeta;
/// use kube_informer::{MetadataSharedInformerFactory, ObjectOrMetadataInformerFactory, SharedInformerFactory};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: foos, kind: Foo}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}")?;
/// # let client = server.client()?;
/// let typed = SharedInformerFactory::new(client.clone());
/// let factory = ObjectOrMetadataInformerFactory::new(typed, MetadataSharedInformerFactory::new(client));
/// let configs = factory.for_resource(&GroupVersionResource::gvr("", "v1", "configmaps"))?;
/// let foos = factory.for_resource(&GroupVersionResource::gvr("example.com", "v1", "foos"))?;
/// factory.start();
/// factory.wait_for_cache_sync().await?;
/// assert!(configs.downcast::<ConfigMap>().is_some());
/// assert!(foos.downcast::<PartialObjectMeta>().is_some());
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct ObjectOrMetadataInformerFactory {
    typed: SharedInformerFactory,
    metadata: MetadataSharedInformerFactory,
}

impl ObjectOrMetadataInformerFactory {
    /// A factory that asks these two.
    pub fn new(typed: SharedInformerFactory, metadata: MetadataSharedInformerFactory) -> Self {
        Self { typed, metadata }
    }

    /// The informer of a resource: of whole objects, if the typed factory knows it (see
    /// [`SharedInformerFactory::for_resource`]), and else of its metadata.
    #[inline] // Compiled where it is used: it is the code of all informers of metadata.
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Result<GenericInformer, FactoryError> {
        match self.typed.for_resource(resource) {
            Err(FactoryError::UnknownResource { .. }) => Ok(self.metadata.for_resource(resource)?.into()),
            answer => answer,
        }
    }

    /// The factory that is asked for types.
    pub fn typed(&self) -> &SharedInformerFactory {
        &self.typed
    }

    /// The factory that is asked for everything else.
    pub fn metadata(&self) -> &MetadataSharedInformerFactory {
        &self.metadata
    }

    /// Starts the informers of both factories that have been asked for and not been started.
    pub fn start(&self) {
        self.typed.start();
        self.metadata.start();
    }

    /// Waits until all informers of both factories that have been started have synced. See
    /// [`InformerFactory::wait_for_cache_sync`](super::InformerFactory::wait_for_cache_sync).
    pub async fn wait_for_cache_sync(&self) -> Result<Vec<Synced>, FactoryError> {
        let (mut typed, metadata) =
            tokio::try_join!(self.typed.wait_for_cache_sync(), self.metadata.wait_for_cache_sync())?;
        typed.extend(metadata);
        Ok(typed)
    }

    /// The informers of both factories that have been asked for and have not synced.
    pub fn not_synced(&self) -> Vec<NotSynced> {
        let mut all = self.typed.not_synced();
        all.extend(self.metadata.not_synced());
        all
    }

    /// Returns how each informer of both factories is doing, with the name of its resource.
    pub fn status(&self) -> Vec<(String, InformerStatus)> {
        let mut all = self.typed.status();
        all.extend(self.metadata.status());
        all
    }

    /// Shuts both factories down, and returns when every task of their informers has ended.
    pub async fn shutdown(&self) {
        tokio::join!(self.typed.shutdown(), self.metadata.shutdown());
    }
}
