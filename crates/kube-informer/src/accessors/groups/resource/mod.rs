//! `resource.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

k8s_openapi::k8s_if_ge_1_34! { pub mod v1; }
pub mod v1alpha3;
pub mod v1beta1;
pub mod v1beta2;

group! {
    Resource:
    [k8s_if_ge_1_34] v1: V1,
    v1alpha3: V1alpha3,
    v1beta1: V1beta1,
    v1beta2: V1beta2,
}
