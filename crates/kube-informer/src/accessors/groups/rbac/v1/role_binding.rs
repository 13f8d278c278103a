//! `rolebindings` of `rbac.authorization.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::rbac::v1::RoleBinding;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`RoleBinding`] objects: `factory.rbac().v1().role_bindings()`.
    ///
    /// - `.informer()?` follows `rolebindings`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn role_bindings(&self) -> Accessor<RoleBinding> {
        Accessor::new(&self.factory)
    }
}
