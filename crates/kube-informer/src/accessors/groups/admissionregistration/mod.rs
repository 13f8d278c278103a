//! `admissionregistration.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;
pub mod v1alpha1;
pub mod v1beta1;

group! {
    Admissionregistration:
    v1: V1,
    v1alpha1: V1alpha1,
    v1beta1: V1beta1,
}
