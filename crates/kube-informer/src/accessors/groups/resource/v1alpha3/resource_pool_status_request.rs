//! `resourcepoolstatusrequests` of `resource.k8s.io/v1alpha3`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1alpha3::ResourcePoolStatusRequest;

use super::V1alpha3;
use crate::accessors::Accessor;

impl V1alpha3 {
    /// [`ResourcePoolStatusRequest`] objects: `factory.resource().v1alpha3().resource_pool_status_requests()`, since Kubernetes 1.36.
    ///
    /// - `.informer()?` follows `resourcepoolstatusrequests`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn resource_pool_status_requests(&self) -> Accessor<ResourcePoolStatusRequest> {
        Accessor::new(&self.factory)
    }
}
