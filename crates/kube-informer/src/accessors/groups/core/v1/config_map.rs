//! `configmaps` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::ConfigMap;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ConfigMap`] objects: `factory.core().v1().config_maps()`.
    ///
    /// - `.informer()?` follows `configmaps`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn config_maps(&self) -> Accessor<ConfigMap> {
        Accessor::new(&self.factory)
    }
}
