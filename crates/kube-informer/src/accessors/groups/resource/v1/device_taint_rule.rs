//! `devicetaintrules` of `resource.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1::DeviceTaintRule;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`DeviceTaintRule`] objects: `factory.resource().v1().device_taint_rules()`, since Kubernetes 1.37.
    ///
    /// - `.informer()?` follows `devicetaintrules`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn device_taint_rules(&self) -> Accessor<DeviceTaintRule> {
        Accessor::new(&self.factory)
    }
}
