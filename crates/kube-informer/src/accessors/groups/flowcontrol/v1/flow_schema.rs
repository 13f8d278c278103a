//! `flowschemas` of `flowcontrol.apiserver.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::flowcontrol::v1::FlowSchema;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`FlowSchema`] objects: `factory.flowcontrol().v1().flow_schemas()`.
    ///
    /// - `.informer()?` follows `flowschemas`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn flow_schemas(&self) -> Accessor<FlowSchema> {
        Accessor::new(&self.factory)
    }
}
