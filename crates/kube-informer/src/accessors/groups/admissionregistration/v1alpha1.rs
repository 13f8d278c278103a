//! `admissionregistration.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::admissionregistration::v1alpha1 as kinds;

version! {
    V1alpha1:
    mutating_admission_policies: MutatingAdmissionPolicy,
    mutating_admission_policy_bindings: MutatingAdmissionPolicyBinding,
}
