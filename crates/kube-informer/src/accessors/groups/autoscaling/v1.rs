//! `autoscaling/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::autoscaling::v1 as kinds;

version! {
    V1:
    horizontal_pod_autoscalers: HorizontalPodAutoscaler,
}
