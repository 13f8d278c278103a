//! `nodes` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::Node;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`Node`] objects: `factory.core().v1().nodes()`.
    ///
    /// - `.informer()?` follows `nodes`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn nodes(&self) -> Accessor<Node> {
        Accessor::new(&self.factory)
    }
}
