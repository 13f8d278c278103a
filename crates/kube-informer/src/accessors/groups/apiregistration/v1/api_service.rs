//! `apiservices` of `apiregistration.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`APIService`] objects: `factory.apiregistration().v1().api_services()`.
    ///
    /// - `.informer()?` follows `apiservices`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn api_services(&self) -> Accessor<APIService> {
        Accessor::new(&self.factory)
    }
}
