//! The factory for kinds of which there is no type.

use kube_core::{ApiResource, DynamicObject, GroupVersionResource, Resource};
use kube_wire::Codec;
use serde::de::DeserializeOwned;

use super::{FactoryError, InformerFactory, Inner, Mode, known};
use crate::informer::SharedInformer;
use crate::lister::Lister;
use crate::source::group_version;

/// Makes informers of any resource, by group, version and resource, without a type.
///
/// ```
/// use kube_core::GroupVersionResource;
/// use kube_informer::factory::DynamicSharedInformerFactory;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}, data: {a: b}}")?;
/// # let client = server.client()?;
/// let factory = DynamicSharedInformerFactory::new(client);
/// let resource = GroupVersionResource::gvr("", "v1", "configmaps");
/// let configs = factory.for_resource(&resource)?;
/// factory.start();
/// factory.wait_for_cache_sync().await?;
/// assert_eq!(configs.store().get("default", "hello").unwrap().data["data"]["a"], "b");
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub type DynamicSharedInformerFactory = InformerFactory<Dynamic>;

/// A factory that is asked by group, version and resource, for whole objects.
#[derive(Debug)]
pub enum Dynamic {}

impl Mode for Dynamic {
    type Question = GroupVersionResource;
}

impl ByResource for Dynamic {
    type Object = DynamicObject;
}

/// A way of asking by group, version and resource.
pub trait ByResource: Mode<Question = GroupVersionResource> {
    /// What the informers have.
    type Object: Resource<DynamicType = ApiResource> + DeserializeOwned + Send + Sync + 'static;
}

impl<M: ByResource> InformerFactory<M> {
    /// The informer of a resource, made when it is first asked for, and anew after it was stopped. It has to be
    /// [started](Self::start). A factory that is confined to namespaces is for resources that have them: others are
    /// refused where it is known of them, and else not found by the server.
    pub fn for_resource(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<SharedInformer<M::Object>, FactoryError> {
        known::check(resource)?;
        let Inner { client, settings, registry } = &*self.inner;
        if settings.namespaces.is_some() && known::is_known_cluster_scoped(resource) {
            return Err(FactoryError::ClusterScoped { given: known::in_words(resource) });
        }
        registry.get_or_make(
            known::as_key(resource),
            |_| None,
            |number| {
                let builder =
                    settings.informer(Codec::serde(), client, &api_resource(resource), false, number)?;
                Ok(match settings.transform_of() {
                    Some(transform) => builder.transform(transform).build(),
                    None => builder.build(),
                })
            },
        )
    }

    /// Reads what the informer of a resource has.
    pub fn lister(&self, resource: &GroupVersionResource) -> Result<Lister<M::Object>, FactoryError> {
        Ok(Lister::new(self.for_resource(resource)?.store().clone(), &api_resource(resource)))
    }

    /// Stops the informer of one resource, and returns when every task of it has ended; false if there was none.
    pub async fn shutdown_of(&self, resource: &GroupVersionResource) -> bool {
        self.inner.registry.shutdown_of(&known::as_key(resource)).await
    }
}

/// What requests for a resource need. The kind is not among it.
fn api_resource(resource: &GroupVersionResource) -> ApiResource {
    let GroupVersionResource { group, version, resource, .. } = resource;
    ApiResource {
        group: group.clone(),
        version: version.clone(),
        api_version: group_version(group, version),
        kind: String::new(),
        plural: resource.clone(),
    }
}
