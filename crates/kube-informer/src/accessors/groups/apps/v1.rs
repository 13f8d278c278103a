//! `apps/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::apps::v1 as kinds;

version! {
    V1:
    controller_revisions: ControllerRevision,
    daemon_sets: DaemonSet,
    deployments: Deployment,
    replica_sets: ReplicaSet,
    stateful_sets: StatefulSet,
}
