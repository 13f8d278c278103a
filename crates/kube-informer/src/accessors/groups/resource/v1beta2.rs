//! `resource.k8s.io/v1beta2`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1beta2 as kinds;

version! {
    V1beta2:
    device_classes: DeviceClass,
    [k8s_if_ge_1_36] device_taint_rules: DeviceTaintRule,
    resource_claims: ResourceClaim,
    resource_claim_templates: ResourceClaimTemplate,
    resource_slices: ResourceSlice,
}
