//! Pods that nobody else will end.
//!
//! At the start and every [`PERIOD`] those are deleted, without grace: the oldest finished ones if there are more than
//! [`KEPT`], those on nodes that are gone (and stay gone for [`QUARANTINE`]), and those that were told to end before they
//! had a node, or on a node that is out of service. One that still seems to run is first said to have failed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube_controller::manager::BoxError;
use kube_controller::registry::{ControllerContext, ControllerDescriptor, NewController};
use kube_core::Selector;
use kube_informer::Object;
use kube_informer::lister::Lister;
use serde_json::json;
use tokio::time::Instant;

use crate::Options;
use crate::pods::{is_finished, node, phase};
use crate::worker::{Outcome, is_not_found, said};

/// How often everything is looked at.
pub const PERIOD: Duration = Duration::from_secs(20);

/// A node is gone that has been missing for so long.
pub const QUARANTINE: Duration = Duration::from_secs(40);

/// So many finished pods are kept.
pub const KEPT: usize = 12_500;

/// The taint of a node that will not come back as it was.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The controller of pods that nobody else will end, by name.
pub fn descriptor(options: Options) -> ControllerDescriptor {
    descriptor_keeping(options, KEPT)
}

/// The same, with another number of finished pods that are kept.
pub fn descriptor_keeping(options: Options, kept: usize) -> ControllerDescriptor {
    let build = move |context| async move { build(&context, options, kept) };
    ControllerDescriptor::new("pod-garbage-collector-controller", build).alias("podgc")
}

fn build(context: &ControllerContext, options: Options, kept: usize) -> Result<NewController, BoxError> {
    let (pods, nodes) = (context.informers.of::<Pod>()?, context.informers.of::<Node>()?);
    let mut collector = Collector {
        client: context.clients.client(&context.name)?,
        pods: context.informers.lister()?,
        nodes: context.informers.lister()?,
        kept,
        missing: HashMap::new(),
        options,
    };
    Ok(NewController::new(move |stop| async move {
        let ready = async { pods.synced().await && nodes.synced().await };
        if stop.run_until_cancelled(ready).await != Some(true) {
            return Ok(());
        }
        while !stop.is_cancelled() {
            collector.collect().await;
            stop.run_until_cancelled(tokio::time::sleep(PERIOD)).await;
        }
        Ok(())
    }))
}

struct Collector {
    client: Client,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    kept: usize,
    /// Nodes that are not there, and since when.
    missing: HashMap<String, Instant>,
    options: Options,
}

impl Collector {
    async fn collect(&mut self) {
        let pods = self.pods.list(&Selector::default());
        let nodes = self.nodes.list(&Selector::default());
        let there: HashSet<&str> = nodes.iter().map(Object::name).collect();
        let lost: HashSet<&str> =
            nodes.iter().filter(|node| is_out_of_service(node)).map(Object::name).collect();
        let gone = self.gone(&pods, &there).await;

        let is_going = |pod: &Object<Pod>| pod.metadata.deletion_timestamp.is_some();
        let on = |pod: &Object<Pod>, nodes: &dyn Fn(&str) -> bool| node(pod).is_some_and(nodes);
        let mut garbage: Vec<(&Object<Pod>, Why)> = Vec::new();
        for pod in &pods {
            if on(pod, &|node| gone.contains(node)) {
                garbage.push((pod, Why::NodeGone));
            } else if is_going(pod) && (node(pod).is_none() || on(pod, &|node| lost.contains(node))) {
                garbage.push((pod, Why::NobodyEndsIt));
            }
        }
        let mut finished: Vec<&Object<Pod>> = pods.iter().filter(|pod| is_finished(pod)).collect();
        if finished.len() > self.kept {
            // What was evicted says least of whoever made it.
            finished.sort_by_cached_key(|pod| {
                let made = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
                (!is_evicted(pod), made, pod.key().to_owned())
            });
            finished.truncate(finished.len() - self.kept);
            garbage.extend(finished.into_iter().map(|pod| (pod, Why::TooMany)));
        }
        let mut seen = BTreeSet::new();
        for (pod, why) in garbage {
            if seen.insert(pod.key())
                && let Err(error) = self.delete(pod, why).await
            {
                self.options.report(&format!("{}: {error}", pod.key()));
            }
        }
    }

    /// Nodes that pods are on and that have been missing for long enough; the server is asked about each.
    async fn gone(&mut self, pods: &[Object<Pod>], there: &HashSet<&str>) -> HashSet<String> {
        let missing: HashSet<&str> =
            pods.iter().filter_map(|pod| node(pod)).filter(|node| !there.contains(node)).collect();
        self.missing.retain(|node, _| missing.contains(node.as_str()));
        let nodes: Api<Node> = Api::all(self.client.clone());
        let mut gone = HashSet::new();
        for node in missing {
            let since = *self.missing.entry(node.to_owned()).or_insert_with(Instant::now);
            if since.elapsed() < QUARANTINE {
                continue;
            }
            match nodes.get_metadata_opt(node).await {
                Ok(None) => drop(gone.insert(node.to_owned())),
                Ok(Some(_)) => {}
                Err(error) => self.options.report(&format!("node {node}: {}", said(&error))),
            }
        }
        gone
    }

    async fn delete(&self, pod: &Object<Pod>, why: Why) -> Outcome {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), pod.namespace());
        if !is_finished(pod) {
            // Whoever looks after it learns that it will not go on.
            let generation = pod.metadata.generation;
            let mut failed = json!({
                "metadata": {"uid": pod.uid()},
                "status": {"phase": "Failed", "observedGeneration": generation},
            });
            if why == Why::NodeGone {
                failed["status"]["conditions"] = json!([{
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                    "observedGeneration": generation,
                    "lastTransitionTime": self.options.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                }]);
            }
            let patched =
                pods.patch_status(pod.name(), &PatchParams::default(), &Patch::Strategic(&failed)).await;
            match patched {
                Err(error) if is_not_found(&error) => return Ok(()),
                outcome => drop(outcome?),
            }
        }
        let preconditions = Preconditions { uid: Some(pod.uid().to_owned()), resource_version: None };
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        };
        match pods.delete(pod.name(), &params).await {
            Err(error) if !is_not_found(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Why a pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Its node is gone: whoever made it is told that this was not its fault.
    NodeGone,
    /// It was told to end, and there is nobody who would see to it.
    NobodyEndsIt,
    /// There are too many that have finished.
    TooMany,
}

fn is_evicted(pod: &Pod) -> bool {
    let reason = pod.status.as_ref().and_then(|status| status.reason.as_deref());
    phase(pod) == "Failed" && reason == Some("Evicted")
}

fn is_out_of_service(node: &Node) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let ready = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let is_ready =
        ready.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    !is_ready && taints.into_iter().any(|taint| taint.key == OUT_OF_SERVICE)
}
