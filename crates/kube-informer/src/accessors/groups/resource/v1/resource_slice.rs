//! `resourceslices` of `resource.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1::ResourceSlice;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ResourceSlice`] objects: `factory.resource().v1().resource_slices()`, since Kubernetes 1.34.
    ///
    /// - `.informer()?` follows `resourceslices`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn resource_slices(&self) -> Accessor<ResourceSlice> {
        Accessor::new(&self.factory)
    }
}
