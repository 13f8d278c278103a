//! Deployments: a replica set for each revision, and the pods of one moved to the next.
//!
//! The template of a deployment is its revision: each gets a replica set of its own, whose name ends with the hash of the
//! template. With a rolling update the new one grows and the old ones shrink within the limits of the deployment; with
//! recreate the old ones end before the new one begins. Old sets stay, with their numbers, as far back as the deployment
//! wants to remember, so that one can go back.

mod handlers;
mod progress;
mod recreate;
mod revisions;
mod rolling;
mod scale;
mod template;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client};
use kube_controller::events::{Event, EventRecorder};
use kube_controller::manager::BoxError;
use kube_controller::registry::{ControllerContext, ControllerDescriptor, NewController};
use kube_controller::workqueue::WorkQueue;
use kube_core::{Resource, Selector};
use kube_informer::Object;
use kube_informer::lister::Lister;
use kube_informer::store::Index;

use crate::Options;
use crate::owners::{by_controller, claim, orphans_of};
use crate::worker::{Again, Outcome, SyncError, work};

/// How many deployments are looked at at once.
const WORKERS: usize = 5;

/// What events are said to come from.
const CONTROLLER: &str = "deployment-controller";

/// The controller of deployments, by name.
pub fn descriptor(options: Options) -> ControllerDescriptor {
    let build = |context: ControllerContext| async move { build(&context, options.led_by(&context)) };
    ControllerDescriptor::new(CONTROLLER, build).alias("deployment")
}

fn build(context: &ControllerContext, options: Options) -> Result<NewController, BoxError> {
    let client = context.clients.client(&context.name)?;
    let informers = &context.informers;
    let deployments = informers.of::<Deployment>()?;
    let (sets, pods) = (informers.of::<ReplicaSet>()?, informers.of::<Pod>()?);
    let sets_by_owner =
        sets.add_index("deployment/controller", |set: &ReplicaSet| by_controller(&set.metadata))?;
    let pods_by_owner = pods.add_index("deployment/controller", |pod: &Pod| by_controller(&pod.metadata))?;
    let (recorder, writer) = EventRecorder::new(client.clone(), CONTROLLER, CONTROLLER);
    let controller = Arc::new(Controller {
        client,
        deployments: informers.lister()?,
        sets: informers.lister()?,
        sets_by_owner,
        pods_by_owner,
        queue: WorkQueue::builder().name("deployment").metrics(&context.metrics).build(),
        recorder,
        options,
    });
    handlers::add(&controller, &deployments, &sets, &pods)?;
    Ok(NewController::new(move |stop| async move {
        let writing = tokio::spawn(writer.run(stop.clone()));
        let ready = async { deployments.synced().await && sets.synced().await && pods.synced().await };
        if let Some(true) = stop.run_until_cancelled(ready).await {
            let (queue, options, each) =
                (controller.queue.clone(), controller.options.clone(), Arc::clone(&controller));
            work(&queue, WORKERS, &stop, &options, move |key| {
                let controller = Arc::clone(&each);
                async move { Box::pin(controller.sync(&key)).await }
            })
            .await;
        }
        writing.await?;
        Ok(())
    }))
}

struct Controller {
    client: Client,
    deployments: Lister<Deployment>,
    sets: Lister<ReplicaSet>,
    sets_by_owner: Index<ReplicaSet>,
    pods_by_owner: Index<Pod>,
    queue: WorkQueue<String>,
    recorder: EventRecorder,
    options: Options,
}

/// A deployment, as it is being looked at.
struct Case<'a> {
    controller: &'a Controller,
    deployment: &'a Object<Deployment>,
    deployments: Api<Deployment>,
    sets: Api<ReplicaSet>,
    /// All replica sets of it, as they are known to be: those that were changed here are as they were answered.
    all: HashMap<String, ReplicaSet>,
    /// The status was written here, and will be looked at as it is by then.
    told: bool,
}

impl Controller {
    async fn sync(&self, key: &str) -> Outcome<Again> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let Ok(deployment) = self.deployments.namespaced(namespace).get(name) else { return Ok(None) };
        let selector = Selector::try_from(deployment.spec.selector.clone())
            .map_err(|error| SyncError::Other(format!("the selector makes no sense: {error}")))?;
        if kube_core::SelectorExt::matches(&selector, &std::collections::BTreeMap::new()) {
            let note = "This deployment is selecting all pods. A non-empty selector is required.";
            self.tell(&deployment, Event::warning("SelectingAll", "Select", note));
            return Ok(None);
        }
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), namespace);
        let mut candidates = self.sets_by_owner.get(deployment.uid());
        candidates.extend(self.sets_by_owner.get(&orphans_of(namespace)));
        let owned = claim(&*deployment, &deployments, &sets, &selector, candidates).await?;
        let all = owned.iter().map(|set| (set.name().to_owned(), (**set).clone())).collect();
        let mut case =
            Case { controller: self, deployment: &deployment, deployments, sets, all, told: false };
        case.run().await
    }

    fn tell(&self, deployment: &Object<Deployment>, event: Event) {
        self.recorder.record(&deployment.object_ref(&()), event);
    }
}

impl Case<'_> {
    async fn run(&mut self) -> Outcome<Again> {
        if self.deployment.metadata.deletion_timestamp.is_some() {
            return self.sync_status_only().await;
        }
        if self.say_whether_paused().await? {
            // It is looked at again as it is by now.
            return Ok(None);
        }
        if self.deployment.spec.paused == Some(true) || self.was_scaled() {
            return self.sync_scale().await;
        }
        match self.strategy() {
            "Recreate" => self.recreate().await,
            _ => self.rolling_update().await,
        }
    }

    /// Only the numbers of replicas: no revision is begun.
    async fn sync_scale(&mut self) -> Outcome<Again> {
        let new = self.find_new_set(false).await?;
        self.scale(new.as_deref()).await?;
        if self.deployment.spec.paused == Some(true) {
            self.clean_up(new.as_deref()).await?;
        }
        self.sync_status(new.as_deref()).await
    }

    async fn sync_status_only(&mut self) -> Outcome<Again> {
        let new = self.existing_new_set();
        self.sync_status(new.as_deref()).await
    }

    fn strategy(&self) -> &str {
        let strategy = self.deployment.spec.strategy.as_ref();
        strategy.and_then(|strategy| strategy.type_.as_deref()).unwrap_or("RollingUpdate")
    }

    fn wanted(&self) -> i32 {
        self.deployment.spec.replicas.unwrap_or(1)
    }

    /// The old sets, the oldest first; the new one is left out.
    fn old_sets(&self, new: Option<&str>) -> Vec<ReplicaSet> {
        let others = self.all.values().filter(|set| set.metadata.name.as_deref() != new);
        let mut old: Vec<ReplicaSet> = others.cloned().collect();
        sort_by_age(&mut old);
        old
    }

    /// How many pods all sets want together.
    fn total(&self) -> i32 {
        sum(self.all.values().map(replicas_of))
    }
}

fn sort_by_age(sets: &mut [ReplicaSet]) {
    sets.sort_by_cached_key(|set| {
        (set.metadata.creation_timestamp.as_ref().map(|time| time.0), set.metadata.name.clone())
    });
}

/// As many as can be counted: users may ask for more pods than that, and have to be told by others that they cannot be.
fn sum(numbers: impl Iterator<Item = i32>) -> i32 {
    numbers.fold(0, i32::saturating_add)
}

fn replicas_of(set: &ReplicaSet) -> i32 {
    set.spec.replicas.unwrap_or(1)
}

fn available_of(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

/// When to look at a deployment that may have stopped to make progress.
fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(seconds.max(0).unsigned_abs())
}
