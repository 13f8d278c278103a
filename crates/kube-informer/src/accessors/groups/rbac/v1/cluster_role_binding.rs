//! `clusterrolebindings` of `rbac.authorization.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ClusterRoleBinding`] objects: `factory.rbac().v1().cluster_role_bindings()`.
    ///
    /// - `.informer()?` follows `clusterrolebindings`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn cluster_role_bindings(&self) -> Accessor<ClusterRoleBinding> {
        Accessor::new(&self.factory)
    }
}
