//! `admissionregistration.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::admissionregistration::v1beta1 as kinds;

version! {
    V1beta1:
    [k8s_if_ge_1_34] mutating_admission_policies: MutatingAdmissionPolicy,
    [k8s_if_ge_1_34] mutating_admission_policy_bindings: MutatingAdmissionPolicyBinding,
    [k8s_if_le_1_33] validating_admission_policies: ValidatingAdmissionPolicy,
    [k8s_if_le_1_33] validating_admission_policy_bindings: ValidatingAdmissionPolicyBinding,
}
