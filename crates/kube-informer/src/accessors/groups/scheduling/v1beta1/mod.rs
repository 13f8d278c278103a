//! `scheduling.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

mod pod_group;
mod workload;

use k8s_openapi::api::scheduling::v1beta1 as kinds;

version! {
    V1beta1:
    PodGroup,
    Workload,
}
