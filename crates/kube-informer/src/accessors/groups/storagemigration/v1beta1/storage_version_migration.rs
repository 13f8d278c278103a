//! `storageversionmigrations` of `storagemigration.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::storagemigration::v1beta1::StorageVersionMigration;

use super::V1beta1;
use crate::accessors::Accessor;

impl V1beta1 {
    /// [`StorageVersionMigration`] objects: `factory.storagemigration().v1beta1().storage_version_migrations()`, since Kubernetes 1.35.
    ///
    /// - `.informer()?` follows `storageversionmigrations`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn storage_version_migrations(&self) -> Accessor<StorageVersionMigration> {
        Accessor::new(&self.factory)
    }
}
