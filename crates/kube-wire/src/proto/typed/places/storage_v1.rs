//! `storage/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::storage::v1 as types;

use super::*;

places! {
    "storage/v1"
    StorageClass {
        1 metadata, 2 provisioner, 3 parameters, 4 reclaim_policy, 5 mount_options, 6 allow_volume_expansion,
        7 volume_binding_mode, 8 allowed_topologies;
    }
}
