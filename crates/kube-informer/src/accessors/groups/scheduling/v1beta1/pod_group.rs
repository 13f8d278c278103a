//! `podgroups` of `scheduling.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::scheduling::v1beta1::PodGroup;

use super::V1beta1;
use crate::accessors::Accessor;

impl V1beta1 {
    /// [`PodGroup`] objects: `factory.scheduling().v1beta1().pod_groups()`, since Kubernetes 1.37.
    ///
    /// - `.informer()?` follows `podgroups`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn pod_groups(&self) -> Accessor<PodGroup> {
        Accessor::new(&self.factory)
    }
}
