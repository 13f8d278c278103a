//! `storage.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod storage_class;
mod volume_attachment;
k8s_openapi::k8s_if_ge_1_34! { mod volume_attributes_class; }

use k8s_openapi::api::storage::v1 as kinds;

version! {
    V1:
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    [k8s_if_ge_1_34] VolumeAttributesClass,
}
