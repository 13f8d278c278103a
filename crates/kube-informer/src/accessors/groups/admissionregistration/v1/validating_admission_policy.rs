//! `validatingadmissionpolicies` of `admissionregistration.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`ValidatingAdmissionPolicy`] objects: `factory.admissionregistration().v1().validating_admission_policies()`.
    ///
    /// - `.informer()?` follows `validatingadmissionpolicies`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn validating_admission_policies(&self) -> Accessor<ValidatingAdmissionPolicy> {
        Accessor::new(&self.factory)
    }
}
