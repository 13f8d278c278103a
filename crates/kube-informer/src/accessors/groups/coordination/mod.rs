//! `coordination.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;
pub mod v1alpha2;
pub mod v1beta1;

group! {
    Coordination:
    v1: V1,
    v1alpha2: V1alpha2,
    v1beta1: V1beta1,
}
