//! `node.k8s.io`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;

group! {
    Node:
    v1: V1,
}
