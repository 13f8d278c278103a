//! The core group. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;

group! {
    Core:
    v1: V1,
}
