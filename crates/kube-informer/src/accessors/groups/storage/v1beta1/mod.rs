//! `storage.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

mod volume_attributes_class;

use k8s_openapi::api::storage::v1beta1 as kinds;

version! {
    V1beta1:
    VolumeAttributesClass,
}
