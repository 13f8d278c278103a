//! `networking.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;
k8s_openapi::k8s_if_le_1_36! { pub mod v1beta1; }

group! {
    Networking:
    v1: V1,
    [k8s_if_le_1_36] v1beta1: V1beta1,
}
