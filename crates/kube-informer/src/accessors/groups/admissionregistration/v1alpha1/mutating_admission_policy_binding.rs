//! `mutatingadmissionpolicybindings` of `admissionregistration.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::admissionregistration::v1alpha1::MutatingAdmissionPolicyBinding;

use super::V1alpha1;
use crate::accessors::Accessor;

impl V1alpha1 {
    /// [`MutatingAdmissionPolicyBinding`] objects: `factory.admissionregistration().v1alpha1().mutating_admission_policy_bindings()`.
    ///
    /// - `.informer()?` follows `mutatingadmissionpolicybindings`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get("name")?`,
    ///   `lister.list(&selector)`.
    pub fn mutating_admission_policy_bindings(&self) -> Accessor<MutatingAdmissionPolicyBinding> {
        Accessor::new(&self.factory)
    }
}
