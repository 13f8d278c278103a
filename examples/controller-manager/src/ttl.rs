//! Jobs that have finished and say for how long they are of interest: deleted when that is over, with their pods.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube_client::api::{Api, DeleteParams, Preconditions};
use kube_controller::manager::BoxError;
use kube_controller::registry::{ControllerContext, ControllerDescriptor, NewController};
use kube_controller::workqueue::WorkQueue;
use kube_informer::Object;
use kube_informer::fanout::EventHandler;

use crate::Options;
use crate::worker::{Again, Outcome, is_not_found, work};

/// How many jobs are looked at at once.
const WORKERS: usize = 5;

/// The controller of finished jobs, by name.
pub fn descriptor(options: Options) -> ControllerDescriptor {
    let build = |context: ControllerContext| async move { build(&context, options.led_by(&context)) };
    ControllerDescriptor::new("ttl-after-finished-controller", build).alias("ttl-after-finished")
}

fn build(context: &ControllerContext, options: Options) -> Result<NewController, BoxError> {
    let client = context.clients.client(&context.name)?;
    let (jobs, lister) = (context.informers.of::<Job>()?, context.informers.lister::<Job>()?);
    let queue = WorkQueue::builder().name("ttl_jobs_to_delete").metrics(&context.metrics).build();
    let (added, updated) = (queue.clone(), queue.clone());
    let enqueue = |queue: &WorkQueue<String>, job: &Object<Job>| {
        if needs_cleanup(job) {
            queue.add(job.key().to_owned());
        }
    };
    jobs.add_event_handler(
        EventHandler::new()
            .on_add(move |job, _| enqueue(&added, job))
            .on_update(move |_, job| enqueue(&updated, job)),
    )?;
    Ok(NewController::new(move |stop| async move {
        if stop.run_until_cancelled(jobs.synced()).await != Some(true) {
            return Ok(());
        }
        let (lister, each) = (Arc::new(lister), options.clone());
        work(&queue, WORKERS, &stop, &options, move |key| {
            let (client, lister, options) = (client.clone(), Arc::clone(&lister), each.clone());
            async move {
                let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
                match lister.namespaced(namespace).get(name) {
                    Ok(job) => look_at(&Api::namespaced(client, namespace), &job, &options).await,
                    Err(_) => Ok(None),
                }
            }
        })
        .await;
        Ok(())
    }))
}

async fn look_at(jobs: &Api<Job>, job: &Object<Job>, options: &Options) -> Outcome<Again> {
    if let Some(left) = left(job, options.now()) {
        return Ok(left);
    }
    // What is known may be old: somebody may want to keep it for longer by now.
    let fresh = match jobs.get(job.name()).await {
        Ok(fresh) => fresh,
        Err(error) if is_not_found(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if let Some(left) = left(&fresh, options.now()) {
        return Ok(left);
    }
    let preconditions =
        Preconditions { uid: fresh.metadata.uid, resource_version: fresh.metadata.resource_version };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::foreground() };
    match jobs.delete(job.name(), &params).await {
        Err(error) if !is_not_found(&error) => Err(error.into()),
        _ => Ok(None),
    }
}

/// None if it is time; and else when to look again, if ever.
fn left(job: &Job, now: Timestamp) -> Option<Again> {
    if !needs_cleanup(job) {
        return Some(None);
    }
    let ttl = job.spec.as_ref().and_then(|spec| spec.ttl_seconds_after_finished).unwrap_or(0);
    let Some(finished) = finished_at(job) else { return Some(None) };
    let over = finished.checked_add(SignedDuration::from_secs(ttl.into())).unwrap_or(Timestamp::MAX);
    let left = Duration::try_from(over.duration_since(now)).unwrap_or_default();
    (!left.is_zero()).then_some(Some(left))
}

fn needs_cleanup(job: &Job) -> bool {
    let has_ttl = job.spec.as_ref().is_some_and(|spec| spec.ttl_seconds_after_finished.is_some());
    has_ttl && finished_at(job).is_some() && job.metadata.deletion_timestamp.is_none()
}

/// When it completed or failed for good.
fn finished_at(job: &Job) -> Option<Timestamp> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let finished = conditions
        .iter()
        .find(|condition| matches!(&*condition.type_, "Complete" | "Failed") && condition.status == "True")?;
    Some(finished.last_transition_time.as_ref()?.0)
}
