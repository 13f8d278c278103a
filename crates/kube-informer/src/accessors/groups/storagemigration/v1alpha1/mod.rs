//! `storagemigration.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

mod storage_version_migration;

use k8s_openapi::api::storagemigration::v1alpha1 as kinds;

version! {
    V1alpha1:
    StorageVersionMigration,
}
