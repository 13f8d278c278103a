//! `componentstatuses` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::ComponentStatus;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ComponentStatus`] objects: `factory.core().v1().component_statuses()`.
    ///
    /// - `.informer()?` follows `componentstatuses`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn component_statuses(&self) -> Accessor<ComponentStatus> {
        Accessor::new(&self.factory)
    }
}
