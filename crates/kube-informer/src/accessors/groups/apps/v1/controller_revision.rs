//! `controllerrevisions` of `apps/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::apps::v1::ControllerRevision;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ControllerRevision`] objects: `factory.apps().v1().controller_revisions()`.
    ///
    /// - `.informer()?` follows `controllerrevisions`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn controller_revisions(&self) -> Accessor<ControllerRevision> {
        Accessor::new(&self.factory)
    }
}
