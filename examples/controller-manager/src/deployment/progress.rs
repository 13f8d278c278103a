//! What a deployment says about itself: how far it is, and whether it still gets anywhere.

use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentStatus, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::SignedDuration;
use kube_client::api::PostParams;

use super::{Case, available_of, seconds};
use crate::worker::{Again, Outcome, is_conflict};

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// It scales, and does not update.
const PAUSED: &str = "DeploymentPaused";

/// Everything is as it should be.
const DONE: &str = "NewReplicaSetAvailable";

/// A deployment that does not say how long it may take may take for ever.
const NO_DEADLINE: i32 = i32::MAX;

impl Case<'_> {
    /// All pods are of the new set, and work.
    pub(super) fn is_complete(&self, new: Option<&str>) -> bool {
        let status = self.status(new);
        is_complete(&status, self.wanted(), self.deployment.metadata.generation)
    }

    /// Writes what has changed. Says when to look again at one that may come to a halt.
    pub(super) async fn sync_rollout_status(&self, new: Option<&str>) -> Outcome<Again> {
        if self.told {
            return Ok(None);
        }
        let mut status = self.status(new);
        self.judge_progress(&mut status, new);
        self.copy_failure(&mut status, new);
        let again = self.look_again(&status);
        Ok(if self.write(status).await? { None } else { again })
    }

    /// Writes what has changed, and judges nothing: it is not in the middle of an update, or will be judged next.
    pub(super) async fn sync_status(&self, new: Option<&str>) -> Outcome<Again> {
        if self.told {
            return Ok(None);
        }
        self.write(self.status(new)).await?;
        Ok(None)
    }

    /// Says that a new set was made, or found by one who has not said anything yet.
    pub(super) async fn say_begun(&mut self, name: &str, made: bool) -> Outcome {
        let status = self.deployment.status.clone().unwrap_or_default();
        if made {
            let message = format!("Created new replica set {name:?}");
            self.say("True", "NewReplicaSetCreated", message).await
        } else if find(&status, PROGRESSING).is_none() {
            self.say("True", "FoundNewReplicaSet", format!("Found new replica set {name:?}")).await
        } else {
            Ok(())
        }
    }

    /// Says how the update goes, if anybody wants to know.
    pub(super) async fn say(&mut self, value: &str, reason: &str, message: String) -> Outcome {
        let mut status = self.deployment.status.clone().unwrap_or_default();
        if self.has_deadline() {
            self.set(&mut status, PROGRESSING, value, reason, message);
            self.told |= self.write(status).await?;
        }
        Ok(())
    }

    /// Says that it is paused, or is not any more. True if that was not said before.
    pub(super) async fn say_whether_paused(&self) -> Outcome<bool> {
        let mut status = self.deployment.status.clone().unwrap_or_default();
        let said =
            find(&status, PROGRESSING).and_then(|condition| condition.reason.clone()).unwrap_or_default();
        if !self.has_deadline() || said == "ProgressDeadlineExceeded" {
            return Ok(false);
        }
        match (self.deployment.spec.paused == Some(true), said == PAUSED) {
            (true, false) => {
                self.set(&mut status, PROGRESSING, "Unknown", PAUSED, "Deployment is paused".to_owned());
            }
            (false, true) => {
                let message = "Deployment is resumed".to_owned();
                self.set(&mut status, PROGRESSING, "Unknown", "DeploymentResumed", message);
            }
            _ => return Ok(false),
        }
        self.write(status).await
    }

    /// Writes a status; false if there is nothing new in it.
    async fn write(&self, status: DeploymentStatus) -> Outcome<bool> {
        if plain(&self.deployment.status.clone().unwrap_or_default()) == plain(&status) {
            return Ok(false);
        }
        let mut changed = (**self.deployment).clone();
        changed.status = Some(status);
        match self.deployments.replace_status(self.deployment.name(), &PostParams::default(), &changed).await
        {
            // It is looked at again as it is by now.
            Err(error) if is_conflict(&error) => Ok(true),
            outcome => Ok(outcome.map(|_| true)?),
        }
    }

    fn status(&self, new: Option<&str>) -> DeploymentStatus {
        let status = |set: &ReplicaSet| set.status.clone().unwrap_or_default();
        let sum = |count: &dyn Fn(&ReplicaSet) -> i32| super::sum(self.all.values().map(count));
        let available = sum(&available_of);
        let total = sum(&|set| status(set).replicas);
        // Those that are wanted and not there are unavailable too.
        let wanted = self.total();
        let before = self.deployment.status.clone().unwrap_or_default();
        let mut next = DeploymentStatus {
            observed_generation: self.deployment.metadata.generation,
            replicas: Some(total),
            updated_replicas: Some(
                new.and_then(|name| self.all.get(name)).map_or(0, |set| status(set).replicas),
            ),
            ready_replicas: Some(sum(&|set| status(set).ready_replicas.unwrap_or(0))),
            available_replicas: Some(available),
            unavailable_replicas: Some(wanted.saturating_sub(available).max(0)),
            terminating_replicas: Some(sum(&|set| status(set).terminating_replicas.unwrap_or(0))),
            collision_count: before.collision_count,
            conditions: before.conditions,
        };
        let enough = available >= self.wanted().saturating_sub(self.max_unavailable());
        let (value, reason, message) = if enough {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        };
        self.set(&mut next, AVAILABLE, value, reason, message.to_owned());
        next
    }

    fn judge_progress(&self, status: &mut DeploymentStatus, new: Option<&str>) {
        if !self.has_deadline() {
            remove(status, PROGRESSING);
            return;
        }
        let current = find(status, PROGRESSING).cloned();
        let reason = current.as_ref().and_then(|condition| condition.reason.clone()).unwrap_or_default();
        if status.replicas == status.updated_replicas && reason == DONE {
            return;
        }
        let named = new.map_or_else(String::new, |name| format!("ReplicaSet {name:?} "));
        if is_complete(status, self.wanted(), self.deployment.metadata.generation) {
            self.set(status, PROGRESSING, "True", DONE, format!("{named}has successfully progressed."));
        } else if self.has_moved(status) || current.is_none() {
            // It is said anew, so that the time counts from now.
            let since = current.filter(|condition| condition.status.as_deref() == Some("True"));
            let since = since.and_then(|condition| condition.last_transition_time);
            remove(status, PROGRESSING);
            self.set(status, PROGRESSING, "True", "ReplicaSetUpdated", format!("{named}is progressing."));
            if let (Some(since), Some(condition)) = (since, find_mut(status, PROGRESSING)) {
                condition.last_transition_time = Some(since);
            }
        } else if self.is_late(current.as_ref()) {
            let message = format!("{named}has timed out progressing.");
            self.set(status, PROGRESSING, "False", "ProgressDeadlineExceeded", message);
        }
    }

    /// More new pods, fewer old ones, or more that work, than when it was last said.
    fn has_moved(&self, now: &DeploymentStatus) -> bool {
        let before = self.deployment.status.clone().unwrap_or_default();
        let figure = |figure: Option<i32>| figure.unwrap_or(0);
        let old = |status: &DeploymentStatus| {
            figure(status.replicas).saturating_sub(figure(status.updated_replicas))
        };
        figure(now.updated_replicas) > figure(before.updated_replicas)
            || old(now) < old(&before)
            || figure(now.ready_replicas) > figure(before.ready_replicas)
            || figure(now.available_replicas) > figure(before.available_replicas)
    }

    fn is_late(&self, condition: Option<&DeploymentCondition>) -> bool {
        let Some(condition) = condition else { return false };
        match condition.reason.as_deref() {
            Some(DONE) => false,
            Some("ProgressDeadlineExceeded") => true,
            _ => self.left(condition).is_none(),
        }
    }

    /// How many seconds are left before there should have been some progress; none if they are over.
    fn left(&self, condition: &DeploymentCondition) -> Option<i64> {
        let since = condition.last_update_time.as_ref()?.0;
        let deadline = i64::from(self.deployment.spec.progress_deadline_seconds.unwrap_or(NO_DEADLINE));
        let passed = self.controller.options.now().duration_since(since);
        (passed < SignedDuration::from_secs(deadline)).then(|| deadline - passed.as_secs())
    }

    /// Nobody tells when nothing happens: one that may come to a halt is looked at when its time is over.
    fn look_again(&self, status: &DeploymentStatus) -> Again {
        let condition = find(status, PROGRESSING).filter(|_| self.has_deadline())?;
        let open = !matches!(condition.reason.as_deref(), Some(DONE | "ProgressDeadlineExceeded"));
        if !open || is_complete(status, self.wanted(), self.deployment.metadata.generation) {
            return None;
        }
        Some(self.left(condition).map_or(seconds(1), |left| seconds(left + 1)))
    }

    fn has_deadline(&self) -> bool {
        self.deployment.spec.progress_deadline_seconds.is_some_and(|deadline| deadline != NO_DEADLINE)
    }

    /// A set that cannot make its pods makes its deployment say so.
    fn copy_failure(&self, status: &mut DeploymentStatus, new: Option<&str>) {
        let failure = |set: &ReplicaSet| {
            let conditions = set.status.as_ref()?.conditions.as_ref()?;
            conditions.iter().find(|one| one.type_.as_deref() == Some(REPLICA_FAILURE)).cloned()
        };
        let of_new = new.and_then(|name| self.all.get(name)).and_then(failure);
        match of_new.or_else(|| self.old_sets(new).iter().find_map(failure)) {
            Some(failed) => {
                let (reason, message) =
                    (failed.reason.unwrap_or_default(), failed.message.unwrap_or_default());
                self.set(status, REPLICA_FAILURE, "True", &reason, message);
            }
            None => remove(status, REPLICA_FAILURE),
        }
    }

    /// Says something that is not said already.
    fn set(&self, status: &mut DeploymentStatus, kind: &str, value: &str, reason: &str, message: String) {
        let now = Time(self.controller.options.now());
        let mut since = Some(now.clone());
        if let Some(current) = find(status, kind) {
            if current.status.as_deref() == Some(value) {
                if current.reason.as_deref() == Some(reason) {
                    return;
                }
                since.clone_from(&current.last_transition_time);
            }
            remove(status, kind);
        }
        status.conditions.get_or_insert_default().push(DeploymentCondition {
            type_: Some(kind.to_owned()),
            status: Some(value.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_update_time: Some(now),
            last_transition_time: since,
        });
    }
}

fn is_complete(status: &DeploymentStatus, wanted: i32, generation: Option<i64>) -> bool {
    status.updated_replicas.unwrap_or(0) == wanted
        && status.replicas.unwrap_or(0) == wanted
        && status.available_replicas.unwrap_or(0) == wanted
        && status.observed_generation >= generation
}

fn find<'a>(status: &'a DeploymentStatus, kind: &str) -> Option<&'a DeploymentCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_.as_deref() == Some(kind))
}

fn find_mut<'a>(status: &'a mut DeploymentStatus, kind: &str) -> Option<&'a mut DeploymentCondition> {
    status.conditions.iter_mut().flatten().find(|condition| condition.type_.as_deref() == Some(kind))
}

fn remove(status: &mut DeploymentStatus, kind: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_.as_deref() != Some(kind));
    }
}

/// Figures that are zero need not be written, and times have no parts of seconds there.
fn plain(status: &DeploymentStatus) -> DeploymentStatus {
    let figure = |figure: Option<i32>| Some(figure.unwrap_or(0));
    let mut conditions = status.conditions.clone().unwrap_or_default();
    conditions.sort_by(|one, two| one.type_.cmp(&two.type_));
    DeploymentStatus {
        replicas: figure(status.replicas),
        updated_replicas: figure(status.updated_replicas),
        ready_replicas: figure(status.ready_replicas),
        available_replicas: figure(status.available_replicas),
        unavailable_replicas: figure(status.unavailable_replicas),
        terminating_replicas: figure(status.terminating_replicas),
        conditions: Some(conditions).filter(|conditions| !conditions.is_empty()),
        ..status.clone()
    }
}
