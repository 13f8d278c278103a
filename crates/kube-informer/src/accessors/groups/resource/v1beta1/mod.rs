//! `resource.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

mod device_class;
mod resource_claim;
mod resource_claim_template;
mod resource_slice;

use k8s_openapi::api::resource::v1beta1 as kinds;

version! {
    V1beta1:
    DeviceClass,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
}
