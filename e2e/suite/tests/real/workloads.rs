//! The controllers of deployments, replica sets and garbage of `examples/controller-manager` beside the real ones.

use std::collections::BTreeSet;
use std::time::Duration;

use kube_client::api::PropagationPolicy;
use kube_informer_e2e::skip;
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::cluster::{Cluster, beside_the_real_ones, count};

/// The controllers that both have.
pub(crate) const CONTROLLERS: &str =
    "deployment-controller,replicaset-controller,garbage-collector-controller";

/// Everything that matters, without what is chance: names, uids, times.
async fn state(cluster: &Cluster) -> Value {
    let sets = cluster.list("ReplicaSet").await;
    let hashes: BTreeSet<String> = sets
        .iter()
        .filter_map(|set| set["metadata"]["labels"]["pod-template-hash"].as_str().map(str::to_owned))
        .collect();
    let mut shown = json!({});
    for kind in ["Deployment", "ReplicaSet", "Pod", "ConfigMap"] {
        let objects = if kind == "ReplicaSet" { sets.clone() } else { cluster.list(kind).await };
        let mut all: Vec<Value> = objects.iter().map(|object| plain(kind, object, &hashes)).collect();
        all.retain(|object| object["name"] != "kube-root-ca.crt");
        all.sort_by_key(ToString::to_string);
        shown[kind] = json!(all);
    }
    shown
}

fn plain(kind: &str, object: &Value, hashes: &BTreeSet<String>) -> Value {
    let metadata = &object["metadata"];
    let mut shown = json!({"labels": metadata["labels"], "annotations": metadata["annotations"]});
    let owners = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
    shown["owners"] = owners
        .into_iter()
        .map(|mut owner| {
            owner["uid"].take();
            owner
        })
        .collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    shown["name"] = match metadata["generateName"].as_str() {
        Some(generated) => json!(generated),
        None => metadata["name"].clone(),
    };
    shown["finalizers"] = metadata["finalizers"].clone();
    // All of it: here nothing in it is chance, for nobody puts pods on nodes or gives them tokens.
    shown["spec"] = object["spec"].clone();
    if matches!(kind, "ReplicaSet" | "Deployment") {
        let mut status = object["status"].as_object().cloned().unwrap_or_default();
        // How often it was written on the way is nobody's concern; that all of it was seen is.
        let seen = status.remove("observedGeneration") == metadata.get("generation").cloned();
        status.retain(|_, value| *value != 0);
        if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
            for condition in conditions.iter_mut() {
                condition.as_object_mut().unwrap().retain(|field, _| !field.starts_with("last"));
                // A pod that was not made has had a name already.
                let message = text(&condition["message"]);
                if let Some((_, rest)) = message.strip_prefix("pods \"").and_then(|rest| rest.split_once('"'))
                {
                    condition["message"] = json!(format!("pods \"NAME\"{rest}"));
                }
            }
            conditions.sort_by_key(|condition| text(&condition["type"]));
        }
        shown["status"] = json!(status);
        shown["seen"] = json!(seen);
    }
    let mut written = shown.to_string();
    for hash in hashes {
        written = written.replace(hash.as_str(), "HASH");
    }
    serde_json::from_str(&written).unwrap()
}

/// One with something of everything: what is lost on the way to a pod is seen.
fn template(app: &str, image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app, "tier": "front"}, "annotations": {"example.com/note": "of the pod"}},
        "spec": {
            "initContainers": [{"name": "first", "image": "setup", "command": ["true"]}],
            "containers": containers(image),
            "volumes": [{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}],
            "nodeSelector": {"disk": "fast"},
            "tolerations": [{"key": "example.com/busy", "operator": "Exists", "effect": "NoSchedule"}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
            ]}},
            "securityContext": {"runAsUser": 1000, "fsGroup": 2000},
            "hostname": "host",
            "terminationGracePeriodSeconds": 0,
        },
    })
}

fn containers(image: &str) -> Value {
    json!([
        {
            "name": "main",
            "image": image,
            "args": ["--serve"],
            "env": [
                {"name": "COLOUR", "value": "green"},
                {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            "ports": [{"name": "http", "containerPort": 8080}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "0.5Gi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 3},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "securityContext": {"readOnlyRootFilesystem": true},
        },
        {"name": "beside", "image": "helper", "imagePullPolicy": "Never"},
    ])
}

fn deployment(name: &str, replicas: u32, strategy: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "annotations": {"team": "shop"}},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": strategy},
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, "v1"),
        },
    })
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": containers(image)}}}})
}

/// So many pods of an image are there, and no others of the app.
fn runs(state: &Value, app: &str, image: &str, count: usize) -> bool {
    let pods = state["Pod"].as_array().unwrap().iter().filter(|pod| pod["labels"]["app"] == app);
    let images: Vec<&Value> = pods.map(|pod| &pod["spec"]["containers"][0]["image"]).collect();
    images.len() == count && images.iter().all(|found| *found == image)
}

/// The deployment says that all of its pods work.
fn says(state: &Value, app: &str, replicas: u32) -> bool {
    let mut all = state["Deployment"].as_array().unwrap().iter();
    all.any(|one| {
        let figure = |field: &str| one["status"][field].as_u64().unwrap_or(0) == u64::from(replicas);
        one["name"] == app && one["seen"] == true && figure("availableReplicas") && figure("updatedReplicas")
    })
}

/// Plays everything, and returns the state after each step.
async fn play(cluster: Cluster) -> Vec<(&'static str, Value)> {
    let (cluster, mut states) = (&cluster, Vec::new());
    let mut settle = async |step: &'static str, is_so: &dyn Fn(&Value) -> bool| {
        states.push((step, cluster.settled(step, PATIENCE, async || state(cluster).await, is_so).await));
    };
    cluster.create(deployment("web", 3, "RollingUpdate")).await;
    settle("create", &|state| runs(state, "web", "v1", 3) && says(state, "web", 3)).await;
    cluster.patch("Deployment", "web", json!({"spec": {"replicas": 5}})).await;
    settle("scale up", &|state| runs(state, "web", "v1", 5) && says(state, "web", 5)).await;
    cluster.patch("Deployment", "web", json!({"spec": {"replicas": 2}})).await;
    settle("scale down", &|state| runs(state, "web", "v1", 2) && says(state, "web", 2)).await;
    cluster.patch("Deployment", "web", image("v2")).await;
    settle("update", &|state| runs(state, "web", "v2", 2) && says(state, "web", 2)).await;
    cluster.patch("Deployment", "web", json!({"spec": {"revisionHistoryLimit": 1}})).await;
    cluster.patch("Deployment", "web", image("v3")).await;
    let two_sets = |state: &Value| count(state, "ReplicaSet") == 2;
    settle("history", &|state| runs(state, "web", "v3", 2) && says(state, "web", 2) && two_sets(state)).await;
    cluster.patch("Deployment", "web", image("v2")).await;
    settle("back", &|state| runs(state, "web", "v2", 2) && says(state, "web", 2)).await;
    cluster.patch("Deployment", "web", json!({"spec": {"paused": true, "replicas": 4}})).await;
    cluster.patch("Deployment", "web", image("v4")).await;
    settle("paused", &|state| runs(state, "web", "v2", 4)).await;
    cluster.patch("Deployment", "web", json!({"spec": {"paused": false}})).await;
    settle("resumed", &|state| runs(state, "web", "v4", 4) && says(state, "web", 4)).await;
    cluster.delete("Deployment", "web", PropagationPolicy::Orphan).await;
    settle("orphan", &|state| count(state, "Deployment") == 0 && runs(state, "web", "v4", 4)).await;
    let mut again = deployment("web", 4, "RollingUpdate");
    again["spec"]["template"] = template("web", "v4");
    cluster.create(again).await;
    settle("adopt", &|state| runs(state, "web", "v4", 4) && says(state, "web", 4)).await;
    cluster.delete("Deployment", "web", PropagationPolicy::Background).await;
    settle("background", &|state| count(state, "ReplicaSet") == 0 && count(state, "Pod") == 0).await;

    cluster.create(deployment("db", 2, "Recreate")).await;
    settle("create to recreate", &|state| runs(state, "db", "v1", 2) && says(state, "db", 2)).await;
    cluster.patch("Deployment", "db", image("v2")).await;
    settle("recreate", &|state| runs(state, "db", "v2", 2) && says(state, "db", 2)).await;
    cluster.delete("Deployment", "db", PropagationPolicy::Foreground).await;
    settle("foreground", &|state| count(state, "Deployment") == 0 && count(state, "Pod") == 0).await;

    let free = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "free", "labels": {"app": "set"}},
        "spec": {"containers": [{"name": "main", "image": "v0"}], "terminationGracePeriodSeconds": 0},
    });
    cluster.create(free).await;
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "set"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "set"}}, "template": template("set", "v1")},
    });
    cluster.create(set).await;
    let full = |state: &Value| state["ReplicaSet"][0]["status"]["availableReplicas"] == 3;
    settle("a set that takes a pod", &full).await;
    cluster.patch("Pod", "free", json!({"metadata": {"labels": {"app": "debug"}}})).await;
    settle("a pod that leaves", &|state| full(state) && count(state, "Pod") == 4).await;
    let garbage = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "garbage", "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "nobody"}
        ]},
    });
    cluster.create(garbage).await;
    cluster.delete("ReplicaSet", "set", PropagationPolicy::Background).await;
    settle("garbage", &|state| count(state, "Pod") == 1 && count(state, "ConfigMap") == 0).await;

    let limits = json!([{"type": "Container", "max": {"memory": "1Mi"}}]);
    let range = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"},
        "spec": {"limits": limits}});
    cluster.create(range).await;
    // The server hears of it by a watch of its own.
    tokio::time::sleep(Duration::from_secs(2)).await;
    cluster.create(deployment("large", 2, "RollingUpdate")).await;
    let refused = |state: &Value| {
        let conditions =
            state["Deployment"][0]["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|condition| condition["type"] == "ReplicaFailure")
    };
    settle("refused", &refused).await;
    cluster.delete("LimitRange", "small", PropagationPolicy::Background).await;
    settle("taken back", &|state| runs(state, "large", "v1", 2) && says(state, "large", 2)).await;
    states
}

#[tokio::test(flavor = "multi_thread")]
async fn our_controllers_make_of_the_same_inputs_what_the_real_ones_make() {
    if skip() {
        return;
    }
    beside_the_real_ones(CONTROLLERS, None, async |server| play(Cluster::with_kubelet(server).await).await)
        .await;
}
