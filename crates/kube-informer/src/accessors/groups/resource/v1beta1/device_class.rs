//! `deviceclasses` of `resource.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1beta1::DeviceClass;

use super::V1beta1;
use crate::accessors::Accessor;

impl V1beta1 {
    /// [`DeviceClass`] objects: `factory.resource().v1beta1().device_classes()`.
    ///
    /// - `.informer()?` follows `deviceclasses`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn device_classes(&self) -> Accessor<DeviceClass> {
        Accessor::new(&self.factory)
    }
}
