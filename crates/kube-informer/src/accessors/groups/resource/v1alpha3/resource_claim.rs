//! `resourceclaims` of `resource.k8s.io/v1alpha3`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1alpha3::ResourceClaim;

use super::V1alpha3;
use crate::accessors::Accessor;

impl V1alpha3 {
    /// [`ResourceClaim`] objects: `factory.resource().v1alpha3().resource_claims()`, up to Kubernetes 1.33.
    ///
    /// - `.informer()?` follows `resourceclaims`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn resource_claims(&self) -> Accessor<ResourceClaim> {
        Accessor::new(&self.factory)
    }
}
