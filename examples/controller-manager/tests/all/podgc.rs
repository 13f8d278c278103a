//! Pods that nobody else will end.

use std::time::Duration;

use controller_manager::podgc::descriptor_keeping;
use kube_controller::registry::{ClientBuilder, ControllerRegistry, Controllers};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{World, pod};

fn on_node(name: &str, node: &str, phase: &str) -> Value {
    let mut pod = pod(name, &json!({}));
    pod["spec"]["nodeName"] = json!(node);
    pod["status"]["phase"] = json!(phase);
    pod
}

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_node_that_stays_away_are_said_to_have_failed_and_deleted() {
    let world = World::idle(|server| server).await;
    world.seed(&[node("here"), node("away"), on_node("fine", "here", "Running")]);
    world.seed(&[on_node("lost", "away", "Running"), on_node("done", "away", "Succeeded")]);
    let mut kept = on_node("kept", "away", "Running");
    kept["metadata"]["finalizers"] = json!(["example.com/wait"]);
    world.seed(&[kept]);
    let run = world.run("podgc");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.names("Pod").len(), 4);
    world.delete("Node", "away");
    tokio::time::sleep(Duration::from_secs(35)).await;
    assert_eq!(world.names("Pod").len(), 4, "it may come back");
    world.server.clear_requests();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.names("Pod"), ["fine", "kept"], "a finalizer keeps it");
    let mut patched: Vec<String> = world
        .server
        .requests()
        .into_iter()
        .filter(|request| request.subresource == "status")
        .map(|request| request.name)
        .collect();
    patched.sort();
    assert_eq!(patched, ["kept", "lost"], "what has finished has not failed");
    let kept = &world.get("Pod", "kept")["status"];
    let condition = kept["conditions"].as_array().unwrap().last().unwrap();
    assert_eq!((&kept["phase"], &condition["type"]), (&json!("Failed"), &json!("DisruptionTarget")));
    assert_eq!(
        (&condition["reason"], &condition["message"]),
        (&json!("DeletionByPodGC"), &json!("PodGC: node no longer exists"))
    );
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn pods_that_were_told_to_end_before_they_had_a_node_are_deleted() {
    let world = World::idle(|server| server.pod_termination(false)).await;
    let mut never = pod("never", &json!({}));
    never["metadata"]["finalizers"] = json!(["example.com/wait"]);
    world.seed(&[never, pod("waiting", &json!({}))]);
    world.delete("Pod", "never");
    let run = world.run("podgc");
    tokio::time::sleep(Duration::from_secs(25)).await;
    // The finalizer keeps it; it was deleted all the same.
    let status = &world.get("Pod", "never")["status"];
    assert_eq!(status["phase"], "Failed");
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let is_disrupted = |condition: &Value| condition["type"] == "DisruptionTarget";
    assert!(!conditions.into_iter().any(is_disrupted), "somebody wanted it to end: {status}");
    assert!(world.get("Pod", "waiting")["metadata"]["deletionTimestamp"].is_null());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_oldest_finished_pods_go_when_there_are_too_many() {
    let world = World::idle(|server| server).await;
    world.seed(&[node("here")]);
    for number in 0..5 {
        world.seed(&[on_node(&format!("done-{number}"), "here", "Succeeded")]);
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    world.seed(&[on_node("running", "here", "Running")]);
    // It is the youngest, and says least.
    let mut evicted = on_node("evicted", "here", "Failed");
    evicted["status"]["reason"] = json!("Evicted");
    world.seed(&[evicted]);
    let mut registry = ControllerRegistry::new();
    registry.register(descriptor_keeping(world.options(), 2)).unwrap();
    let chosen = registry.select("*").unwrap();
    let clients = ClientBuilder::shared(world.server.in_process_client());
    let stop = CancellationToken::new();
    let run = tokio::spawn(Controllers::builder(clients, registry, chosen).build().run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(world.names("Pod"), ["done-3", "done-4", "running"]);
    stop.cancel();
    run.await.unwrap().unwrap();
}
