//! `scheduling.k8s.io/v1alpha3`. Made by `cargo xtask accessors`: not to be edited.

mod composite_pod_group;
mod pod_group;
mod workload;

use k8s_openapi::api::scheduling::v1alpha3 as kinds;

version! {
    V1alpha3:
    CompositePodGroup,
    PodGroup,
    Workload,
}
