//! Recreate: all old pods end before the first new one is made.

use super::{Case, replicas_of};
use crate::worker::{Again, Outcome};

impl Case<'_> {
    pub(super) async fn recreate(&mut self) -> Outcome<Again> {
        let new = self.find_new_set(false).await?;
        let mut shrunk = false;
        for set in self.old_sets(new.as_deref()).into_iter().filter(|set| replicas_of(set) > 0) {
            shrunk |= self.resize(&set, 0).await?;
        }
        if shrunk || self.old_pods_run(new.as_deref()) {
            return self.sync_rollout_status(new.as_deref()).await;
        }
        let new = match new {
            Some(name) => Some(name),
            None => self.find_new_set(true).await?,
        };
        if let Some(set) = new.as_deref().and_then(|name| self.all.get(name)).cloned() {
            self.resize(&set, self.wanted()).await?;
        }
        if self.is_complete(new.as_deref()) {
            self.clean_up(new.as_deref()).await?;
        }
        self.sync_rollout_status(new.as_deref()).await
    }

    /// Pods of old sets are there that may still do something.
    fn old_pods_run(&self, new: Option<&str>) -> bool {
        let old = self.old_sets(new);
        if old.iter().any(|set| set.status.as_ref().is_some_and(|status| status.replicas > 0)) {
            return true;
        }
        let uids = old.iter().filter_map(|set| set.metadata.uid.as_deref());
        let mut pods = uids.flat_map(|uid| self.controller.pods_by_owner.get(uid));
        // One that was told to end has not ended until it is gone.
        pods.any(|pod| !crate::pods::is_finished(&pod))
    }
}
