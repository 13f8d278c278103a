//! `customresourcedefinitions` of `apiextensions.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`CustomResourceDefinition`] objects: `factory.apiextensions().v1().custom_resource_definitions()`.
    ///
    /// - `.informer()?` follows `customresourcedefinitions`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn custom_resource_definitions(&self) -> Accessor<CustomResourceDefinition> {
        Accessor::new(&self.factory)
    }
}
