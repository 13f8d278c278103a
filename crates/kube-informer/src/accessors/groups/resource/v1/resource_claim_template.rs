//! `resourceclaimtemplates` of `resource.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1::ResourceClaimTemplate;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ResourceClaimTemplate`] objects: `factory.resource().v1().resource_claim_templates()`, since Kubernetes 1.34.
    ///
    /// - `.informer()?` follows `resourceclaimtemplates`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn resource_claim_templates(&self) -> Accessor<ResourceClaimTemplate> {
        Accessor::new(&self.factory)
    }
}
