//! `scheduling.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

mod workload;

use k8s_openapi::api::scheduling::v1alpha1 as kinds;

version! {
    V1alpha1:
    Workload,
}
