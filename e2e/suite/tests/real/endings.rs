//! The controllers that end things beside the real ones: finished jobs, and pods that nobody else will end.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube_client::api::PropagationPolicy;
use kube_informer_e2e::skip;
use serde_json::{Value, json};

use crate::cluster::{Cluster, States, beside_the_real_ones};

/// The controllers that both have. The last ends what jobs leave behind.
const CONTROLLERS: &str =
    "ttl-after-finished-controller,pod-garbage-collector-controller,garbage-collector-controller";

/// So many finished pods are kept: more than there are before the step that is about them.
const KEPT: usize = 5;

/// Pods are looked at every 20 seconds, and a node has to be away for 40 of them.
const PATIENCE: Duration = Duration::from_secs(180);

/// Keeps an object, so that what was done to it can be seen.
const FINALIZER: &str = "example.com/wait";

fn node(name: &str, taint: Option<&str>) -> Value {
    let taints: Vec<Value> =
        taint.iter().map(|key| json!({"key": key, "value": "nodeshutdown", "effect": "NoExecute"})).collect();
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": taints}})
}

/// Makes a pod on a node, in a phase.
async fn pod(cluster: &Cluster, metadata: Value, node: Option<&str>, status: Value) {
    let name = metadata["name"].as_str().unwrap().to_owned();
    let containers = json!([{"name": "main", "image": "v1"}]);
    let spec = json!({"nodeName": node, "containers": containers, "terminationGracePeriodSeconds": 600});
    cluster.create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})).await;
    cluster.patch_status("Pod", &name, status).await;
}

async fn job(cluster: &Cluster, name: &str, ttl: Option<u32>, finalizers: &[&str]) {
    let containers = json!([{"name": "main", "image": "v1"}]);
    let template = json!({"spec": {"containers": containers, "restartPolicy": "Never"}});
    cluster
        .create(json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "finalizers": finalizers},
            "spec": {"ttlSecondsAfterFinished": ttl, "template": template},
        }))
        .await;
}

/// Says what a job controller would say of a job that ends now: that it is `Complete`, or `Failed`.
async fn finish(cluster: &Cluster, name: &str, how: &str) {
    #[expect(clippy::disallowed_methods, reason = "the server has a real clock too")]
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
    let status = if how == "Complete" {
        let conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
        json!({"startTime": now, "completionTime": now, "succeeded": 1, "conditions": conditions})
    } else {
        json!({"startTime": now, "failed": 1, "conditions": [condition("FailureTarget"), condition("Failed")]})
    };
    cluster.patch_status("Job", name, status).await;
}

/// Everything that matters, without what is chance: uids, times.
async fn state(cluster: &Cluster) -> Value {
    let mut shown = json!({});
    for kind in ["Pod", "Job", "Node"] {
        let mut all = json!({});
        for object in cluster.list(kind).await {
            let (metadata, mut status) = (&object["metadata"], object["status"].clone());
            let conditions = status["conditions"].as_array_mut().into_iter().flatten();
            for condition in conditions {
                condition.as_object_mut().unwrap().retain(|field, _| !field.starts_with("last"));
            }
            all[metadata["name"].as_str().unwrap()] = json!({
                "going": !metadata["deletionTimestamp"].is_null(),
                "finalizers": metadata["finalizers"],
                "phase": status["phase"],
                "observed": status["observedGeneration"],
                "conditions": status["conditions"],
            });
        }
        shown[kind] = all;
    }
    shown
}

fn names<'a>(state: &'a Value, kind: &str) -> Vec<&'a str> {
    state[kind].as_object().unwrap().keys().map(String::as_str).collect()
}

async fn play(cluster: Cluster) -> States {
    let (cluster, mut states) = (&cluster, Vec::new());
    let mut settle = async |step: &'static str, is_so: &dyn Fn(&Value) -> bool| {
        states.push((step, cluster.settled(step, PATIENCE, async || state(cluster).await, is_so).await));
    };
    let running = || json!({"phase": "Running"});
    let named = |name: &str| json!({ "name": name });
    let held = |name: &str| json!({"name": name, "finalizers": [FINALIZER]});
    cluster.create(node("here", None)).await;
    cluster.create(node("broken", Some("node.kubernetes.io/out-of-service"))).await;
    cluster.patch_status("Node", "here", json!({"conditions": [{"type": "Ready", "status": "True"}]})).await;
    pod(cluster, named("fine"), Some("here"), running()).await;
    pod(cluster, held("lost"), Some("away"), running()).await;
    pod(cluster, named("gone"), Some("away"), running()).await;
    pod(cluster, named("done"), Some("away"), json!({"phase": "Succeeded"})).await;

    // Told to end: there is nobody who would, but where a kubelet is.
    pod(cluster, held("never"), None, json!({})).await;
    pod(cluster, named("stuck"), Some("broken"), running()).await;
    pod(cluster, held("known"), Some("broken"), running()).await;
    pod(cluster, named("slow"), Some("here"), running()).await;
    for name in ["never", "stuck", "known", "slow"] {
        cluster.delete("Pod", name, PropagationPolicy::Background).await;
    }
    settle("told to end", &|state| {
        let failed = |name: &str| state["Pod"][name]["phase"] == "Failed";
        failed("never") && failed("known") && state["Pod"]["stuck"].is_null()
    })
    .await;

    job(cluster, "done", Some(2), &[]).await;
    job(cluster, "failed", Some(1), &[]).await;
    job(cluster, "at-once", Some(0), &[]).await;
    job(cluster, "held", Some(1), &[FINALIZER]).await;
    job(cluster, "kept", None, &[]).await;
    job(cluster, "patient", Some(3600), &[]).await;
    job(cluster, "running", Some(0), &[]).await;
    let uid = cluster.api("Job").get("done").await.unwrap().metadata.uid;
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "done", "uid": uid, "controller": true,
        "blockOwnerDeletion": true});
    let metadata = json!({"name": "of-job", "ownerReferences": [owner]});
    pod(cluster, metadata, Some("here"), json!({"phase": "Succeeded"})).await;
    for name in ["done", "at-once", "held", "kept", "patient"] {
        finish(cluster, name, "Complete").await;
    }
    finish(cluster, "failed", "Failed").await;
    settle("finished jobs", &|state| {
        names(state, "Job") == ["held", "kept", "patient", "running"]
            && state["Job"]["held"]["finalizers"] == json!([FINALIZER])
            && state["Pod"]["of-job"].is_null()
    })
    .await;
    cluster.patch("Job", "patient", json!({"spec": {"ttlSecondsAfterFinished": 1}})).await;
    cluster.patch("Job", "held", json!({"metadata": {"finalizers": null}})).await;
    settle("less patience", &|state| names(state, "Job") == ["kept", "running"]).await;
    finish(cluster, "running", "Complete").await;
    settle("a last job", &|state| names(state, "Job") == ["kept"]).await;

    settle("a node that stays away", &|state| {
        state["Pod"]["lost"]["phase"] == "Failed" && state["Pod"]["gone"].is_null()
    })
    .await;
    for name in ["never", "known", "lost"] {
        cluster.patch("Pod", name, json!({"metadata": {"finalizers": null}})).await;
    }
    settle("let go", &|state| names(state, "Pod") == ["fine", "slow"]).await;

    // Made in the order of their names; the last one goes first.
    for number in 1..=KEPT + 1 {
        let name = format!("finished-{number}");
        pod(cluster, named(&name), Some("here"), json!({"phase": "Succeeded"})).await;
    }
    let evicted = json!({"phase": "Failed", "reason": "Evicted"});
    pod(cluster, named("finished-evicted"), Some("here"), evicted).await;
    settle("too many have finished", &|state| names(state, "Pod").len() == KEPT + 2).await;
    let left = states.last().map(|(_, state)| names(state, "Pod")).unwrap();
    assert!(!left.contains(&"finished-1") && !left.contains(&"finished-evicted"), "{left:?}");
    states
}

#[tokio::test(flavor = "multi_thread")]
async fn our_controllers_end_the_same_jobs_and_pods_as_the_real_ones() {
    if skip() {
        return;
    }
    let play = async |server: &kube_informer_e2e::RealServer| play(Cluster::of(server).await).await;
    beside_the_real_ones(CONTROLLERS, Some(KEPT), play).await;
}
