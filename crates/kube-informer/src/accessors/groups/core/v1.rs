//! `v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::core::v1 as kinds;

version! {
    V1:
    component_statuses: ComponentStatus,
    config_maps: ConfigMap,
    endpoints: Endpoints,
    events: Event,
    limit_ranges: LimitRange,
    namespaces: Namespace,
    nodes: Node,
    persistent_volumes: PersistentVolume,
    persistent_volume_claims: PersistentVolumeClaim,
    pods: Pod,
    pod_templates: PodTemplate,
    replication_controllers: ReplicationController,
    resource_quotas: ResourceQuota,
    secrets: Secret,
    services: Service,
    service_accounts: ServiceAccount,
}
