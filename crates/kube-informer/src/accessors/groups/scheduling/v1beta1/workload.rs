//! `workloads` of `scheduling.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::scheduling::v1beta1::Workload;

use super::V1beta1;
use crate::accessors::Accessor;

impl V1beta1 {
    /// [`Workload`] objects: `factory.scheduling().v1beta1().workloads()`, since Kubernetes 1.37.
    ///
    /// - `.informer()?` follows `workloads`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn workloads(&self) -> Accessor<Workload> {
        Accessor::new(&self.factory)
    }
}
