//! `resource.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::resource::v1beta1 as kinds;

version! {
    V1beta1:
    device_classes: DeviceClass,
    resource_claims: ResourceClaim,
    resource_claim_templates: ResourceClaimTemplate,
    resource_slices: ResourceSlice,
}
