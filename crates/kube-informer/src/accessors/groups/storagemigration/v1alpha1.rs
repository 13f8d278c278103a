//! `storagemigration.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::storagemigration::v1alpha1 as kinds;

version! {
    V1alpha1:
    storage_version_migrations: StorageVersionMigration,
}
