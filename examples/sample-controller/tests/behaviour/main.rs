//! What the controller does about Foos, on the embedded server in paused time.

#![allow(clippy::disallowed_names, reason = "here a foo is a Foo")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_input;
mod crashes;
mod deployments;
mod manifests;
mod many;

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::events::v1::Event;
use kube_controller::controller::{ControllerError, ControllerHandle};
use kube_controller::events::EventRecorder;
use kube_informer::SharedInformerFactory;
use kube_informer::object::ObjectName;
use kube_testserver::{RequestRecord, TestServer, Verb};
use sample_controller::foo::{Foo, FooStatus};
use sample_controller::{NAME, RESYNC, cluster, controller};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const S: Duration = Duration::from_secs(1);

const FOO: &str = "samplecontroller.k8s.io/v1alpha1/Foo";
const DEPLOYMENT: &str = "apps/v1/Deployment";

/// Lets everybody come to rest: paused time moves when nobody has anything to do.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// A server that knows Foos.
async fn server() -> TestServer {
    let server = TestServer::builder().garbage_collection(true).start().await.unwrap();
    server.seed(include_str!("../../deploy/crd.yaml")).unwrap();
    server
}

fn foo(name: &str, deployment: &str, replicas: i32) -> Value {
    let metadata = json!({"name": name, "namespace": "default"});
    let spec = json!({"deploymentName": deployment, "replicas": replicas});
    json!({"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": metadata, "spec": spec})
}

fn read_foo(server: &TestServer, name: &str) -> Foo {
    serde_json::from_value(server.object(FOO, "default", name).unwrap().unwrap()).unwrap()
}

fn read_deployment(server: &TestServer, name: &str) -> Option<Deployment> {
    let found = server.object(DEPLOYMENT, "default", name).unwrap();
    found.map(|deployment| serde_json::from_value(deployment).unwrap())
}

/// Reasons and notes of all events, and what they are about.
fn events(server: &TestServer) -> Vec<String> {
    let events = server.objects("events.k8s.io/v1/Event").unwrap().into_iter();
    let mut events: Vec<String> = events
        .map(|event| {
            let event: Event = serde_json::from_value(event).unwrap();
            let about = event.regarding.unwrap().name.unwrap();
            format!("{about} {} {} {}", event.type_.unwrap(), event.reason.unwrap(), event.note.unwrap())
        })
        .collect();
    events.sort();
    events
}

/// What was written to Foos and Deployments.
fn writes(server: &TestServer) -> Vec<RequestRecord> {
    let is_write = |request: &RequestRecord| {
        matches!(request.verb, Some(Verb::Create | Verb::Update | Verb::Patch | Verb::Delete))
            && ["foos", "deployments"].contains(&request.resource.as_str())
    };
    server.requests().into_iter().filter(is_write).collect()
}

/// The controller as a program runs it, with all that belongs to it.
struct Process {
    handle: ControllerHandle<ObjectName>,
    stop: CancellationToken,
    running: JoinHandle<Result<(), ControllerError>>,
    writing: JoinHandle<()>,
    factory: SharedInformerFactory,
}

impl Process {
    fn start(server: &TestServer) -> Self {
        let client = server.in_process_client();
        let factory = SharedInformerFactory::builder(client.clone()).default_resync(RESYNC).build();
        let (recorder, writer) = EventRecorder::new(client.clone(), NAME, "pod-1");
        let controller = controller(client, &factory, recorder).unwrap();
        let (handle, stop) = (controller.handle(), CancellationToken::new());
        let running = tokio::spawn(controller.run(stop.clone()));
        let writing = tokio::spawn(writer.run(stop.clone()));
        Self { handle, stop, running, writing, factory }
    }

    /// As if somebody had pulled the plug.
    async fn crash(self) {
        self.running.abort();
        self.writing.abort();
        let _ = self.running.await;
        let _ = self.writing.await;
        self.factory.shutdown().await;
    }

    async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
        self.writing.await.unwrap();
        self.factory.shutdown().await;
    }
}

/// Those who run what Deployments want.
fn start_cluster(server: &TestServer) -> SharedInformerFactory {
    let factory = SharedInformerFactory::new(server.in_process_client());
    let deployments = factory.apps().v1().deployments().informer().unwrap();
    let others = cluster::availability(server.in_process_client(), &deployments).unwrap();
    tokio::spawn(others.run(CancellationToken::new()));
    factory
}

fn available(replicas: i32) -> Option<FooStatus> {
    Some(FooStatus { available_replicas: replicas })
}
