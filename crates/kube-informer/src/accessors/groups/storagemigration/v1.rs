//! `storagemigration.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::storagemigration::v1 as kinds;

version! {
    V1:
    storage_version_migrations: StorageVersionMigration,
}
