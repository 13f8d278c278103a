//! `leases` of `coordination.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::coordination::v1::Lease;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`Lease`] objects: `factory.coordination().v1().leases()`.
    ///
    /// - `.informer()?` follows `leases`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn leases(&self) -> Accessor<Lease> {
        Accessor::new(&self.factory)
    }
}
