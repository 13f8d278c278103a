//! `autoscaling`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;
pub mod v2;

group! {
    Autoscaling:
    v1: V1,
    v2: V2,
}
