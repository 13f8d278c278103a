//! `podtemplates` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::PodTemplate;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`PodTemplate`] objects: `factory.core().v1().pod_templates()`.
    ///
    /// - `.informer()?` follows `podtemplates`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn pod_templates(&self) -> Accessor<PodTemplate> {
        Accessor::new(&self.factory)
    }
}
