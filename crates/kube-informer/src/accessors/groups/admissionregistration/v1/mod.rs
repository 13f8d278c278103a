//! `admissionregistration.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

k8s_openapi::k8s_if_ge_1_36! { mod mutating_admission_policy; }
k8s_openapi::k8s_if_ge_1_36! { mod mutating_admission_policy_binding; }
mod mutating_webhook_configuration;
mod validating_admission_policy;
mod validating_admission_policy_binding;
mod validating_webhook_configuration;

use k8s_openapi::api::admissionregistration::v1 as kinds;

version! {
    V1:
    [k8s_if_ge_1_36] MutatingAdmissionPolicy,
    [k8s_if_ge_1_36] MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
}
