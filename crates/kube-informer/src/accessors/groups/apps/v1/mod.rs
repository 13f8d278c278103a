//! `apps/v1`. Made by `cargo xtask accessors`: not to be edited.

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod stateful_set;

use k8s_openapi::api::apps::v1 as kinds;

version! {
    V1:
    ControllerRevision,
    DaemonSet,
    Deployment,
    ReplicaSet,
    StatefulSet,
}
