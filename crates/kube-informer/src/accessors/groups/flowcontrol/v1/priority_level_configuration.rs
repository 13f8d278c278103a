//! `prioritylevelconfigurations` of `flowcontrol.apiserver.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::flowcontrol::v1::PriorityLevelConfiguration;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`PriorityLevelConfiguration`] objects: `factory.flowcontrol().v1().priority_level_configurations()`.
    ///
    /// - `.informer()?` follows `prioritylevelconfigurations`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn priority_level_configurations(&self) -> Accessor<PriorityLevelConfiguration> {
        Accessor::new(&self.factory)
    }
}
