//! A small cluster in which something always happens: a deployment is scaled, pods start, run and stop, and a
//! setting changes. Everything goes through the API, as in a real one.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::{Client, Error};
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";
const MANAGER: &str = "demo";
const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];

/// How many replicas the deployment wants, over and over.
const TIDE: [i64; 8] = [1, 2, 3, 4, 3, 2, 2, 1];

/// Steps between two changes of the wanted replicas.
const STEPS_PER_TIDE: usize = 4;

pub(crate) struct World {
    client: Client,
    step: usize,
}

impl World {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, step: 0 }
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
            self.merge_deployment(&json!({"spec": {"replicas": replicas}})).await?;
        }
        if step.is_multiple_of(STEPS_PER_TIDE * TIDE.len()) {
            let patch = json!({"data": {"season": format!("{}", step / STEPS_PER_TIDE / TIDE.len())}});
            self.configs().patch("settings", &params(), &Patch::Merge(&patch)).await?;
        }
        self.follow().await
    }

    /// Makes the namespace, the setting and the deployment.
    async fn found(&self) -> Result<(), Error> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.create(&PostParams::default(), &object(json!({"metadata": {"name": NAMESPACE}}))?).await?;
        let settings = json!({"metadata": {"name": "settings"}, "data": {"season": "0"}});
        self.configs().create(&PostParams::default(), &object(settings)?).await?;
        let web = json!({
            "metadata": {"name": "web"},
            "spec": {
                "replicas": TIDE[0],
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
                },
            },
        });
        self.deployments().create(&PostParams::default(), &object(web)?).await?;
        Ok(())
    }

    /// Brings the pods one step closer to what the deployment wants.
    async fn follow(&self) -> Result<(), Error> {
        let wanted = self.deployments().get("web").await?.spec.replicas.unwrap_or(0);
        let pods = self.pods().list(&ListParams::default().labels("app=web")).await?.items;
        let phase =
            |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
        let (running, starting): (Vec<&Pod>, Vec<&Pod>) =
            pods.iter().partition(|pod| phase(pod) == "Running");
        if let Some(pod) = starting.first() {
            self.start(pod).await?;
        } else if running.len() < usize::try_from(wanted).unwrap_or(0) {
            self.create_pod().await?;
        } else if running.len() > usize::try_from(wanted).unwrap_or(0)
            && let Some(name) = running.last().and_then(|pod| pod.metadata.name.as_deref())
        {
            self.pods().delete(name, &DeleteParams::default().grace_period(0)).await?;
        }
        let ready =
            self.pods().list(&ListParams::default().fields("status.phase=Running")).await?.items.len();
        let status = json!({"status": {"replicas": ready, "readyReplicas": ready}});
        self.deployments().patch_status("web", &params(), &Patch::Merge(&status)).await?;
        Ok(())
    }

    async fn create_pod(&self) -> Result<(), Error> {
        let pod = json!({
            "metadata": {"generateName": "web-", "labels": {"app": "web"}},
            "spec": {
                "nodeName": NODES[self.step % NODES.len()],
                "containers": [{"name": "web", "image": "web:1"}],
            },
        });
        self.pods().create(&PostParams::default(), &object(pod)?).await?;
        Ok(())
    }

    async fn start(&self, pod: &Pod) -> Result<(), Error> {
        let Some(name) = pod.metadata.name.as_deref() else { return Ok(()) };
        let status = json!({"status": {"phase": "Running", "podIP": "10.0.0.1"}});
        self.pods().patch_status(name, &params(), &Patch::Merge(&status)).await?;
        Ok(())
    }

    async fn merge_deployment(&self, patch: &Value) -> Result<(), Error> {
        self.deployments().patch("web", &params(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    fn configs(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

fn params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// Reads an object that is written down above.
fn object<K: serde::de::DeserializeOwned>(value: Value) -> Result<K, Error> {
    serde_json::from_value(value).map_err(Error::SerdeError)
}
