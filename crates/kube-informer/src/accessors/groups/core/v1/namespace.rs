//! `namespaces` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::Namespace;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`Namespace`] objects: `factory.core().v1().namespaces()`.
    ///
    /// - `.informer()?` follows `namespaces`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn namespaces(&self) -> Accessor<Namespace> {
        Accessor::new(&self.factory)
    }
}
