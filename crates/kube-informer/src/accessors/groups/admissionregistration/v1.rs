//! `admissionregistration.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::admissionregistration::v1 as kinds;

version! {
    V1:
    [k8s_if_ge_1_36] mutating_admission_policies: MutatingAdmissionPolicy,
    [k8s_if_ge_1_36] mutating_admission_policy_bindings: MutatingAdmissionPolicyBinding,
    mutating_webhook_configurations: MutatingWebhookConfiguration,
    validating_admission_policies: ValidatingAdmissionPolicy,
    validating_admission_policy_bindings: ValidatingAdmissionPolicyBinding,
    validating_webhook_configurations: ValidatingWebhookConfiguration,
}
