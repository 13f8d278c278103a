//! `daemonsets` of `apps/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::apps::v1::DaemonSet;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`DaemonSet`] objects: `factory.apps().v1().daemon_sets()`.
    ///
    /// - `.informer()?` follows `daemonsets`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn daemon_sets(&self) -> Accessor<DaemonSet> {
        Accessor::new(&self.factory)
    }
}
