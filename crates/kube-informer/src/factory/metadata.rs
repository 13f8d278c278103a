//! The factory for the metadata of any kind.

use kube_core::GroupVersionResource;
use kube_core::metadata::PartialObjectMeta;

use super::{ByResource, InformerFactory, Mode};

/// Makes informers of the metadata of any resource, by group, version and resource. The server sends nothing else.
///
/// ```
/// use kube_core::GroupVersionResource;
/// use kube_informer::factory::MetadataSharedInformerFactory;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: v1, kind: Secret, metadata: {name: hello, labels: {app: web}}}")?;
/// # let client = server.client()?;
/// let factory = MetadataSharedInformerFactory::new(client);
/// let secrets = factory.for_resource(&GroupVersionResource::gvr("", "v1", "secrets"))?;
/// factory.start();
/// factory.wait_for_cache_sync().await?;
/// assert_eq!(secrets.store().get("default", "hello").unwrap().labels().get("app"), Some("web"));
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub type MetadataSharedInformerFactory = InformerFactory<Metadata>;

/// A factory that is asked by group, version and resource, for metadata.
#[derive(Debug)]
pub enum Metadata {}

impl Mode for Metadata {
    type Question = GroupVersionResource;
}

impl ByResource for Metadata {
    type Object = PartialObjectMeta;
}
