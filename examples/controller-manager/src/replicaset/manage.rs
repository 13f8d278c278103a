//! From too few or too many pods to as many as there should be.

use std::collections::HashMap;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{Api, DeleteParams, PostParams, Preconditions};
use kube_controller::events::Event;
use kube_core::Resource;
use kube_informer::Object;

use super::Controller;
use crate::owners::{controller_of, reference_to};
use crate::pods::{from_template, is_active, node, worth};
use crate::worker::{Outcome, SyncError, is_namespace_terminating, is_not_found, said};

/// So many pods are made or deleted at once, at most.
pub(super) const BURST: usize = 500;

/// The first batch of pods that are made has so many, and each that follows twice as many.
const FIRST_BATCH: usize = 1;

impl Controller {
    /// Makes or deletes pods.
    pub(super) async fn manage(
        &self,
        key: &str,
        set: &Object<ReplicaSet>,
        pods: &Api<Pod>,
        owned: &[Object<Pod>],
    ) -> Outcome {
        let wanted = set.spec.replicas.unwrap_or(1);
        let wanted = usize::try_from(wanted).unwrap_or(0);
        if owned.len() < wanted {
            self.make(key, set, pods, (wanted - owned.len()).min(BURST)).await
        } else if owned.len() > wanted {
            let surplus = self.least_missed(set, owned, (owned.len() - wanted).min(BURST));
            self.delete(key, set, pods, surplus).await
        } else {
            Ok(())
        }
    }

    /// Makes pods in batches that double, so that a server that refuses them all is not asked for them all.
    async fn make(&self, key: &str, set: &Object<ReplicaSet>, pods: &Api<Pod>, count: usize) -> Outcome {
        let Some(template) = &set.spec.template else { return Ok(()) };
        let pod = from_template(template, reference_to(&**set), set.namespace());
        self.expectations.expect_creations(key, count);
        let (mut left, mut batch, mut failed) = (count, FIRST_BATCH, None);
        while left > 0 && failed.is_none() {
            let now = batch.min(left);
            let params = PostParams::default();
            for outcome in join_all((0..now).map(|_| pods.create(&params, &pod))).await {
                match outcome {
                    Ok(made) => {
                        let name = made.metadata.name.unwrap_or_default();
                        self.tell(
                            set,
                            Event::normal("SuccessfulCreate", "Create", format!("Created pod: {name}")),
                        );
                    }
                    Err(error) => {
                        // Nobody will see this one come.
                        self.expectations.creation_observed(key);
                        if !is_namespace_terminating(&error) {
                            let note = format!("Error creating: {}", said(&error));
                            self.tell(set, Event::warning("FailedCreate", "Create", note));
                        }
                        failed.get_or_insert(error);
                    }
                }
            }
            left -= now;
            batch *= 2;
        }
        for _ in 0..left {
            self.expectations.creation_observed(key);
        }
        match failed {
            // All of it goes soon.
            Some(error) if is_namespace_terminating(&error) => Ok(()),
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    async fn delete(
        &self,
        key: &str,
        set: &Object<ReplicaSet>,
        pods: &Api<Pod>,
        surplus: Vec<Object<Pod>>,
    ) -> Outcome {
        let keys = surplus.iter().map(|pod| pod.key().to_owned()).collect();
        self.expectations.expect_deletions(key, keys);
        let each = surplus.iter().map(|pod| async move {
            // Another pod may have got the name meanwhile.
            let preconditions = Preconditions { uid: Some(pod.uid().to_owned()), resource_version: None };
            let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            (pod, pods.delete(pod.name(), &params).await)
        });
        let mut failed = None;
        for (pod, outcome) in join_all(each).await {
            match outcome {
                Ok(_) => {
                    let note = format!("Deleted pod: {}", pod.name());
                    self.tell(set, Event::normal("SuccessfulDelete", "Delete", note));
                }
                Err(error) => {
                    self.expectations.deletion_observed(key, pod.key());
                    if !is_not_found(&error) {
                        let note = format!("Error deleting: {}", said(&error));
                        self.tell(set, Event::warning("FailedDelete", "Delete", note));
                        failed.get_or_insert(SyncError::Api(error));
                    }
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// The pods that are missed least, of all that are too many.
    fn least_missed(
        &self,
        set: &Object<ReplicaSet>,
        owned: &[Object<Pod>],
        surplus: usize,
    ) -> Vec<Object<Pod>> {
        let mut on_node: HashMap<String, usize> = HashMap::new();
        for pod in self.related(set) {
            if let Some(node) = node(&pod) {
                *on_node.entry(node.to_owned()).or_default() += 1;
            }
        }
        let beside = |pod: &Object<Pod>| node(pod).and_then(|node| on_node.get(node)).copied().unwrap_or(0);
        let mut pods = owned.to_vec();
        pods.sort_by_cached_key(|pod| worth(pod, beside(pod)));
        pods.truncate(surplus);
        pods
    }

    /// The active pods of this set, and of those that are looked after by the same one.
    fn related(&self, set: &Object<ReplicaSet>) -> Vec<Object<Pod>> {
        let Some(owner) = controller_of(&set.metadata) else {
            return self.owned.get(set.uid()).into_iter().filter(|pod| is_active(pod)).collect();
        };
        let all = self.sets.namespaced(set.namespace()).list(&kube_core::Selector::default());
        let related =
            all.iter().filter(|other| controller_of(&other.metadata).is_some_and(|its| its.uid == owner.uid));
        related.flat_map(|set| self.owned.get(set.uid())).filter(|pod| is_active(pod)).collect()
    }

    fn tell(&self, set: &Object<ReplicaSet>, event: Event) {
        self.recorder.record(&set.object_ref(&()), event);
    }
}
