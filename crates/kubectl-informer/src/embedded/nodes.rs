//! Nodes, without machines: each pod gets one, runs there after a moment, and is gone a moment after it was told to end.
//! That is what a scheduler and kubelets do, as far as the API shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube_client::{Client, Error};
use kube_controller::controller::{Action, Context, Controller, ReconcileError, Reconciler};
use kube_informer::lister::Lister;
use kube_informer::object::ObjectName;
use kube_informer::{Object, SharedInformerFactory};
use kube_testserver::{SeedError, TestServer};
use serde_json::{Value, json};

use super::Clock;
use super::programs::ProgramsError;

const NAMES: [&str; 3] = ["node-a", "node-b", "node-c"];

/// How many pods begin or end at a time.
const WORKERS: usize = 16;

/// How long it takes to find a node for a pod.
const SCHEDULING: Duration = Duration::from_millis(200);

/// How long it takes to start a pod.
const STARTING: Duration = Duration::from_millis(500);

/// How long it takes to end a pod.
const ENDING: Duration = Duration::from_millis(500);

/// Addresses of pods come again after so many.
const ADDRESSES: usize = 250;

struct Nodes {
    client: Client,
    pods: Lister<Pod>,
    clock: Clock,
    /// How many pods were given a node.
    scheduled: AtomicUsize,
    /// How many pods have begun to run.
    started: AtomicUsize,
}

/// Puts the nodes into the cluster.
pub(super) fn seed(server: &TestServer) -> Result<(), SeedError> {
    for name in NAMES {
        let ready = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady"}]);
        let metadata = json!({"name": name, "labels": {"kubernetes.io/hostname": name}});
        let status = json!({ "conditions": ready });
        server.put(&json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}))?;
    }
    Ok(())
}

/// Gives pods to nodes, and runs them there.
pub(super) fn controller(
    client: Client,
    factory: &SharedInformerFactory,
    clock: &Clock,
) -> Result<Controller, ProgramsError> {
    let pods = factory.of::<Pod>()?;
    let nodes = Nodes {
        client,
        pods: factory.lister()?,
        clock: Arc::clone(clock),
        scheduled: AtomicUsize::new(0),
        started: AtomicUsize::new(0),
    };
    Ok(Controller::builder("nodes").for_(&pods).concurrency(WORKERS).build(nodes)?)
}

impl Reconciler<ObjectName> for Nodes {
    async fn reconcile(&self, request: ObjectName, context: Context) -> Result<Action, ReconcileError> {
        let Ok(pod) = self.pods.namespaced(&request.namespace).get(&request.name) else {
            return Ok(Action::done());
        };
        let (takes, next) = next(&pod);
        if context.token().run_until_cancelled(tokio::time::sleep(takes)).await.is_none() {
            return Ok(Action::done());
        }
        let done = match next {
            Next::Nothing => Ok(()),
            Next::Schedule => self.schedule(&pod).await,
            Next::Start => self.start(&pod).await,
            Next::End => self.end(&pod).await,
        };
        match done {
            // It has changed or gone meanwhile, and will be told again if there is more to do.
            Err(Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(Action::done()),
            done => Ok(done.map(|()| Action::done())?),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Nothing,
    Schedule,
    Start,
    End,
}

/// What happens to a pod next, and how long that takes.
fn next(pod: &Pod) -> (Duration, Next) {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
    if pod.metadata.deletion_timestamp.is_some() {
        (ENDING, Next::End)
    } else if node.is_empty() {
        (SCHEDULING, Next::Schedule)
    } else if phase == "Pending" {
        (STARTING, Next::Start)
    } else {
        (Duration::ZERO, Next::Nothing)
    }
}

impl Nodes {
    async fn schedule(&self, pod: &Object<Pod>) -> Result<(), Error> {
        let node = NAMES[self.scheduled.fetch_add(1, Ordering::Relaxed) % NAMES.len()];
        let target = json!({"apiVersion": "v1", "kind": "Node", "name": node});
        let metadata = json!({"name": pod.name(), "namespace": pod.namespace()});
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target});
        let params = PostParams::default();
        self.api(pod).create_subresource::<_, Value>("binding", pod.name(), &params, &binding).await?;
        Ok(())
    }

    async fn start(&self, pod: &Object<Pod>) -> Result<(), Error> {
        let address = self.started.fetch_add(1, Ordering::Relaxed) % ADDRESSES + 1;
        let since = (self.clock)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        // The uid: it must not be another pod of that name.
        let patch = json!({
            "metadata": {"uid": pod.uid()},
            "status": {
                "phase": "Running",
                "podIP": format!("10.0.0.{address}"),
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}],
            },
        });
        self.api(pod).patch_status(pod.name(), &PatchParams::default(), &Patch::Strategic(patch)).await?;
        Ok(())
    }

    async fn end(&self, pod: &Object<Pod>) -> Result<(), Error> {
        let this_one = Preconditions { uid: Some(pod.uid().to_owned()), resource_version: None };
        let at_once = DeleteParams::default().grace_period(0).preconditions(this_one);
        self.api(pod).delete(pod.name(), &at_once).await?;
        Ok(())
    }

    fn api(&self, pod: &Object<Pod>) -> Api<Pod> {
        Api::namespaced(self.client.clone(), pod.namespace())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_scheduled_then_started_then_left_alone_until_it_is_to_end() {
        let next = |pod: Value| next(&serde_json::from_value(pod).unwrap()).1;
        let spec = json!({"containers": [], "nodeName": "node-a"});
        let ends = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert_eq!(next(json!({"metadata": {}, "spec": {"containers": []}})), Next::Schedule);
        assert_eq!(next(json!({"metadata": {}, "spec": spec})), Next::Start);
        assert_eq!(next(json!({"metadata": {}, "spec": spec, "status": {"phase": "Pending"}})), Next::Start);
        assert_eq!(
            next(json!({"metadata": {}, "spec": spec, "status": {"phase": "Running"}})),
            Next::Nothing
        );
        assert_eq!(next(json!({"metadata": ends, "spec": spec, "status": {"phase": "Running"}})), Next::End);
        assert_eq!(next(json!({"metadata": ends, "spec": {"containers": []}})), Next::End);
    }
}
