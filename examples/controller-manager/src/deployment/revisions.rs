//! The sets of a deployment by revision: the new one, found or made, and how far back old ones are kept.

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::api::{DeleteParams, PostParams, Preconditions};
use kube_controller::events::Event;

use super::template::{self, DESIRED, HASH_LABEL, MAX, REVISION, REVISION_HISTORY, note, noted};
use super::{Case, replicas_of, sort_by_age};
use crate::owners::{controller_of, reference_to};
use crate::worker::{Outcome, SyncError, is_already_exists, is_namespace_terminating, is_not_found, said};

/// How many old sets are kept, if the deployment does not say.
const DEFAULT_HISTORY: i32 = 10;

/// The history of a revision is not longer than that, in bytes.
const MAX_REVISION_HISTORY: usize = 2000;

impl Case<'_> {
    /// The name of the set of the present template; none if there is none and none may be made. Its notes, and the
    /// revision of the deployment, are brought up to date.
    pub(super) async fn find_new_set(&mut self, may_make: bool) -> Outcome<Option<String>> {
        let found = self.existing_new_set();
        let revision = self.max_old_revision(found.as_deref()).saturating_add(1);
        let Some(name) = found else {
            return if may_make { Ok(Some(self.make_new_set(revision).await?)) } else { Ok(None) };
        };
        let Some(mut set) = self.all.get(&name).cloned() else { return Ok(None) };
        let mut changed = self.annotate(&mut set, revision, true);
        if set.spec.min_ready_seconds.unwrap_or(0) != self.deployment.spec.min_ready_seconds.unwrap_or(0) {
            set.spec.min_ready_seconds = self.deployment.spec.min_ready_seconds;
            changed = true;
        }
        if changed {
            self.replace(&set).await?;
        }
        let revision =
            self.all.get(&name).and_then(|set| noted::<i64>(&set.metadata, REVISION)).unwrap_or(revision);
        self.say_begun(&name, false).await?;
        self.note_revision(revision).await?;
        Ok(Some(name))
    }

    /// The oldest set of the present template.
    pub(super) fn existing_new_set(&self) -> Option<String> {
        let mut all: Vec<ReplicaSet> = self.all.values().cloned().collect();
        sort_by_age(&mut all);
        let wanted = &self.deployment.spec.template;
        let same =
            |set: &ReplicaSet| set.spec.template.as_ref().is_some_and(|its| template::is_same(its, wanted));
        all.into_iter().find(same)?.metadata.name
    }

    fn max_old_revision(&self, new: Option<&str>) -> i64 {
        let old = self.all.values().filter(|set| set.metadata.name.as_deref() != new);
        old.filter_map(|set| noted::<i64>(&set.metadata, REVISION)).max().unwrap_or(0)
    }

    async fn make_new_set(&mut self, revision: i64) -> Outcome<String> {
        let deployment = self.deployment;
        let collisions = deployment.status.as_ref().and_then(|status| status.collision_count).unwrap_or(0);
        let hash = template::hash(&deployment.spec.template, collisions);
        let mut template = deployment.spec.template.clone();
        let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
        labels.insert(HASH_LABEL.to_owned(), hash.clone());
        let mut selector = deployment.spec.selector.clone();
        selector.match_labels.get_or_insert_default().insert(HASH_LABEL.to_owned(), hash.clone());
        let name = format!("{}-{hash}", deployment.name());
        let mut set = ReplicaSet {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(deployment.namespace().to_owned()),
                labels: template.metadata.as_ref().and_then(|meta| meta.labels.clone()),
                owner_references: Some(vec![reference_to(&**deployment)]),
                ..ObjectMeta::default()
            },
            spec: ReplicaSetSpec {
                min_ready_seconds: deployment.spec.min_ready_seconds,
                replicas: Some(0),
                selector,
                template: Some(template),
            },
            status: None,
        };
        let replicas = self.new_set_size(&set);
        set.spec.replicas = Some(replicas);
        self.annotate(&mut set, revision, false);
        note(&mut set.metadata, DESIRED, &self.wanted());
        note(&mut set.metadata, MAX, &self.most());
        let (set, made) = match self.sets.create(&PostParams::default(), &set).await {
            Ok(made) => (made, true),
            Err(error) if is_already_exists(&error) => {
                (self.somebody_was_faster(&set, collisions).await?, false)
            }
            // All of it goes soon.
            Err(error) if is_namespace_terminating(&error) => return Err(error.into()),
            Err(error) => {
                let note = format!("Failed to create new replica set {name:?}: {}", said(&error));
                // What has failed before is worse.
                let _ = self.say("False", "ReplicaSetCreateError", note.clone()).await;
                self.controller.tell(deployment, Event::warning("ReplicaSetCreateError", "Create", note));
                return Err(error.into());
            }
        };
        self.all.insert(name.clone(), set);
        // Of what was there already, it is told by whoever has made it.
        if made && replicas > 0 {
            self.tell_scaled("up", &name, 0, replicas);
        }
        if made {
            self.say_begun(&name, true).await?;
        }
        self.note_revision(revision).await?;
        Ok(name)
    }

    /// A set of that name is there. If it is the one that was to be made, the cache was behind; if not, another hash is
    /// tried next time.
    async fn somebody_was_faster(&self, set: &ReplicaSet, collisions: i32) -> Outcome<ReplicaSet> {
        let live = self.sets.get(set.metadata.name.as_deref().unwrap_or_default()).await?;
        let ours = controller_of(&live.metadata).is_some_and(|owner| owner.uid == self.deployment.uid());
        let same = match (&live.spec.template, &set.spec.template) {
            (Some(one), Some(two)) => template::is_same(one, two),
            _ => false,
        };
        if ours && same {
            return Ok(live);
        }
        let mut changed = (**self.deployment).clone();
        changed.status.get_or_insert_default().collision_count = Some(collisions.saturating_add(1));
        self.deployments.replace_status(self.deployment.name(), &PostParams::default(), &changed).await?;
        Err(SyncError::Other(format!("there is another replica set {:?}", live.metadata.name)))
    }

    /// Notes on a set what is said on its deployment, and its revision. True if that changed something.
    fn annotate(&self, set: &mut ReplicaSet, revision: i64, exists: bool) -> bool {
        let mut changed = false;
        for (key, value) in template::copied(self.deployment.metadata.annotations.as_ref()) {
            changed |= note(&mut set.metadata, &key, &value);
        }
        let before: Option<i64> = noted(&set.metadata, REVISION);
        if before.is_none_or(|before| before < revision) {
            note(&mut set.metadata, REVISION, &revision);
            changed = true;
            if let Some(before) = before.filter(|_| exists) {
                let history: Option<String> = noted(&set.metadata, REVISION_HISTORY);
                let history =
                    history.map_or_else(|| before.to_string(), |history| format!("{history},{before}"));
                note(&mut set.metadata, REVISION_HISTORY, latest(&history));
            }
        }
        changed
    }

    async fn note_revision(&self, revision: i64) -> Outcome {
        if noted(&self.deployment.metadata, REVISION) == Some(revision) {
            return Ok(());
        }
        let patch = serde_json::json!({"metadata": {"annotations": {REVISION: revision.to_string()}}});
        let patch = kube_client::api::Patch::Merge(&patch);
        let params = kube_client::api::PatchParams::default();
        self.deployments.patch_metadata(self.deployment.name(), &params, &patch).await?;
        Ok(())
    }

    /// Writes a set, and knows it from then on as it was answered.
    pub(super) async fn replace(&mut self, set: &ReplicaSet) -> Outcome {
        let name = set.metadata.name.clone().unwrap_or_default();
        let written = self.sets.replace(&name, &PostParams::default(), set).await?;
        self.all.insert(name, written);
        Ok(())
    }

    /// Deletes old sets that are further back than the deployment wants to remember, and have no pods.
    pub(super) async fn clean_up(&mut self, new: Option<&str>) -> Outcome {
        let limit = self.deployment.spec.revision_history_limit.unwrap_or(DEFAULT_HISTORY);
        let mut old = self.old_sets(new);
        old.retain(|set| set.metadata.deletion_timestamp.is_none());
        let surplus = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        old.sort_by_key(|set| noted::<i64>(&set.metadata, REVISION).unwrap_or(0));
        for set in old.into_iter().take(surplus) {
            let status = set.status.clone().unwrap_or_default();
            let is_behind = set.metadata.generation > status.observed_generation;
            if status.replicas != 0 || replicas_of(&set) != 0 || is_behind {
                continue;
            }
            let name = set.metadata.name.unwrap_or_default();
            let preconditions = Preconditions { uid: set.metadata.uid, resource_version: None };
            let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
            match self.sets.delete(&name, &params).await {
                Err(error) if !is_not_found(&error) => return Err(error.into()),
                _ => drop(self.all.remove(&name)),
            }
        }
        Ok(())
    }
}

/// The end of a history, from the first entry on with which it is not too long.
fn latest(history: &str) -> &str {
    let mut rest = history;
    while rest.len() > MAX_REVISION_HISTORY {
        let Some((_, later)) = rest.split_once(',') else { return "" };
        rest = later;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_that_is_too_long_loses_whole_entries_from_its_front() {
        assert_eq!(latest("1,2,30"), "1,2,30");
        let long = (1000..1500).map(|revision| revision.to_string()).collect::<Vec<_>>().join(",");
        let kept = latest(&long);
        assert!(kept.starts_with("1100,1101,") && kept.ends_with(",1499"), "{kept}");
        assert_eq!(kept.len(), MAX_REVISION_HISTORY - 1);
        let odd = format!("{}x,7", "ä".repeat(1500));
        assert_eq!(latest(&odd), "7");
        assert_eq!(latest(&"9".repeat(MAX_REVISION_HISTORY + 1)), "");
    }
}
