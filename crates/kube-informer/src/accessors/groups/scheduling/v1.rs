//! `scheduling.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::scheduling::v1 as kinds;

version! {
    V1:
    priority_classes: PriorityClass,
}
