//! `rbac.authorization.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;

group! {
    Rbac:
    v1: V1,
}
