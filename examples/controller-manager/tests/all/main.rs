//! The controllers on the embedded server, each with what the others of a cluster would do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod crashes;
mod deployments;
mod garbage;
mod jobs;
mod podgc;
mod replicasets;

use std::sync::Arc;
use std::time::Duration;

use controller_manager::Options;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube_client::Client;
use kube_controller::registry::{ClientBuilder, Controllers, ControllersError};
use kube_testserver::{TestServer, TestServerBuilder};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// 2026-01-01T00:00:00Z.
const NEW_YEAR: i64 = 1_767_225_600;

/// Long enough for everything to have happened; it costs no time.
const A_WHILE: Duration = Duration::from_secs(20);

/// A cluster: a server, nodes that run pods, and what went wrong in it.
struct World {
    server: Arc<TestServer>,
    begun: Instant,
    reports: Arc<Mutex<Vec<String>>>,
    kubelet: Option<AbortOnDropHandle<()>>,
}

/// Controllers that run.
struct Run {
    stop: CancellationToken,
    task: JoinHandle<Result<(), ControllersError>>,
}

impl World {
    /// Pods become ready, and go when their grace is over.
    async fn new() -> Self {
        let mut world = Self::idle(|server| server).await;
        world.run_pods();
        world
    }

    /// Pods are made, and nothing happens to them.
    async fn idle(change: impl FnOnce(TestServerBuilder) -> TestServerBuilder) -> Self {
        let server = TestServer::builder()
            .seed(7)
            .start_time(NEW_YEAR)
            .garbage_collection(false)
            .namespace_deletion(false)
            .pod_termination(true);
        let begun = Instant::now();
        let server = change(server).start().await.unwrap();
        Self { server: Arc::new(server), begun, reports: Arc::default(), kubelet: None }
    }

    fn run_pods(&mut self) {
        let server = Arc::clone(&self.server);
        let kubelet = tokio::spawn(async move {
            let mut seen = 0;
            loop {
                tokio::time::sleep(Duration::from_millis(200)).await;
                if server.resource_version() != seen {
                    make_ready(&server, usize::MAX);
                    seen = server.resource_version();
                }
            }
        });
        self.kubelet = Some(AbortOnDropHandle::new(kubelet));
    }

    fn options(&self) -> Options {
        let (begun, reports) = (self.begun, Arc::clone(&self.reports));
        let now = move || {
            let passed = SignedDuration::try_from(begun.elapsed()).unwrap();
            Timestamp::new(NEW_YEAR, 0).unwrap() + passed
        };
        Options::new(now).on_report(move |what| reports.lock().push(what.to_owned()))
    }

    fn run(&self, list: &str) -> Run {
        self.run_with(list, self.server.in_process_client())
    }

    fn run_with(&self, list: &str, client: Client) -> Run {
        let registry = controller_manager::registry(&self.options()).unwrap();
        let chosen = registry.select(list).unwrap();
        let controllers = Controllers::builder(ClientBuilder::shared(client), registry, chosen)
            .typed_informers(controller_manager::known_kinds)
            .build();
        let stop = CancellationToken::new();
        Run { task: tokio::spawn(controllers.run(stop.clone())), stop }
    }

    fn seed(&self, objects: &[Value]) {
        for object in objects {
            self.server.put(object).unwrap();
        }
    }

    fn change(&self, kind: &str, name: &str, change: impl Fn(&mut Value)) {
        self.server.mutate(full(kind), "default", name, change).unwrap();
    }

    fn get(&self, kind: &str, name: &str) -> Value {
        self.server.object(full(kind), "default", name).unwrap().unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    fn is_there(&self, kind: &str, name: &str) -> bool {
        self.server.object(full(kind), "default", name).unwrap().is_some()
    }

    fn list(&self, kind: &str) -> Vec<Value> {
        let mut all = self.server.objects(full(kind)).unwrap();
        all.sort_by_key(name);
        all
    }

    fn names(&self, kind: &str) -> Vec<String> {
        self.list(kind).iter().map(name).collect()
    }

    /// Pods that were not told to end.
    fn living_pods(&self) -> Vec<Value> {
        self.list("Pod").into_iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).collect()
    }

    /// Deletes an object, as a client would that does not say how.
    fn delete(&self, kind: &str, name: &str) {
        self.server.delete(full(kind), if kind == "Node" { "" } else { "default" }, name).unwrap();
    }

    fn scale(&self, kind: &str, name: &str, replicas: u32) {
        self.change(kind, name, |object| object["spec"]["replicas"] = json!(replicas));
    }
}

impl Run {
    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

async fn a_while() {
    tokio::time::sleep(A_WHILE).await;
}

/// A kind as the server calls it.
fn full(kind: &str) -> &'static str {
    match kind {
        "Pod" => "v1/Pod",
        "Node" => "v1/Node",
        "ConfigMap" => "v1/ConfigMap",
        "Event" => "events.k8s.io/v1/Event",
        "Job" => "batch/v1/Job",
        "ReplicaSet" => "apps/v1/ReplicaSet",
        "Deployment" => "apps/v1/Deployment",
        other => panic!("what is a {other}?"),
    }
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Makes so many pods ready that are not.
fn make_ready(server: &TestServer, count: usize) {
    let waiting = server.objects("v1/Pod").unwrap().into_iter().filter(|pod| {
        pod["status"]["conditions"].is_null()
            && pod["metadata"]["deletionTimestamp"].is_null()
            && pod["status"]["phase"] != "Succeeded"
    });
    for pod in waiting.take(count) {
        let namespace = pod["metadata"]["namespace"].as_str().unwrap();
        // It may have gone meanwhile.
        let _ = server.mutate("v1/Pod", namespace, &name(&pod), |pod| {
            let since = pod["metadata"]["creationTimestamp"].clone();
            pod["spec"]["nodeName"] = json!("node-1");
            pod["status"]["phase"] = json!("Running");
            pod["status"]["conditions"] =
                json!([{"type": "Ready", "status": "True", "lastTransitionTime": since}]);
        });
    }
}

fn replica_set(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, "v1"),
        },
    })
}

fn deployment(name: &str, replicas: u32, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "annotations": {"team": "shop"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
            "template": template(name, image),
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
    })
}

fn template(app: &str, image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}, "annotations": {"note": "from the template"}},
        "spec": {"containers": [{"name": "main", "image": image}], "terminationGracePeriodSeconds": 5},
    })
}

fn pod(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "v1"}]},
    })
}
