//! `networkpolicies` of `networking.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::networking::v1::NetworkPolicy;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`NetworkPolicy`] objects: `factory.networking().v1().network_policies()`.
    ///
    /// - `.informer()?` follows `networkpolicies`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn network_policies(&self) -> Accessor<NetworkPolicy> {
        Accessor::new(&self.factory)
    }
}
