//! `resource.k8s.io/v1beta2`. Made by `cargo xtask accessors`: not to be edited.

mod device_class;
k8s_openapi::k8s_if_ge_1_36! { mod device_taint_rule; }
mod resource_claim;
mod resource_claim_template;
mod resource_slice;

use k8s_openapi::api::resource::v1beta2 as kinds;

version! {
    V1beta2:
    DeviceClass,
    [k8s_if_ge_1_36] DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
}
