//! `persistentvolumeclaims` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`PersistentVolumeClaim`] objects: `factory.core().v1().persistent_volume_claims()`.
    ///
    /// - `.informer()?` follows `persistentvolumeclaims`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn persistent_volume_claims(&self) -> Accessor<PersistentVolumeClaim> {
        Accessor::new(&self.factory)
    }
}
