//! `admissionregistration.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

k8s_openapi::k8s_if_ge_1_34! { mod mutating_admission_policy; }
k8s_openapi::k8s_if_ge_1_34! { mod mutating_admission_policy_binding; }
k8s_openapi::k8s_if_le_1_33! { mod validating_admission_policy; }
k8s_openapi::k8s_if_le_1_33! { mod validating_admission_policy_binding; }

use k8s_openapi::api::admissionregistration::v1beta1 as kinds;

version! {
    V1beta1:
    [k8s_if_ge_1_34] MutatingAdmissionPolicy,
    [k8s_if_ge_1_34] MutatingAdmissionPolicyBinding,
    [k8s_if_le_1_33] ValidatingAdmissionPolicy,
    [k8s_if_le_1_33] ValidatingAdmissionPolicyBinding,
}
