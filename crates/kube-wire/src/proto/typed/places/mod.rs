//! The fields of all types. Made by `cargo xtask places`: not to be edited.

mod apps_v1;
mod autoscaling_v2;
mod batch_v1;
mod coordination_v1;
mod core_v1;
mod discovery_v1;
mod events_v1;
mod meta_v1;
mod networking_v1;
mod policy_v1;
mod rbac_v1;
k8s_openapi::k8s_if_ge_1_37! { mod scheduling_v1alpha3; }
mod storage_v1;

use super::*;

kinds! {
    api::apps::v1::DaemonSet,
    api::apps::v1::Deployment,
    api::apps::v1::ReplicaSet,
    api::apps::v1::StatefulSet,
    api::autoscaling::v2::HorizontalPodAutoscaler,
    api::batch::v1::CronJob,
    api::batch::v1::Job,
    api::coordination::v1::Lease,
    api::core::v1::ConfigMap,
    api::core::v1::Endpoints,
    api::core::v1::Event,
    api::core::v1::LimitRange,
    api::core::v1::Namespace,
    api::core::v1::Node,
    api::core::v1::PersistentVolume,
    api::core::v1::PersistentVolumeClaim,
    api::core::v1::Pod,
    api::core::v1::ReplicationController,
    api::core::v1::ResourceQuota,
    api::core::v1::Secret,
    api::core::v1::Service,
    api::core::v1::ServiceAccount,
    api::discovery::v1::EndpointSlice,
    api::events::v1::Event,
    api::networking::v1::Ingress,
    api::networking::v1::NetworkPolicy,
    api::policy::v1::PodDisruptionBudget,
    api::rbac::v1::ClusterRole,
    api::rbac::v1::ClusterRoleBinding,
    api::rbac::v1::Role,
    api::rbac::v1::RoleBinding,
    api::storage::v1::StorageClass,
}
