//! `clustertrustbundles` of `certificates.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::certificates::v1alpha1::ClusterTrustBundle;

use super::V1alpha1;
use crate::accessors::Accessor;

impl V1alpha1 {
    /// [`ClusterTrustBundle`] objects: `factory.certificates().v1alpha1().cluster_trust_bundles()`, up to Kubernetes 1.36.
    ///
    /// - `.informer()?` follows `clustertrustbundles`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn cluster_trust_bundles(&self) -> Accessor<ClusterTrustBundle> {
        Accessor::new(&self.factory)
    }
}
