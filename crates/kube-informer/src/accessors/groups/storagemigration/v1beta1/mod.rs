//! `storagemigration.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

mod storage_version_migration;

use k8s_openapi::api::storagemigration::v1beta1 as kinds;

version! {
    V1beta1:
    StorageVersionMigration,
}
