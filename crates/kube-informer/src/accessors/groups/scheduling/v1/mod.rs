//! `scheduling.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod priority_class;

use k8s_openapi::api::scheduling::v1 as kinds;

version! {
    V1:
    PriorityClass,
}
