//! `limitranges` of `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1::LimitRange;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`LimitRange`] objects: `factory.core().v1().limit_ranges()`.
    ///
    /// - `.informer()?` follows `limitranges`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn limit_ranges(&self) -> Accessor<LimitRange> {
        Accessor::new(&self.factory)
    }
}
