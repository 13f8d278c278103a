//! `evictionrequests` of `lifecycle.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::lifecycle::v1alpha1::EvictionRequest;

use super::V1alpha1;
use crate::accessors::Accessor;

impl V1alpha1 {
    /// [`EvictionRequest`] objects: `factory.lifecycle().v1alpha1().eviction_requests()`, since Kubernetes 1.37.
    ///
    /// - `.informer()?` follows `evictionrequests`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn eviction_requests(&self) -> Accessor<EvictionRequest> {
        Accessor::new(&self.factory)
    }
}
