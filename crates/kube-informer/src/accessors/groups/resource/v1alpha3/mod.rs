//! `resource.k8s.io/v1alpha3`. Made by `cargo xtask accessors`: not to be edited.

k8s_openapi::k8s_if_le_1_33! { mod device_class; }
mod device_taint_rule;
k8s_openapi::k8s_if_le_1_33! { mod resource_claim; }
k8s_openapi::k8s_if_le_1_33! { mod resource_claim_template; }
k8s_openapi::k8s_if_ge_1_36! { mod resource_pool_status_request; }
k8s_openapi::k8s_if_le_1_33! { mod resource_slice; }

use k8s_openapi::api::resource::v1alpha3 as kinds;

version! {
    V1alpha3:
    [k8s_if_le_1_33] DeviceClass,
    DeviceTaintRule,
    [k8s_if_le_1_33] ResourceClaim,
    [k8s_if_le_1_33] ResourceClaimTemplate,
    [k8s_if_ge_1_36] ResourcePoolStatusRequest,
    [k8s_if_le_1_33] ResourceSlice,
}
