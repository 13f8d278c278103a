//! From changes to keys: which deployment is to be looked at.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube_controller::manager::BoxError;
use kube_core::Selector;
use kube_informer::fanout::Event;
use kube_informer::{Object, SharedInformer};

use super::Controller;
use crate::owners::{controller_of, selects};

pub(super) fn add(
    controller: &Arc<Controller>,
    deployments: &SharedInformer<Deployment>,
    sets: &SharedInformer<ReplicaSet>,
    pods: &SharedInformer<Pod>,
) -> Result<(), BoxError> {
    let of_deployments = Arc::clone(controller);
    deployments.add_event_handler(move |event: Event<Deployment>| {
        of_deployments.queue.add(event.object().key().to_owned());
    })?;
    let of_sets = Arc::clone(controller);
    sets.add_event_handler(move |event: Event<ReplicaSet>| of_sets.set_changed(&event))?;
    let of_pods = Arc::clone(controller);
    pods.add_event_handler(move |event: Event<Pod>| {
        if let Event::Deleted(gone) = event {
            of_pods.pod_gone(gone.object());
        }
    })?;
    Ok(())
}

impl Controller {
    fn set_changed(&self, event: &Event<ReplicaSet>) {
        match event {
            Event::Updated { old, new, .. } => {
                if old.resource_version() == new.resource_version() {
                    return;
                }
                let uid =
                    |set: &Object<ReplicaSet>| controller_of(&set.metadata).map(|owner| owner.uid.clone());
                let handed_over = uid(old) != uid(new);
                if handed_over && let Some(before) = self.owner(old) {
                    self.queue.add(before.key().to_owned());
                }
                if let Some(owner) = self.owner(new) {
                    self.queue.add(owner.key().to_owned());
                } else if handed_over || old.metadata.labels != new.metadata.labels {
                    self.enqueue_those_who_may_take(new);
                }
            }
            Event::Deleted(gone) => {
                if let Some(owner) = self.owner(gone.object()) {
                    self.queue.add(owner.key().to_owned());
                }
            }
            other => match self.owner(other.object()) {
                Some(owner) => drop(self.queue.add(owner.key().to_owned())),
                None => self.enqueue_those_who_may_take(other.object()),
            },
        }
    }

    /// One that recreates waits for the last of its old pods.
    fn pod_gone(&self, pod: &Object<Pod>) {
        let set = controller_of(&pod.metadata).filter(|owner| owner.kind == "ReplicaSet");
        let set = set.and_then(|owner| self.sets.namespaced(pod.namespace()).get(&owner.name).ok());
        if let Some(deployment) = set.and_then(|set| self.owner(&set)) {
            self.queue.add(deployment.key().to_owned());
        }
    }

    /// The deployment that looks after a set, if it is one and the same that is there now.
    fn owner(&self, set: &Object<ReplicaSet>) -> Option<Object<Deployment>> {
        let owner = controller_of(&set.metadata).filter(|owner| owner.kind == "Deployment")?;
        let deployment = self.deployments.namespaced(set.namespace()).get(&owner.name).ok()?;
        (deployment.uid() == owner.uid).then_some(deployment)
    }

    fn enqueue_those_who_may_take(&self, set: &Object<ReplicaSet>) {
        if controller_of(&set.metadata).is_some() || set.metadata.deletion_timestamp.is_some() {
            return;
        }
        for deployment in self.deployments.namespaced(set.namespace()).list(&Selector::default()) {
            let selector = Selector::try_from(deployment.spec.selector.clone());
            if selector.is_ok_and(|selector| selects(&selector, &set.metadata)) {
                self.queue.add(deployment.key().to_owned());
            }
        }
    }
}
