//! `certificatesigningrequests` of `certificates.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`CertificateSigningRequest`] objects: `factory.certificates().v1().certificate_signing_requests()`.
    ///
    /// - `.informer()?` follows `certificatesigningrequests`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn certificate_signing_requests(&self) -> Accessor<CertificateSigningRequest> {
        Accessor::new(&self.factory)
    }
}
