//! `batch`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;

group! {
    Batch:
    v1: V1,
}
