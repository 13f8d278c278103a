//! `scheduling.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;
k8s_openapi::k8s_if_1_35! { pub mod v1alpha1; }
k8s_openapi::k8s_if_1_36! { pub mod v1alpha2; }
k8s_openapi::k8s_if_ge_1_37! { pub mod v1alpha3; }
k8s_openapi::k8s_if_ge_1_37! { pub mod v1beta1; }

group! {
    Scheduling:
    v1: V1,
    [k8s_if_1_35] v1alpha1: V1alpha1,
    [k8s_if_1_36] v1alpha2: V1alpha2,
    [k8s_if_ge_1_37] v1alpha3: V1alpha3,
    [k8s_if_ge_1_37] v1beta1: V1beta1,
}
