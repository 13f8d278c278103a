//! `clusterroles` of `rbac.authorization.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::rbac::v1::ClusterRole;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ClusterRole`] objects: `factory.rbac().v1().cluster_roles()`.
    ///
    /// - `.informer()?` follows `clusterroles`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn cluster_roles(&self) -> Accessor<ClusterRole> {
        Accessor::new(&self.factory)
    }
}
