//! `workloads` of `scheduling.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::scheduling::v1alpha1::Workload;

use super::V1alpha1;
use crate::accessors::Accessor;

impl V1alpha1 {
    /// [`Workload`] objects: `factory.scheduling().v1alpha1().workloads()`, in Kubernetes 1.35.
    ///
    /// - `.informer()?` follows `workloads`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn workloads(&self) -> Accessor<Workload> {
        Accessor::new(&self.factory)
    }
}
