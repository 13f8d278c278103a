//! `policy`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;

group! {
    Policy:
    v1: V1,
}
