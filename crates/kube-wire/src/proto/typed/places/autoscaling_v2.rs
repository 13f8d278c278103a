//! `autoscaling/v2`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::autoscaling::v2 as types;

use super::*;

places! {
    "autoscaling/v2"
    ContainerResourceMetricSource {
        1 name, 2 target, 3 container;
    }
    ContainerResourceMetricStatus {
        1 name, 2 current, 3 container;
    }
    CrossVersionObjectReference {
        1 kind, 2 name, 3 api_version;
        empty 3;
    }
    ExternalMetricSource {
        1 metric, 2 target;
    }
    ExternalMetricStatus {
        1 metric, 2 current;
    }
    HPAScalingPolicy {
        1 type_, 2 value, 3 period_seconds;
    }
    HPAScalingRules {
        1 select_policy, 2 policies, 3 stabilization_window_seconds, 4 tolerance;
    }
    HorizontalPodAutoscaler {
        1 metadata, 2 spec, 3 status;
    }
    HorizontalPodAutoscalerBehavior {
        1 scale_up, 2 scale_down;
    }
    HorizontalPodAutoscalerCondition {
        1 type_, 2 status, 3 last_transition_time, 4 reason, 5 message;
        [k8s_if_ge_1_37] 6 observed_generation;
        empty 3 4 5;
    }
    HorizontalPodAutoscalerSpec {
        1 scale_target_ref, 2 min_replicas, 3 max_replicas, 4 metrics, 5 behavior;
    }
    HorizontalPodAutoscalerStatus {
        1 observed_generation, 2 last_scale_time, 3 current_replicas, 4 desired_replicas, 5 current_metrics,
        6 conditions;
        empty 2;
        zero 3;
    }
    MetricIdentifier {
        1 name, 2 selector;
    }
    MetricSpec {
        1 type_, 2 object, 3 pods, 4 resource, 5 external, 7 container_resource;
    }
    MetricStatus {
        1 type_, 2 object, 3 pods, 4 resource, 5 external, 7 container_resource;
    }
    MetricTarget {
        1 type_, 2 value, 3 average_value, 4 average_utilization;
    }
    MetricValueStatus {
        1 value, 2 average_value, 3 average_utilization;
    }
    ObjectMetricSource {
        1 described_object, 2 target, 3 metric;
    }
    ObjectMetricStatus {
        1 metric, 2 current, 3 described_object;
    }
    PodsMetricSource {
        1 metric, 2 target;
    }
    PodsMetricStatus {
        1 metric, 2 current;
    }
    ResourceMetricSource {
        1 name, 2 target;
    }
    ResourceMetricStatus {
        1 name, 2 current;
    }
}
