//! A small cluster in which something always happens: a deployment is scaled and released, pods start, run, are evicted
//! and come again, a setting changes, and events tell of it. Everything goes through the API, as in a real one.

use std::collections::VecDeque;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod};
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::{Client, Error, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";
const MANAGER: &str = "demo";
const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];
const SEASONS: [&str; 4] = ["spring", "summer", "autumn", "winter"];

/// How many replicas the deployment wants, over and over.
const TIDE: [i32; 8] = [1, 2, 3, 4, 3, 2, 2, 1];

/// Steps between two changes of the wanted replicas.
const STEPS_PER_TIDE: usize = 4;

/// Steps between two releases, evictions and seasons; each begins a few steps later than the one before.
const STEPS_PER_TURN: usize = 15;

/// How many events there are at most; the oldest go first.
const MAX_EVENTS: usize = 5;

pub(crate) struct World {
    client: Client,
    step: usize,
    release: usize,
    /// How many pods there have been.
    pods: usize,
    /// The names of the events that are there, oldest first.
    events: VecDeque<String>,
}

impl World {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, step: 0, release: 1, pods: 0, events: VecDeque::new() }
    }

    /// Does the next thing.
    pub(crate) async fn step(&mut self) -> Result<(), Error> {
        let step = self.step;
        self.step += 1;
        if step == 0 {
            return self.found().await;
        }
        if step.is_multiple_of(STEPS_PER_TIDE) {
            let replicas = TIDE[step / STEPS_PER_TIDE % TIDE.len()];
            self.merge("web", &json!({"spec": {"replicas": replicas}})).await?;
            self.report("ScalingReplicaSet", &format!("Scaled to {replicas} by the tide")).await?;
        }
        let turn = step / STEPS_PER_TURN;
        match step % STEPS_PER_TURN {
            3 => self.release().await?,
            7 => self.evict().await?,
            11 => {
                let season = json!({"data": {"season": SEASONS[(turn + 1) % SEASONS.len()]}});
                self.api::<ConfigMap>().patch("settings", &params(), &Patch::Merge(&season)).await?;
            }
            _ => {}
        }
        self.follow().await
    }

    /// Makes the namespace, the settings and the deployment.
    async fn found(&self) -> Result<(), Error> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.create(&PostParams::default(), &object(json!({"metadata": {"name": NAMESPACE}}))?).await?;
        self.create::<ConfigMap>(json!({
            "metadata": {"name": "settings"},
            "data": {"currency": "EUR", "season": SEASONS[0]},
        }))
        .await?;
        let labels = self.labels();
        self.create::<Deployment>(json!({
            "metadata": {"name": "web", "labels": labels},
            "spec": {
                "replicas": TIDE[0],
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": self.containers()},
                },
            },
        }))
        .await
    }

    /// A new release: its label, and its image.
    async fn release(&mut self) -> Result<(), Error> {
        self.release += 1;
        let release = self.release;
        let label = json!({"release": format!("r{release}")});
        let template = json!({"metadata": {"labels": label}, "spec": {"containers": self.containers()}});
        self.merge("web", &json!({"metadata": {"labels": label}, "spec": {"template": template}})).await?;
        self.report("Released", &format!("Release r{release} is out")).await
    }

    /// A pod has to go, with a second to say goodbye; another will come for it.
    async fn evict(&mut self) -> Result<(), Error> {
        let pods = self.present().await?;
        let Some(name) = pods.iter().find(|pod| is_running(pod)).and_then(|pod| pod.metadata.name.clone())
        else {
            return Ok(());
        };
        self.api::<Pod>().delete(&name, &DeleteParams::default().grace_period(1)).await?;
        self.report("Evicted", &format!("Pod {name} was evicted")).await
    }

    /// Brings the pods one step closer to what the deployment wants.
    async fn follow(&mut self) -> Result<(), Error> {
        let deployment = self.api::<Deployment>().get("web").await?;
        let wanted = deployment.spec.replicas.unwrap_or(0);
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let pods = self.present().await?;
        let (running, starting): (Vec<&Pod>, Vec<&Pod>) = pods.iter().partition(|pod| is_running(pod));
        if let Some(name) = starting.first().and_then(|pod| pod.metadata.name.as_deref()) {
            self.start(name).await?;
        } else if running.len() < wanted {
            self.create_pod().await?;
        } else if running.len() > wanted
            && let Some(name) = running.last().and_then(|pod| pod.metadata.name.as_deref())
        {
            self.api::<Pod>().delete(name, &DeleteParams::default().grace_period(0)).await?;
        }
        let ready = self.present().await?.iter().filter(|pod| is_running(pod)).count();
        let status = json!({"status": {"replicas": wanted, "readyReplicas": ready}});
        self.api::<Deployment>().patch_status("web", &params(), &Patch::Merge(&status)).await?;
        Ok(())
    }

    /// The pods that are not on their way out.
    async fn present(&self) -> Result<Vec<Pod>, Error> {
        let mut pods = self.api::<Pod>().list(&ListParams::default().labels("app=web")).await?.items;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        Ok(pods)
    }

    async fn create_pod(&mut self) -> Result<(), Error> {
        self.pods += 1;
        self.create::<Pod>(json!({
            "metadata": {"generateName": "web-", "labels": self.labels()},
            "spec": {"nodeName": NODES[self.pods % NODES.len()], "containers": self.containers()},
            "status": {"phase": "Pending"},
        }))
        .await
    }

    async fn start(&self, name: &str) -> Result<(), Error> {
        let status = json!({"status": {
            "phase": "Running",
            "podIP": format!("10.0.0.{}", self.step % 250 + 1),
            "conditions": [{"type": "Ready", "status": "True"}],
        }});
        self.api::<Pod>().patch_status(name, &params(), &Patch::Merge(&status)).await?;
        Ok(())
    }

    /// Tells of something in an event, and forgets the oldest.
    async fn report(&mut self, reason: &str, message: &str) -> Result<(), Error> {
        let name = format!("web.{}", self.step);
        self.create::<Event>(json!({
            "metadata": {"name": name},
            "involvedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": NAMESPACE},
            "type": "Normal",
            "reason": reason,
            "message": message,
        }))
        .await?;
        self.events.push_back(name);
        if self.events.len() > MAX_EVENTS
            && let Some(oldest) = self.events.pop_front()
        {
            self.api::<Event>().delete(&oldest, &DeleteParams::default()).await?;
        }
        Ok(())
    }

    async fn merge(&self, deployment: &str, patch: &Value) -> Result<(), Error> {
        self.api::<Deployment>().patch(deployment, &params(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    fn labels(&self) -> Value {
        json!({"app": "web", "release": format!("r{}", self.release)})
    }

    fn containers(&self) -> Value {
        json!([{"name": "web", "image": format!("web:{}", self.release)}])
    }

    async fn create<K>(&self, value: Value) -> Result<(), Error>
    where
        K: Resource<DynamicType = (), Scope = kube_client::core::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned
            + serde::Serialize,
    {
        self.api::<K>().create(&PostParams::default(), &object(value)?).await?;
        Ok(())
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = kube_client::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

fn is_running(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
}

fn params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// Reads an object that is written down above.
fn object<K: DeserializeOwned>(value: Value) -> Result<K, Error> {
    serde_json::from_value(value).map_err(Error::SerdeError)
}
