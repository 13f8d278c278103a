//! `autoscaling/v1`. Made by `cargo xtask accessors`: not to be edited.

mod horizontal_pod_autoscaler;

use k8s_openapi::api::autoscaling::v1 as kinds;

version! {
    V1:
    HorizontalPodAutoscaler,
}
