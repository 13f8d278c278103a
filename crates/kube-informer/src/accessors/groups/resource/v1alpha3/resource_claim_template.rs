//! `resourceclaimtemplates` of `resource.k8s.io/v1alpha3`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1alpha3::ResourceClaimTemplate;

use super::V1alpha3;
use crate::accessors::Accessor;

impl V1alpha3 {
    /// [`ResourceClaimTemplate`] objects: `factory.resource().v1alpha3().resource_claim_templates()`, up to Kubernetes 1.33.
    ///
    /// - `.informer()?` follows `resourceclaimtemplates`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn resource_claim_templates(&self) -> Accessor<ResourceClaimTemplate> {
        Accessor::new(&self.factory)
    }
}
