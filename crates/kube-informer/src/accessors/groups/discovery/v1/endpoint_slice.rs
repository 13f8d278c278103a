//! `endpointslices` of `discovery.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`EndpointSlice`] objects: `factory.discovery().v1().endpoint_slices()`.
    ///
    /// - `.informer()?` follows `endpointslices`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn endpoint_slices(&self) -> Accessor<EndpointSlice> {
        Accessor::new(&self.factory)
    }
}
