//! `clustertrustbundles` of `certificates.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::certificates::v1::ClusterTrustBundle;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ClusterTrustBundle`] objects: `factory.certificates().v1().cluster_trust_bundles()`, since Kubernetes 1.37.
    ///
    /// - `.informer()?` follows `clustertrustbundles`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn cluster_trust_bundles(&self) -> Accessor<ClusterTrustBundle> {
        Accessor::new(&self.factory)
    }
}
