//! `csinodes` of `storage.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::storage::v1::CSINode;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`CSINode`] objects: `factory.storage().v1().csi_nodes()`.
    ///
    /// - `.informer()?` follows `csinodes`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn csi_nodes(&self) -> Accessor<CSINode> {
        Accessor::new(&self.factory)
    }
}
