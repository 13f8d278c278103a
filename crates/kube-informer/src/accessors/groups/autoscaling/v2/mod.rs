//! `autoscaling/v2`. Made by `cargo xtask accessors`: not to be edited.

mod horizontal_pod_autoscaler;

use k8s_openapi::api::autoscaling::v2 as kinds;

version! {
    V2:
    HorizontalPodAutoscaler,
}
