//! `leasecandidates` of `coordination.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;

use super::V1beta1;
use crate::accessors::Accessor;

impl V1beta1 {
    /// [`LeaseCandidate`] objects: `factory.coordination().v1beta1().lease_candidates()`.
    ///
    /// - `.informer()?` follows `leasecandidates`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn lease_candidates(&self) -> Accessor<LeaseCandidate> {
        Accessor::new(&self.factory)
    }
}
