//! `validatingadmissionpolicybindings` of `admissionregistration.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::admissionregistration::v1beta1::ValidatingAdmissionPolicyBinding;

use super::V1beta1;
use crate::accessors::Accessor;

impl V1beta1 {
    /// [`ValidatingAdmissionPolicyBinding`] objects: `factory.admissionregistration().v1beta1().validating_admission_policy_bindings()`, up to Kubernetes 1.33.
    ///
    /// - `.informer()?` follows `validatingadmissionpolicybindings`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn validating_admission_policy_bindings(&self) -> Accessor<ValidatingAdmissionPolicyBinding> {
        Accessor::new(&self.factory)
    }
}
