//! `resource.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod device_class;
k8s_openapi::k8s_if_ge_1_37! { mod device_taint_rule; }
mod resource_claim;
mod resource_claim_template;
mod resource_slice;

use k8s_openapi::api::resource::v1 as kinds;

version! {
    V1:
    DeviceClass,
    [k8s_if_ge_1_37] DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
}
