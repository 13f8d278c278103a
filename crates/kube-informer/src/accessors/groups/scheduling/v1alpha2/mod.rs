//! `scheduling.k8s.io/v1alpha2`. Made by `cargo xtask accessors`: not to be edited.

mod pod_group;
mod workload;

use k8s_openapi::api::scheduling::v1alpha2 as kinds;

version! {
    V1alpha2:
    PodGroup,
    Workload,
}
