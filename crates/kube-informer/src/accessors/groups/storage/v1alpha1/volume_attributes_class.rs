//! `volumeattributesclasses` of `storage.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::storage::v1alpha1::VolumeAttributesClass;

use super::V1alpha1;
use crate::accessors::Accessor;

impl V1alpha1 {
    /// [`VolumeAttributesClass`] objects: `factory.storage().v1alpha1().volume_attributes_classes()`, up to Kubernetes 1.34.
    ///
    /// - `.informer()?` follows `volumeattributesclasses`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn volume_attributes_classes(&self) -> Accessor<VolumeAttributesClass> {
        Accessor::new(&self.factory)
    }
}
