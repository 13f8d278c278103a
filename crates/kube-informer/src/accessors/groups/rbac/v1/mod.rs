//! `rbac.authorization.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod cluster_role;
mod cluster_role_binding;
mod role;
mod role_binding;

use k8s_openapi::api::rbac::v1 as kinds;

version! {
    V1:
    ClusterRole,
    ClusterRoleBinding,
    Role,
    RoleBinding,
}
