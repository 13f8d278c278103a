//! Replica sets: as many pods as they say.
//!
//! Pods that are looked for are those that a set owns, and those that it selects and nobody owns, which it takes. Too few
//! are made in batches that double while all goes well; too many are deleted, those first that are missed least. What was
//! asked for is [expected](crate::expectations), so that a cache that is behind makes nothing twice.

mod handlers;
mod manage;
mod status;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client};
use kube_controller::events::EventRecorder;
use kube_controller::manager::BoxError;
use kube_controller::registry::{ControllerContext, ControllerDescriptor, NewController};
use kube_controller::workqueue::WorkQueue;
use kube_core::Selector;
use kube_informer::SharedInformer;
use kube_informer::lister::Lister;
use kube_informer::store::Index;

use crate::Options;
use crate::expectations::Expectations;
use crate::owners::{by_controller, claim, orphans_of};
use crate::pods::is_active;
use crate::worker::{Again, Outcome, SyncError, work};

/// How many replica sets are looked at at once.
const WORKERS: usize = 5;

/// What events are said to come from.
const CONTROLLER: &str = "replicaset-controller";

/// The controller of replica sets, by name.
pub fn descriptor(options: Options) -> ControllerDescriptor {
    let build = |context: ControllerContext| async move { build(&context, options.led_by(&context)) };
    ControllerDescriptor::new(CONTROLLER, build).alias("replicaset")
}

fn build(context: &ControllerContext, options: Options) -> Result<NewController, BoxError> {
    let client = context.clients.client(&context.name)?;
    let (sets, pods) = (context.informers.of::<ReplicaSet>()?, context.informers.of::<Pod>()?);
    let owned = pods.add_index("replicaset/controller", |pod: &Pod| by_controller(&pod.metadata))?;
    let (recorder, writer) = EventRecorder::new(client.clone(), CONTROLLER, CONTROLLER);
    let queue = WorkQueue::builder().name("replicaset").metrics(&context.metrics).build();
    let controller = Arc::new(Controller {
        client,
        sets: context.informers.lister()?,
        owned,
        queue,
        expectations: Expectations::default(),
        recorder,
        options,
    });
    handlers::add(&controller, &sets, &pods)?;
    Ok(NewController::new(move |stop| async move {
        let writing = tokio::spawn(writer.run(stop.clone()));
        if let Some(true) = stop.run_until_cancelled(both_synced(&sets, &pods)).await {
            let (queue, options, each) =
                (controller.queue.clone(), controller.options.clone(), Arc::clone(&controller));
            work(&queue, WORKERS, &stop, &options, move |key| {
                let controller = Arc::clone(&each);
                async move { controller.sync(&key).await }
            })
            .await;
        }
        writing.await?;
        Ok(())
    }))
}

async fn both_synced(sets: &SharedInformer<ReplicaSet>, pods: &SharedInformer<Pod>) -> bool {
    sets.synced().await && pods.synced().await
}

struct Controller {
    client: Client,
    sets: Lister<ReplicaSet>,
    /// Pods by who looks after them.
    owned: Index<Pod>,
    queue: WorkQueue<String>,
    expectations: Expectations,
    recorder: EventRecorder,
    options: Options,
}

impl Controller {
    async fn sync(&self, key: &str) -> Outcome<Again> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let Ok(set) = self.sets.namespaced(namespace).get(name) else {
            self.expectations.forget(key);
            return Ok(None);
        };
        let spec = &set.spec;
        let selector = Selector::try_from(spec.selector.clone())
            .map_err(|error| SyncError::Other(format!("the selector makes no sense: {error}")))?;
        // Asked before the cache: what is seen between the two is in the cache.
        let may_act = self.expectations.are_met(key);
        let mut candidates = self.owned.get(set.uid());
        candidates.extend(self.owned.get(&orphans_of(namespace)));
        let (going, candidates): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|pod| pod.metadata.deletion_timestamp.is_some());
        let candidates = candidates.into_iter().filter(|pod| is_active(pod)).collect();
        let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), namespace);
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let owned = claim(&*set, &sets, &pods, &selector, candidates).await?;

        let managed = if may_act && set.metadata.deletion_timestamp.is_none() {
            self.manage(key, &set, &pods, &owned).await
        } else {
            Ok(())
        };
        let going = going
            .iter()
            .filter(|pod| {
                crate::owners::controller_of(&pod.metadata).is_some_and(|owner| owner.uid == set.uid())
            })
            .count();
        let status = status::calculate(&set, &owned, going, managed.as_ref().err(), self.options.now());
        let (wanted, ready, available) =
            (spec.replicas.unwrap_or(1), status.ready_replicas, status.available_replicas);
        status::update(&sets, &set, status).await?;
        managed?;
        // Pods that become available by the passing of time alone tell nobody.
        let min_ready = spec.min_ready_seconds.unwrap_or(0);
        let waits = min_ready > 0 && ready == Some(wanted) && available != Some(wanted);
        Ok(waits.then(|| Duration::from_secs(min_ready.unsigned_abs().into())))
    }
}
