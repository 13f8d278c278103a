//! `pods` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::Pod;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`Pod`] objects: `factory.core().v1().pods()`.
    ///
    /// - `.informer()?` follows `pods`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn pods(&self) -> Accessor<Pod> {
        Accessor::new(&self.factory)
    }
}
