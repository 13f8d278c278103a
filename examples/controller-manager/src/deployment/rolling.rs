//! Rolling update: the new set grows and the old ones shrink, step by step, within the limits of the deployment.

use k8s_openapi::api::apps::v1::ReplicaSet;

use super::{Case, available_of, replicas_of};
use crate::worker::{Again, Outcome};

impl Case<'_> {
    pub(super) async fn rolling_update(&mut self) -> Outcome<Again> {
        let new = self.find_new_set(true).await?;
        let name = new.as_deref();
        // One step at a time: what comes of it is seen first.
        if !self.grow_new(name).await? && !self.shrink_old(name).await? && self.is_complete(name) {
            self.clean_up(name).await?;
        }
        self.sync_rollout_status(name).await
    }

    async fn grow_new(&mut self, new: Option<&str>) -> Outcome<bool> {
        let Some(set) = new.and_then(|name| self.all.get(name)).cloned() else { return Ok(false) };
        let size = match replicas_of(&set).cmp(&self.wanted()) {
            std::cmp::Ordering::Equal => return Ok(false),
            std::cmp::Ordering::Greater => self.wanted(),
            std::cmp::Ordering::Less => self.new_set_size(&set),
        };
        self.resize(&set, size).await
    }

    async fn shrink_old(&mut self, new: Option<&str>) -> Outcome<bool> {
        let old: Vec<ReplicaSet> =
            self.old_sets(new).into_iter().filter(|set| replicas_of(set) > 0).collect();
        if old.is_empty() {
            return Ok(false);
        }
        // Pods of the new set that do not work yet must not be relied upon.
        let unavailable_new = new
            .and_then(|name| self.all.get(name))
            .map_or(0, |set| replicas_of(set).saturating_sub(available_of(set)));
        let least = self.wanted().saturating_sub(self.max_unavailable());
        let may_go = self.total().saturating_sub(least).saturating_sub(unavailable_new);
        if may_go <= 0 {
            return Ok(false);
        }
        let cleaned = self.shrink_unhealthy(&old, may_go).await?;
        let shrunk = self.shrink_healthy(new, least).await?;
        Ok(cleaned > 0 || shrunk > 0)
    }

    /// Old pods that do not work go first: nobody misses them.
    async fn shrink_unhealthy(&mut self, old: &[ReplicaSet], may_go: i32) -> Outcome<i32> {
        let mut gone = 0_i32;
        for set in old {
            let broken = replicas_of(set).saturating_sub(available_of(set));
            let go = broken.min(may_go.saturating_sub(gone));
            if go > 0 {
                self.resize(set, replicas_of(set).saturating_sub(go)).await?;
                gone = gone.saturating_add(go);
            }
        }
        Ok(gone)
    }

    async fn shrink_healthy(&mut self, new: Option<&str>, least: i32) -> Outcome<i32> {
        let available = super::sum(self.all.values().map(available_of));
        let may_go = available.saturating_sub(least);
        let mut gone = 0_i32;
        for set in self.old_sets(new) {
            let go = replicas_of(&set).min(may_go.saturating_sub(gone));
            if go > 0 {
                self.resize(&set, replicas_of(&set).saturating_sub(go)).await?;
                gone = gone.saturating_add(go);
            }
        }
        Ok(gone)
    }
}
