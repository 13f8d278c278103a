//! `workloads` of `scheduling.k8s.io/v1alpha3`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::scheduling::v1alpha3::Workload;

use super::V1alpha3;
use crate::accessors::Accessor;

impl V1alpha3 {
    /// [`Workload`] objects: `factory.scheduling().v1alpha3().workloads()`, since Kubernetes 1.37.
    ///
    /// - `.informer()?` follows `workloads`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn workloads(&self) -> Accessor<Workload> {
        Accessor::new(&self.factory)
    }
}
