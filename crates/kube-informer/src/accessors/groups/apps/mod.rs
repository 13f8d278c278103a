//! `apps`. Made by `cargo xtask accessors`: not to be edited.

pub mod v1;

group! {
    Apps:
    v1: V1,
}
