//! `storagemigration.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

k8s_openapi::k8s_if_ge_1_37! { pub mod v1; }
k8s_openapi::k8s_if_le_1_34! { pub mod v1alpha1; }
k8s_openapi::k8s_if_ge_1_35! { pub mod v1beta1; }

group! {
    Storagemigration:
    [k8s_if_ge_1_37] v1: V1,
    [k8s_if_le_1_34] v1alpha1: V1alpha1,
    [k8s_if_ge_1_35] v1beta1: V1beta1,
}
