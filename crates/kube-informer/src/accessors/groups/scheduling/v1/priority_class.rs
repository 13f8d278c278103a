//! `priorityclasses` of `scheduling.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::scheduling::v1::PriorityClass;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`PriorityClass`] objects: `factory.scheduling().v1().priority_classes()`.
    ///
    /// - `.informer()?` follows `priorityclasses`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn priority_classes(&self) -> Accessor<PriorityClass> {
        Accessor::new(&self.factory)
    }
}
