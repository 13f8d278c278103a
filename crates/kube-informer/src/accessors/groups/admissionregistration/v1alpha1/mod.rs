//! `admissionregistration.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

mod mutating_admission_policy;
mod mutating_admission_policy_binding;

use k8s_openapi::api::admissionregistration::v1alpha1 as kinds;

version! {
    V1alpha1:
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
}
