//! `storagemigration.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod storage_version_migration;

use k8s_openapi::api::storagemigration::v1 as kinds;

version! {
    V1:
    StorageVersionMigration,
}
