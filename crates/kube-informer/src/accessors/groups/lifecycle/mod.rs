//! `lifecycle.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

k8s_openapi::k8s_if_ge_1_37! { pub mod v1alpha1; }

group! {
    Lifecycle:
    [k8s_if_ge_1_37] v1alpha1: V1alpha1,
}
