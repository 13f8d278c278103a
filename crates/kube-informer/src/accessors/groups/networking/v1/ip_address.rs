//! `ipaddresses` of `networking.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::networking::v1::IPAddress;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`IPAddress`] objects: `factory.networking().v1().ip_addresses()`.
    ///
    /// - `.informer()?` follows `ipaddresses`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn ip_addresses(&self) -> Accessor<IPAddress> {
        Accessor::new(&self.factory)
    }
}
