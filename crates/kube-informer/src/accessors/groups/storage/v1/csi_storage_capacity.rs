//! `csistoragecapacities` of `storage.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::storage::v1::CSIStorageCapacity;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`CSIStorageCapacity`] objects: `factory.storage().v1().csi_storage_capacities()`.
    ///
    /// - `.informer()?` follows `csistoragecapacities`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn csi_storage_capacities(&self) -> Accessor<CSIStorageCapacity> {
        Accessor::new(&self.factory)
    }
}
