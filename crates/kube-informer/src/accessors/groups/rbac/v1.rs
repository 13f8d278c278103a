//! `rbac.authorization.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::rbac::v1 as kinds;

version! {
    V1:
    cluster_roles: ClusterRole,
    cluster_role_bindings: ClusterRoleBinding,
    roles: Role,
    role_bindings: RoleBinding,
}
