//! A real server as a cluster, and our controllers beside the real kube-controller-manager: the same inputs, on a real
//! server each, end in the same objects.

use std::time::Duration;

use controller_manager::{Options as ControllerOptions, podgc};
use k8s_openapi::jiff::Timestamp;
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube_controller::registry::{ClientBuilder, ControllerRegistry, Controllers};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_informer_e2e::{Options, RealServer};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::start;

/// What has not changed for so long is the end.
const QUIET: Duration = Duration::from_secs(2);

/// What people and kubelets do in the default namespace of a server.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    _kubelet: Option<AbortOnDropHandle<()>>,
}

impl Cluster {
    /// One whose pods are as the test says.
    pub(crate) async fn of(server: &RealServer) -> Self {
        Self { client: server.client().await.unwrap(), _kubelet: None }
    }

    /// One whose pods become ready.
    pub(crate) async fn with_kubelet(server: &RealServer) -> Self {
        let client = server.client().await.unwrap();
        let pods = api(&client, "Pod");
        let kubelet = tokio::spawn(async move {
            loop {
                run_pods(&pods).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Self { client, _kubelet: Some(AbortOnDropHandle::new(kubelet)) }
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        api(&self.client, kind)
    }

    pub(crate) async fn create(&self, object: Value) {
        let kind = object["kind"].as_str().unwrap().to_owned();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.api(&kind).create(&PostParams::default(), &object).await.unwrap();
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    pub(crate) async fn patch_status(&self, kind: &str, name: &str, status: Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        self.api(kind).patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str, policy: PropagationPolicy) {
        let params = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
        self.api(kind).delete(name, &params).await.unwrap();
    }

    pub(crate) async fn list(&self, kind: &str) -> Vec<Value> {
        let list = self.api(kind).list(&ListParams::default()).await.unwrap();
        list.items.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    /// The state when nothing has changed for a while, and what was asked for has come.
    pub(crate) async fn settled(
        &self,
        step: &str,
        patience: Duration,
        state: impl AsyncFn() -> Value,
        is_so: &dyn Fn(&Value) -> bool,
    ) -> Value {
        let begun = Instant::now();
        let (mut seen, mut since) = (state().await, Instant::now());
        while !is_so(&seen) || since.elapsed() < QUIET {
            assert!(begun.elapsed() < patience, "{step}: {seen:#}");
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = state().await;
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
        }
        seen
    }
}

fn api(client: &Client, kind: &str) -> Api<DynamicObject> {
    let (group, version) = match kind {
        "Deployment" | "ReplicaSet" => ("apps", "v1"),
        "Job" => ("batch", "v1"),
        "Foo" => ("samplecontroller.k8s.io", "v1alpha1"),
        _ => ("", "v1"),
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match kind {
        "Node" => Api::all_with(client.clone(), &resource),
        _ => Api::namespaced_with(client.clone(), "default", &resource),
    }
}

/// What a kubelet would do: pods that were made become ready.
async fn run_pods(pods: &Api<DynamicObject>) {
    let Ok(list) = pods.list(&ListParams::default()).await else { return };
    for pod in list.items {
        let name = pod.metadata.name.clone().unwrap_or_default();
        if pod.data["status"]["conditions"].is_null() && pod.metadata.deletion_timestamp.is_none() {
            let ready =
                json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
            let status = json!({"status": {"phase": "Running", "conditions": [ready]}});
            // It may be gone.
            let _ = pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await;
        }
    }
}

/// How many objects of a kind a state has.
pub(crate) fn count(state: &Value, kind: &str) -> usize {
    state[kind].as_array().unwrap().len()
}

/// What is there after each step.
pub(crate) type States = Vec<(&'static str, Value)>;

/// Plays the same on two servers, one with the real controllers of these names and one with ours, and fails if a state is
/// not the same. So many finished pods are kept, if it is said.
pub(crate) async fn beside_the_real_ones(
    controllers: &str,
    finished_pods: Option<usize>,
    play: impl AsyncFn(&RealServer) -> States,
) {
    let real = async {
        let mut options = Options::new().controllers(controllers);
        if let Some(kept) = finished_pods {
            options = options.controller_flag(&format!("--terminated-pod-gc-threshold={kept}"));
        }
        let server = start(options).await;
        let states = play(&server).await;
        server.stop().await.unwrap();
        states
    };
    let ours = async {
        let server = start(Options::new()).await;
        let registry = registry(finished_pods);
        let chosen = registry.select(controllers).unwrap();
        let config = server.config_at(server.url()).await.unwrap();
        let clients = ClientBuilder::from_config(config, "controller-manager");
        let controllers = Controllers::builder(clients, registry, chosen)
            .typed_informers(controller_manager::known_kinds)
            .build();
        let stop = CancellationToken::new();
        let run = tokio::spawn(controllers.run(stop.clone()));
        let states = play(&server).await;
        stop.cancel();
        run.await.unwrap().unwrap();
        server.stop().await.unwrap();
        states
    };
    let (real, ours) = tokio::join!(Box::pin(real), Box::pin(ours));
    assert_eq!(real.len(), ours.len());
    let mut different = Vec::new();
    for ((step, real), (_, ours)) in real.iter().zip(&ours) {
        for (kind, real) in real.as_object().unwrap() {
            if *real != ours[kind] {
                different.push(format!("{step}, {kind}:\nreal {real}\nours {}", ours[kind]));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Our controllers.
fn registry(finished_pods: Option<usize>) -> ControllerRegistry {
    #[expect(clippy::disallowed_methods, reason = "the server has a real clock too")]
    let options = ControllerOptions::new(Timestamp::now);
    let all = controller_manager::registry(&options).unwrap();
    let Some(kept) = finished_pods else { return all };
    let mut registry = ControllerRegistry::new();
    for descriptor in [
        podgc::descriptor_keeping(options.clone(), kept),
        controller_manager::ttl::descriptor(options.clone()),
        controller_manager::garbage::descriptor(options),
    ] {
        registry.register(descriptor).unwrap();
    }
    registry
}
