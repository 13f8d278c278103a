//! What a replica set says about itself.

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube_client::api::{Api, PostParams};
use kube_informer::Object;

use crate::pods::{is_available, is_ready};
use crate::worker::{Outcome, SyncError, is_conflict, is_not_found};

/// The condition of a set whose pods cannot be made or deleted.
const REPLICA_FAILURE: &str = "ReplicaFailure";

pub(super) fn calculate(
    set: &ReplicaSet,
    pods: &[Object<Pod>],
    terminating: usize,
    failed: Option<&SyncError>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let spec = set.spec.clone();
    let min_ready = spec.min_ready_seconds.unwrap_or(0);
    let labels = spec.template.and_then(|template| template.metadata?.labels).unwrap_or_default();
    let count = |wanted: &dyn Fn(&Object<Pod>) -> bool| {
        i32::try_from(pods.iter().filter(|pod| wanted(pod)).count()).unwrap_or(i32::MAX)
    };
    let has_labels = |pod: &Object<Pod>| {
        let its = pod.metadata.labels.as_ref();
        labels.iter().all(|(key, value)| its.and_then(|its| its.get(key)) == Some(value))
    };
    let before = set.status.clone().unwrap_or_default();
    let wanted = spec.replicas.unwrap_or(1);
    let mut conditions = before.conditions.unwrap_or_default();
    let known = conditions.iter().any(|condition| condition.type_.as_deref() == Some(REPLICA_FAILURE));
    match failed {
        Some(error) if !known => conditions.push(ReplicaSetCondition {
            type_: Some(REPLICA_FAILURE.to_owned()),
            status: Some("True".to_owned()),
            reason: Some(reason(pods.len(), wanted).to_owned()),
            message: Some(error.to_string()),
            last_transition_time: Some(Time(now)),
        }),
        None => conditions.retain(|condition| condition.type_.as_deref() != Some(REPLICA_FAILURE)),
        Some(_) => {}
    }
    ReplicaSetStatus {
        replicas: count(&|_| true),
        fully_labeled_replicas: Some(count(&has_labels)),
        ready_replicas: Some(count(&|pod| is_ready(pod))),
        available_replicas: Some(count(&|pod| is_available(pod, min_ready, now))),
        terminating_replicas: Some(i32::try_from(terminating).unwrap_or(i32::MAX)),
        observed_generation: set.metadata.generation,
        conditions: Some(conditions).filter(|conditions| !conditions.is_empty()),
    }
}

fn reason(pods: usize, wanted: i32) -> &'static str {
    if pods < usize::try_from(wanted).unwrap_or(0) { "FailedCreate" } else { "FailedDelete" }
}

/// Writes what has changed; if somebody else was faster, once more on top of that.
pub(super) async fn update(
    sets: &Api<ReplicaSet>,
    set: &Object<ReplicaSet>,
    status: ReplicaSetStatus,
) -> Outcome {
    if is_same(set.status.as_ref(), &status) {
        return Ok(());
    }
    let mut changed = ReplicaSet { status: Some(status.clone()), ..(**set).clone() };
    changed.metadata.managed_fields = None;
    match sets.replace_status(set.name(), &PostParams::default(), &changed).await {
        Err(error) if is_conflict(&error) => {
            let mut fresh = sets.get(set.name()).await?;
            if fresh.metadata.uid != set.metadata.uid {
                return Ok(());
            }
            fresh.status = Some(status);
            sets.replace_status(set.name(), &PostParams::default(), &fresh).await?;
            Ok(())
        }
        Err(error) if is_not_found(&error) => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}

/// Figures that are zero need not be written.
fn is_same(before: Option<&ReplicaSetStatus>, now: &ReplicaSetStatus) -> bool {
    let plain = |status: &ReplicaSetStatus| ReplicaSetStatus {
        fully_labeled_replicas: Some(status.fully_labeled_replicas.unwrap_or(0)),
        ready_replicas: Some(status.ready_replicas.unwrap_or(0)),
        available_replicas: Some(status.available_replicas.unwrap_or(0)),
        terminating_replicas: Some(status.terminating_replicas.unwrap_or(0)),
        ..status.clone()
    };
    before.is_some_and(|before| plain(before) == plain(now))
}
