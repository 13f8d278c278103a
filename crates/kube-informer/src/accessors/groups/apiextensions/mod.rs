//! `apiextensions.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;

group! {
    Apiextensions:
    v1: V1,
}
