//! `resource.k8s.io/v1alpha3`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1alpha3 as kinds;

version! {
    V1alpha3:
    [k8s_if_le_1_33] device_classes: DeviceClass,
    device_taint_rules: DeviceTaintRule,
    [k8s_if_le_1_33] resource_claims: ResourceClaim,
    [k8s_if_le_1_33] resource_claim_templates: ResourceClaimTemplate,
    [k8s_if_ge_1_36] resource_pool_status_requests: ResourcePoolStatusRequest,
    [k8s_if_le_1_33] resource_slices: ResourceSlice,
}
