//! `storage.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::storage::v1 as kinds;

version! {
    V1:
    csi_drivers: CSIDriver,
    csi_nodes: CSINode,
    csi_storage_capacities: CSIStorageCapacity,
    storage_classes: StorageClass,
    volume_attachments: VolumeAttachment,
    [k8s_if_ge_1_34] volume_attributes_classes: VolumeAttributesClass,
}
