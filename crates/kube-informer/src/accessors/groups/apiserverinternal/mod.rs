//! `internal.apiserver.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1alpha1;

group! {
    Apiserverinternal:
    v1alpha1: V1alpha1,
}
