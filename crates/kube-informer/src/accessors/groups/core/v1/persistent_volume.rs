//! `persistentvolumes` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::PersistentVolume;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`PersistentVolume`] objects: `factory.core().v1().persistent_volumes()`.
    ///
    /// - `.informer()?` follows `persistentvolumes`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn persistent_volumes(&self) -> Accessor<PersistentVolume> {
        Accessor::new(&self.factory)
    }
}
