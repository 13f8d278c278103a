//! From changes to keys: which replica set is to be looked at.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube_controller::manager::BoxError;
use kube_core::Selector;
use kube_informer::fanout::Event;
use kube_informer::{Object, SharedInformer};

use super::Controller;
use crate::owners::{controller_of, selects};
use crate::pods::is_ready;

pub(super) fn add(
    controller: &Arc<Controller>,
    sets: &SharedInformer<ReplicaSet>,
    pods: &SharedInformer<Pod>,
) -> Result<(), BoxError> {
    let of_sets = Arc::clone(controller);
    sets.add_event_handler(move |event: Event<ReplicaSet>| of_sets.set_changed(&event))?;
    let of_pods = Arc::clone(controller);
    pods.add_event_handler(move |event: Event<Pod>| of_pods.pod_changed(&event))?;
    Ok(())
}

impl Controller {
    fn set_changed(&self, event: &Event<ReplicaSet>) {
        match event {
            Event::Added { object, .. } => self.enqueue(object),
            Event::Updated { old, new, .. } => {
                // Another one of the same name: nobody saw the first one go.
                if old.uid() != new.uid() {
                    self.expectations.forget(old.key());
                }
                self.enqueue(new);
            }
            Event::Deleted(gone) => {
                self.expectations.forget(gone.object().key());
                self.enqueue(gone.object());
            }
            _ => {}
        }
    }

    fn pod_changed(&self, event: &Event<Pod>) {
        match event {
            // A pod that is on its way out when it is first seen was not made for anybody.
            Event::Added { object, .. } if is_going(object) => self.pod_gone(object),
            Event::Added { object, .. } => match self.owner(object) {
                Some(set) => {
                    self.expectations.creation_observed(set.key());
                    self.enqueue(&set);
                }
                None => self.enqueue_those_who_may_take(object),
            },
            Event::Updated { old, new, .. } => self.pod_updated(old, new),
            Event::Deleted(gone) => self.pod_gone(gone.object()),
            _ => {}
        }
    }

    fn pod_updated(&self, old: &Object<Pod>, new: &Object<Pod>) {
        if old.resource_version() == new.resource_version() {
            return;
        }
        let relabelled = old.metadata.labels != new.metadata.labels;
        if is_going(new) {
            // It counts as gone at once: a set makes another one without waiting for its end.
            self.pod_gone(new);
            if relabelled {
                self.pod_gone(old);
            }
            return;
        }
        let uid = |pod: &Object<Pod>| controller_of(&pod.metadata).map(|owner| owner.uid.clone());
        let handed_over = uid(old) != uid(new);
        if handed_over && let Some(before) = self.owner(old) {
            self.enqueue(&before);
        }
        if let Some(set) = self.owner(new) {
            self.enqueue(&set);
            let min_ready = set.spec.min_ready_seconds.unwrap_or(0);
            if !is_ready(old) && is_ready(new) && min_ready > 0 {
                // A second more, for times are whole seconds.
                let delay = Duration::from_secs(u64::from(min_ready.unsigned_abs()) + 1);
                self.queue.add_after(set.key().to_owned(), delay);
            }
        } else if controller_of(&new.metadata).is_none() && (relabelled || handed_over) {
            self.enqueue_those_who_may_take(new);
        }
    }

    fn pod_gone(&self, pod: &Object<Pod>) {
        if let Some(set) = self.owner(pod) {
            self.expectations.deletion_observed(set.key(), pod.key());
            self.enqueue(&set);
        }
    }

    /// The set that looks after a pod, if it is one and the same that is there now.
    fn owner(&self, pod: &Object<Pod>) -> Option<Object<ReplicaSet>> {
        let owner = controller_of(&pod.metadata).filter(|owner| owner.kind == "ReplicaSet")?;
        let set = self.sets.namespaced(pod.namespace()).get(&owner.name).ok()?;
        (set.uid() == owner.uid).then_some(set)
    }

    fn enqueue_those_who_may_take(&self, pod: &Object<Pod>) {
        if controller_of(&pod.metadata).is_some() {
            return;
        }
        for set in self.sets.namespaced(pod.namespace()).list(&Selector::default()) {
            let selector = Selector::try_from(set.spec.selector.clone());
            if selector.is_ok_and(|selector| !selector.selects_all() && selects(&selector, &pod.metadata)) {
                self.enqueue(&set);
            }
        }
    }

    fn enqueue(&self, set: &Object<ReplicaSet>) {
        self.queue.add(set.key().to_owned());
    }
}

fn is_going(pod: &Object<Pod>) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}
