//! `mutatingadmissionpolicies` of `admissionregistration.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicy;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`MutatingAdmissionPolicy`] objects: `factory.admissionregistration().v1().mutating_admission_policies()`, since Kubernetes 1.36.
    ///
    /// - `.informer()?` follows `mutatingadmissionpolicies`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn mutating_admission_policies(&self) -> Accessor<MutatingAdmissionPolicy> {
        Accessor::new(&self.factory)
    }
}
