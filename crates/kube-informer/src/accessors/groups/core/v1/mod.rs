//! `v1`. Made by `cargo xtask accessors`: not to be edited.

mod component_status;
mod config_map;
mod endpoints;
mod event;
mod limit_range;
mod namespace;
mod node;
mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_template;
mod replication_controller;
mod resource_quota;
mod secret;
mod service;
mod service_account;

use k8s_openapi::api::core::v1 as kinds;

version! {
    V1:
    ComponentStatus,
    ConfigMap,
    Endpoints,
    Event,
    LimitRange,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodTemplate,
    ReplicationController,
    ResourceQuota,
    Secret,
    Service,
    ServiceAccount,
}
