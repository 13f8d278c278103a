//! `scheduling.k8s.io/v1alpha3`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::scheduling::v1alpha3 as kinds;

version! {
    V1alpha3:
    composite_pod_groups: CompositePodGroup,
    pod_groups: PodGroup,
    workloads: Workload,
}
