//! `storageversions` of `internal.apiserver.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::apiserverinternal::v1alpha1::StorageVersion;

use super::V1alpha1;
use crate::accessors::Accessor;

impl V1alpha1 {
    /// [`StorageVersion`] objects: `factory.internal().v1alpha1().storage_versions()`.
    ///
    /// - `.informer()?` follows `storageversions`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn storage_versions(&self) -> Accessor<StorageVersion> {
        Accessor::new(&self.factory)
    }
}
