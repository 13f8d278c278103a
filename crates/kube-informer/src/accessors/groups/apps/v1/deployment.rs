//! `deployments` of `apps/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::apps::v1::Deployment;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`Deployment`] objects: `factory.apps().v1().deployments()`.
    ///
    /// - `.informer()?` follows `deployments`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn deployments(&self) -> Accessor<Deployment> {
        Accessor::new(&self.factory)
    }
}
