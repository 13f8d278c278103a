//! `podcertificaterequests` of `certificates.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::certificates::v1alpha1::PodCertificateRequest;

use super::V1alpha1;
use crate::accessors::Accessor;

impl V1alpha1 {
    /// [`PodCertificateRequest`] objects: `factory.certificates().v1alpha1().pod_certificate_requests()`, in Kubernetes 1.34.
    ///
    /// - `.informer()?` follows `podcertificaterequests`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.namespaced("default").get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn pod_certificate_requests(&self) -> Accessor<PodCertificateRequest> {
        Accessor::new(&self.factory)
    }
}
