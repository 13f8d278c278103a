//! Which kinds are followed: all that can be listed, watched and deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;
use kube_core::GroupVersionResource;
use kube_informer::discovery::ServerResource;
use kube_informer::fanout::{AnyEvent, AnyRegistration};

use super::{Collector, key};
use crate::worker::{Outcome, SyncError};

/// Kinds that own nothing and that nobody owns, and of which there are very many.
const IGNORED: [(&str, &str); 2] = [("", "events"), ("events.k8s.io", "events")];

/// A kind that is followed.
pub(super) struct Monitor {
    resource: GroupVersionResource,
    registration: AnyRegistration,
}

impl Collector {
    /// Follows the kinds that the server has now, and no others.
    pub(super) async fn follow_all(self: &Arc<Self>) -> Outcome {
        let resources = self.context.mapper.resources().await;
        let resources = resources.map_err(|error| SyncError::Other(error.to_string()))?;
        let mut there = BTreeSet::new();
        for resource in resources.iter().filter(|resource| is_followed(resource)) {
            let asked = resource.group_version_resource();
            there.insert(key(&asked));
            if self.monitors.lock().contains_key(&key(&asked)) {
                continue;
            }
            self.follow(resource, asked)?;
        }
        if self.context.informers_started.is_done() {
            self.context.object_or_metadata.start();
        }
        // A group that does not answer today may tomorrow: what it has is not gone.
        if resources.unanswered().is_empty() {
            let gone: Vec<Monitor> = {
                let mut monitors = self.monitors.lock();
                let gone: Vec<_> = monitors.keys().filter(|key| !there.contains(*key)).cloned().collect();
                gone.iter().filter_map(|key| monitors.remove(key)).collect()
            };
            for monitor in gone {
                monitor.registration.remove();
                self.context.object_or_metadata.metadata().shutdown_of(&monitor.resource).await;
            }
        }
        Ok(())
    }

    fn follow(self: &Arc<Self>, resource: &ServerResource, asked: GroupVersionResource) -> Outcome {
        let informer = self.context.object_or_metadata.for_resource(&asked);
        let informer = informer.map_err(|error| SyncError::Other(error.to_string()))?;
        let (collector, kind) = (Arc::downgrade(self), resource.resource.clone());
        let registration = informer.add_event_handler(move |event| {
            let Some(collector) = collector.upgrade() else { return };
            let mut graph = collector.graph.lock();
            let todo = match &event {
                AnyEvent::Deleted { object, .. } => {
                    graph.gone(object.metadata().uid.as_deref().unwrap_or_default())
                }
                other => graph.seen(&kind, other.object().metadata()),
            };
            drop(graph);
            collector.take(todo);
        });
        let registration = registration.map_err(|error| SyncError::Other(error.to_string()))?;
        self.monitors.lock().insert(key(&asked), Monitor { resource: asked, registration });
        Ok(())
    }

    /// Waits until all kinds have been seen.
    pub(super) async fn synced(&self) {
        let registrations: Vec<AnyRegistration> =
            self.monitors.lock().values().map(|monitor| monitor.registration.clone()).collect();
        join_all(registrations.iter().map(AnyRegistration::synced)).await;
    }
}

fn is_followed(resource: &ServerResource) -> bool {
    let name = (resource.resource.group.as_str(), resource.resource.plural.as_str());
    resource.preferred && resource.can_be_followed() && resource.can("delete") && !IGNORED.contains(&name)
}
