//! `examples/sample-controller` on a real server, with the rights of its manifest and the real controllers of Deployments.

use std::time::Duration;

use http::Request;
use k8s_openapi::api::events::v1::Event;
use kube_client::Client;
use kube_client::api::{Api, DynamicObject, ListParams, PostParams, PropagationPolicy};
use kube_controller::controller::{ControllerError, ControllerHandle, ErrorKind};
use kube_controller::events::EventRecorder;
use kube_informer::SharedInformerFactory;
use kube_informer::object::ObjectName;
use kube_informer_e2e::{Options, skip};
use sample_controller::{NAME, controller};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::workloads::CONTROLLERS;
use crate::{PATIENCE, start};

/// The token of the user that the controller is.
const TOKEN: &str = "token-of-sample";

/// Everything is looked at again so often.
const RESYNC: Duration = Duration::from_secs(2);

/// Applies a manifest as it is.
async fn apply(client: &Client, path: &str, manifest: &str) {
    let request = Request::patch(format!("{path}?fieldManager=e2e"))
        .header("Content-Type", "application/apply-patch+yaml")
        .body(manifest.as_bytes().to_vec())
        .unwrap();
    client.request::<Value>(request).await.unwrap();
}

/// Foos are known, and the user may do what the manifest says and no more.
async fn install(client: &Client) {
    let definition = include_str!("../../../../examples/sample-controller/deploy/crd.yaml");
    let name = "foos.samplecontroller.k8s.io";
    apply(client, &format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"), definition)
        .await;
    let manifests = include_str!("../../../../examples/sample-controller/deploy/controller.yaml");
    let role = manifests.split("---\n").find(|one| one.contains("kind: ClusterRole\n")).unwrap();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    apply(client, &format!("{rbac}/clusterroles/{NAME}"), role).await;
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": NAME},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "sample"}],
    });
    apply(client, &format!("{rbac}/clusterrolebindings/{NAME}"), &binding.to_string()).await;
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
    fn start(client: &Client) -> Self {
        let factory = SharedInformerFactory::builder(client.clone()).default_resync(RESYNC).build();
        let (recorder, writer) = EventRecorder::new(client.clone(), NAME, "pod-1");
        let controller = controller(client.clone(), &factory, recorder).unwrap();
        let (handle, stop) = (controller.handle(), CancellationToken::new());
        let running = tokio::spawn(controller.run(stop.clone()));
        let writing = tokio::spawn(writer.run(stop.clone()));
        Self { handle, stop, running, writing, factory }
    }

    async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
        self.writing.await.unwrap();
        self.factory.shutdown().await;
    }

    /// Waits until it has failed with these words.
    async fn fails(&self, request: &str, words: &str) -> ErrorKind {
        let failed = async {
            loop {
                if let Some(failure) = self.handle.status().last_failure
                    && failure.request == request
                    && failure.message.contains(words)
                {
                    return failure.kind;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let kind = tokio::time::timeout(PATIENCE, failed).await;
        kind.unwrap_or_else(|_| panic!("{request} {words}: {:?}", self.handle.status()))
    }
}

fn foo(name: &str, deployment: &str, replicas: i32) -> Value {
    json!({
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {"name": name},
        "spec": {"deploymentName": deployment, "replicas": replicas},
    })
}

async fn get(cluster: &Cluster, kind: &str, name: &str) -> Option<Value> {
    let found = cluster.api(kind).get_opt(name).await.unwrap();
    found.map(|object| serde_json::to_value(object).unwrap())
}

/// Waits until an object is as described; none if it is not there.
async fn until(cluster: &Cluster, kind: &str, name: &str, is_so: impl Fn(Option<&Value>) -> bool) {
    let reached = async {
        while !is_so(get(cluster, kind, name).await.as_ref()) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    if tokio::time::timeout(PATIENCE, reached).await.is_err() {
        panic!("{kind} {name}: {:#?}", get(cluster, kind, name).await);
    }
}

fn has(pointer: &str, value: &Value) -> impl Fn(Option<&Value>) -> bool {
    move |object| object.is_some_and(|object| object.pointer(pointer) == Some(value))
}

/// Waits until there is an event of this reason about a Foo, and returns its type and note.
async fn event(client: &Client, about: &str, reason: &str) -> (String, String) {
    let events: Api<Event> = Api::default_namespaced(client.clone());
    let is_it = |event: &Event| {
        let name = event.regarding.as_ref().and_then(|regarding| regarding.name.as_deref());
        name == Some(about) && event.reason.as_deref() == Some(reason)
    };
    let found = async {
        loop {
            let all = events.list(&ListParams::default()).await.unwrap().items;
            if let Some(event) = all.into_iter().find(is_it) {
                return (event.type_.unwrap(), event.note.unwrap());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("no event {reason} about {about}"))
}

/// A Foo is refused by the server itself.
async fn refused(cluster: &Cluster, spec: Value) -> String {
    let mut object = foo("refused", "refused", 1);
    object["spec"] = spec;
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    cluster.api("Foo").create(&PostParams::default(), &object).await.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn sample_controller_does_on_a_real_server_what_it_promises() {
    if skip() {
        return;
    }
    let server = start(Options::new().rbac().token(TOKEN, "sample").controllers(CONTROLLERS)).await;
    let cluster = Cluster::with_kubelet(&server).await;
    install(&cluster.client).await;
    let process = Process::start(&server.client_for_token(TOKEN).await.unwrap());

    // A Foo gets its Deployment, and says how many replicas are available.
    until_known(&cluster).await;
    cluster.create(foo("web", "web-deployment", 3)).await;
    until(&cluster, "Foo", "web", has("/status/availableReplicas", &json!(3))).await;
    let (deployment, web) =
        (get(&cluster, "Deployment", "web-deployment").await, get(&cluster, "Foo", "web").await);
    let (deployment, web) = (deployment.unwrap(), web.unwrap());
    assert_eq!(deployment["spec"]["replicas"], 3);
    let owner = &deployment["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&json!("Foo"), &web["metadata"]["uid"]));
    let synced = ("Normal".to_owned(), "Foo synced successfully".to_owned());
    assert_eq!(event(&cluster.client, "web", "Synced").await, synced);
    cluster.patch("Foo", "web", json!({"spec": {"replicas": 5}})).await;
    until(&cluster, "Foo", "web", has("/status/availableReplicas", &json!(5))).await;
    // What others change is put right.
    cluster.patch("Deployment", "web-deployment", json!({"spec": {"replicas": 1}})).await;
    until(&cluster, "Deployment", "web-deployment", has("/spec/replicas", &json!(5))).await;
    until(&cluster, "Foo", "web", has("/status/availableReplicas", &json!(5))).await;

    // A Deployment of somebody else is not taken over.
    cluster.create(foreign("taken")).await;
    until(&cluster, "Deployment", "taken", has("/status/availableReplicas", &json!(1))).await;
    cluster.create(foo("rival", "taken", 3)).await;
    let note = "Resource \"taken\" already exists and is not managed by Foo";
    assert_eq!(process.fails("default/rival", note).await, ErrorKind::Retry);
    assert_eq!(
        event(&cluster.client, "rival", "ErrResourceExists").await,
        ("Warning".to_owned(), note.to_owned())
    );
    let taken = get(&cluster, "Deployment", "taken").await.unwrap();
    assert_eq!((&taken["metadata"]["generation"], &taken["spec"]["replicas"]), (&json!(1), &json!(1)));
    assert!(taken["metadata"]["ownerReferences"].is_null(), "{taken:#}");
    assert!(get(&cluster, "Foo", "rival").await.unwrap()["status"].is_null());

    // What no server takes, and what only we do not take.
    for (spec, word) in [
        (json!({"deploymentName": "x", "replicas": 0}), "spec.replicas"),
        (json!({"deploymentName": "x", "replicas": 11}), "spec.replicas"),
        (json!({"deploymentName": 5, "replicas": 1}), "spec.deploymentName"),
    ] {
        let error = refused(&cluster, spec.clone()).await;
        assert!(error.contains(word), "{spec}: {error}");
    }
    cluster.create(foo("nameless", "", 3)).await;
    let why = "spec.deploymentName is empty; say what the Deployment shall be called";
    assert_eq!(
        event(&cluster.client, "nameless", "ErrInvalidFoo").await,
        ("Warning".to_owned(), why.to_owned())
    );
    assert!(process.handle.status().terminal_errors >= 1);
    cluster.create(foo("odd", "Not A Name", 3)).await;
    process.fails("default/odd", "metadata.name: Invalid value: \"Not A Name\"").await;

    // Nothing is lost: when it is mended, it is done; others were never held up.
    cluster.patch("Foo", "nameless", json!({"spec": {"deploymentName": "named"}})).await;
    until(&cluster, "Foo", "nameless", has("/status/availableReplicas", &json!(3))).await;
    cluster.delete("Deployment", "taken", PropagationPolicy::Background).await;
    until(&cluster, "Foo", "rival", has("/status/availableReplicas", &json!(3))).await;

    // A Deployment goes with its Foo, and is not made anew.
    cluster.delete("Foo", "web", PropagationPolicy::Background).await;
    until(&cluster, "Deployment", "web-deployment", |object| object.is_none()).await;
    tokio::time::sleep(RESYNC).await;
    assert_eq!(get(&cluster, "Deployment", "web-deployment").await, None);
    process.end().await;
    server.stop().await.unwrap();
}

/// Waits until the server takes Foos: some time after it was told what they are.
async fn until_known(cluster: &Cluster) {
    let known = async {
        while cluster.api("Foo").list(&ListParams::default()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, known).await.expect("the server knows Foos");
}

fn foreign(name: &str) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "containers": [{"name": "main", "image": "theirs"}], "terminationGracePeriodSeconds": 0,
            }},
        },
    })
}
