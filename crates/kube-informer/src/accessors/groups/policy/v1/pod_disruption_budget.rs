//! `poddisruptionbudgets` of `policy/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`PodDisruptionBudget`] objects: `factory.policy().v1().pod_disruption_budgets()`.
    ///
    /// - `.informer()?` follows `poddisruptionbudgets`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn pod_disruption_budgets(&self) -> Accessor<PodDisruptionBudget> {
        Accessor::new(&self.factory)
    }
}
