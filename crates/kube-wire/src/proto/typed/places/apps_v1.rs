//! `apps/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::apps::v1 as types;

use super::*;

places! {
    "apps/v1"
    DaemonSet {
        1 metadata, 2 spec, 3 status;
    }
    DaemonSetCondition {
        1 type_, 2 status, 3 last_transition_time, 4 reason, 5 message;
        empty 3 4 5;
    }
    DaemonSetSpec {
        1 selector, 2 template, 3 update_strategy, 4 min_ready_seconds, 6 revision_history_limit;
        zero 4;
    }
    DaemonSetStatus {
        1 current_number_scheduled, 2 number_misscheduled, 3 desired_number_scheduled, 4 number_ready,
        5 observed_generation, 6 updated_number_scheduled, 7 number_available, 8 number_unavailable,
        9 collision_count, 10 conditions;
        zero 5 6 7 8;
    }
    DaemonSetUpdateStrategy {
        1 type_, 2 rolling_update;
        empty 1;
    }
    Deployment {
        1 metadata, 2 spec, 3 status;
    }
    DeploymentCondition {
        1 type_, 2 status, 4 reason, 5 message, 6 last_update_time, 7 last_transition_time;
        empty 4 5 6 7;
    }
    DeploymentSpec {
        1 replicas, 2 selector, 3 template, 4 strategy, 5 min_ready_seconds, 6 revision_history_limit,
        7 paused, 9 progress_deadline_seconds;
        zero 5 7;
    }
    DeploymentStatus {
        1 observed_generation, 2 replicas, 3 updated_replicas, 4 available_replicas, 5 unavailable_replicas,
        6 conditions, 7 ready_replicas, 8 collision_count, 9 terminating_replicas;
        zero 1 2 3 4 5 7;
    }
    DeploymentStrategy {
        1 type_, 2 rolling_update;
        empty 1;
    }
    ReplicaSet {
        1 metadata, 2 spec, 3 status;
    }
    ReplicaSetCondition {
        1 type_, 2 status, 3 last_transition_time, 4 reason, 5 message;
        empty 3 4 5;
    }
    ReplicaSetSpec {
        1 replicas, 2 selector, 3 template, 4 min_ready_seconds;
        zero 4;
    }
    ReplicaSetStatus {
        1 replicas, 2 fully_labeled_replicas, 3 observed_generation, 4 ready_replicas, 5 available_replicas,
        6 conditions, 7 terminating_replicas;
        zero 2 3 4 5;
    }
    RollingUpdateDaemonSet {
        1 max_unavailable, 2 max_surge;
    }
    RollingUpdateDeployment {
        1 max_unavailable, 2 max_surge;
    }
    RollingUpdateStatefulSetStrategy {
        1 partition, 2 max_unavailable;
    }
    StatefulSet {
        1 metadata, 2 spec, 3 status;
    }
    StatefulSetCondition {
        1 type_, 2 status, 3 last_transition_time, 4 reason, 5 message;
        empty 3 4 5;
    }
    StatefulSetOrdinals {
        1 start;
    }
    StatefulSetPersistentVolumeClaimRetentionPolicy {
        1 when_deleted, 2 when_scaled;
        empty 1 2;
    }
    StatefulSetSpec {
        1 replicas, 2 selector, 3 template, 4 volume_claim_templates, 5 service_name, 6 pod_management_policy,
        7 update_strategy, 8 revision_history_limit, 9 min_ready_seconds,
        10 persistent_volume_claim_retention_policy, 11 ordinals;
        empty 6;
        zero 9;
    }
    StatefulSetStatus {
        1 observed_generation, 2 replicas, 3 ready_replicas, 4 current_replicas, 5 updated_replicas,
        6 current_revision, 7 update_revision, 9 collision_count, 10 conditions, 11 available_replicas;
        empty 6 7;
        zero 1 3 4 5;
    }
    StatefulSetUpdateStrategy {
        1 type_, 2 rolling_update;
        empty 1;
    }
}
