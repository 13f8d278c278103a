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

/// Everything that matters of what a step is about, without what is chance: uids, times. Names begin with what it is about:
/// meanwhile others may go, sooner or later.
async fn state(cluster: &Cluster, about: &str) -> Value {
    let mut shown = json!({});
    for kind in ["Pod", "Job"] {
        shown[kind] = json!({});
        for object in cluster.list(kind).await {
            let (metadata, mut status) = (&object["metadata"], object["status"].clone());
            let conditions = status["conditions"].as_array_mut().into_iter().flatten();
            for condition in conditions {
                condition.as_object_mut().unwrap().retain(|field, _| !field.starts_with("last"));
            }
            let name = metadata["name"].as_str().unwrap();
            let Some(name) = name.strip_prefix(about).and_then(|rest| rest.strip_prefix('-')) else {
                continue;
            };
            shown[kind][name] = json!({
                "going": !metadata["deletionTimestamp"].is_null(),
                "finalizers": metadata["finalizers"],
                "phase": status["phase"],
                "observed": status["observedGeneration"],
                "conditions": status["conditions"],
            });
        }
    }
    shown
}

fn names<'a>(state: &'a Value, kind: &str) -> Vec<&'a str> {
    state[kind].as_object().unwrap().keys().map(String::as_str).collect()
}

async fn play(cluster: Cluster) -> States {
    let (cluster, mut states) = (&cluster, Vec::new());
    let mut settle = async |step: &'static str, about: &str, is_so: &dyn Fn(&Value) -> bool| {
        let state = async || state(cluster, about).await;
        states.push((step, cluster.settled(step, PATIENCE, state, is_so).await));
    };
    let running = || json!({"phase": "Running"});
    let named = |name: &str| json!({ "name": name });
    let held = |name: &str| json!({"name": name, "finalizers": [FINALIZER]});
    cluster.create(node("here", None)).await;
    cluster.create(node("broken", Some("node.kubernetes.io/out-of-service"))).await;
    cluster.patch_status("Node", "here", json!({"conditions": [{"type": "Ready", "status": "True"}]})).await;

    // It takes a minute or more until these are gone; other steps come first.
    pod(cluster, named("away-not"), Some("here"), running()).await;
    pod(cluster, held("away-held"), Some("away"), running()).await;
    pod(cluster, named("away-running"), Some("away"), running()).await;
    pod(cluster, named("away-done"), Some("away"), json!({"phase": "Succeeded"})).await;

    // Told to end: there is nobody who would, but where a kubelet is.
    pod(cluster, held("told-unplaced"), None, json!({})).await;
    pod(cluster, named("told-stuck"), Some("broken"), running()).await;
    pod(cluster, held("told-held"), Some("broken"), running()).await;
    pod(cluster, named("told-slow"), Some("here"), running()).await;
    for name in ["told-unplaced", "told-stuck", "told-held", "told-slow"] {
        cluster.delete("Pod", name, PropagationPolicy::Background).await;
    }
    settle("told to end", "told", &|state| {
        let failed = |name: &str| state["Pod"][name]["phase"] == "Failed";
        failed("unplaced") && failed("held") && names(state, "Pod") == ["held", "slow", "unplaced"]
    })
    .await;

    job(cluster, "job-done", Some(2), &[]).await;
    job(cluster, "job-failed", Some(1), &[]).await;
    job(cluster, "job-at-once", Some(0), &[]).await;
    job(cluster, "job-held", Some(1), &[FINALIZER]).await;
    job(cluster, "job-kept", None, &[]).await;
    job(cluster, "job-patient", Some(3600), &[]).await;
    job(cluster, "job-running", Some(0), &[]).await;
    let uid = cluster.api("Job").get("job-done").await.unwrap().metadata.uid;
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "job-done", "uid": uid,
        "controller": true, "blockOwnerDeletion": true});
    let metadata = json!({"name": "job-pod", "ownerReferences": [owner]});
    pod(cluster, metadata, Some("here"), json!({"phase": "Succeeded"})).await;
    for name in ["job-done", "job-at-once", "job-held", "job-kept", "job-patient"] {
        finish(cluster, name, "Complete").await;
    }
    finish(cluster, "job-failed", "Failed").await;
    settle("finished jobs", "job", &|state| {
        names(state, "Job") == ["held", "kept", "patient", "running"]
            && state["Job"]["held"]["finalizers"] == json!([FINALIZER])
            && names(state, "Pod").is_empty()
    })
    .await;
    cluster.patch("Job", "job-patient", json!({"spec": {"ttlSecondsAfterFinished": 1}})).await;
    cluster.patch("Job", "job-held", json!({"metadata": {"finalizers": null}})).await;
    settle("less patience", "job", &|state| names(state, "Job") == ["kept", "running"]).await;
    finish(cluster, "job-running", "Complete").await;
    settle("a last job", "job", &|state| names(state, "Job") == ["kept"]).await;

    settle("a node that stays away", "away", &|state| {
        state["Pod"]["held"]["phase"] == "Failed" && names(state, "Pod") == ["held", "not"]
    })
    .await;
    for name in ["told-unplaced", "told-held", "away-held"] {
        cluster.patch("Pod", name, json!({"metadata": {"finalizers": null}})).await;
    }
    settle("let go", "told", &|state| names(state, "Pod") == ["slow"]).await;

    // Made in the order of their names; the last one goes first.
    for number in 1..=KEPT + 1 {
        pod(cluster, named(&format!("done-{number}")), Some("here"), json!({"phase": "Succeeded"})).await;
    }
    pod(cluster, named("done-evicted"), Some("here"), json!({"phase": "Failed", "reason": "Evicted"})).await;
    settle("too many have finished", "done", &|state| names(state, "Pod").len() == KEPT).await;
    let left = states.last().map(|(_, state)| names(state, "Pod")).unwrap();
    assert_eq!(left, ["2", "3", "4", "5", "6"]);
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
