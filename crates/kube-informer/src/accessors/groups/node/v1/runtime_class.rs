//! `runtimeclasses` of `node.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::node::v1::RuntimeClass;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`RuntimeClass`] objects: `factory.node().v1().runtime_classes()`.
    ///
    /// - `.informer()?` follows `runtimeclasses`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn runtime_classes(&self) -> Accessor<RuntimeClass> {
        Accessor::new(&self.factory)
    }
}
