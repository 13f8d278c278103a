//! Replica sets: as many pods as they say.

use std::time::Duration;

use kube_testserver::{Fault, Verb};
use serde_json::json;

use crate::{A_WHILE, World, a_while, make_ready, name, pod, replica_set};

const ALONE: &str = "replicaset";

fn status(world: &World, name: &str) -> [i64; 4] {
    let set = world.get("ReplicaSet", name);
    ["replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"]
        .map(|field| set["status"][field].as_i64().unwrap_or(0))
}

#[tokio::test(start_paused = true)]
async fn a_set_gets_its_pods_and_says_so() {
    let world = World::new().await;
    world.seed(&[replica_set("web", 3)]);
    let run = world.run(ALONE);
    a_while().await;
    let (set, pods) = (world.get("ReplicaSet", "web"), world.list("Pod"));
    assert_eq!(pods.len(), 3);
    for pod in &pods {
        assert!(name(pod).starts_with("web-"), "{}", name(pod));
        assert_eq!(pod["metadata"]["labels"], json!({"app": "web"}));
        assert_eq!(pod["metadata"]["annotations"], json!({"note": "from the template"}));
        assert_eq!(pod["spec"]["containers"][0]["image"], "v1");
        let owner = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": set["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        }]);
        assert_eq!(pod["metadata"]["ownerReferences"], owner);
    }
    assert_eq!(status(&world, "web"), [3, 3, 3, 3]);
    assert_eq!(set["status"]["observedGeneration"], set["metadata"]["generation"]);
    let events = world.list("Event");
    assert!(events.iter().any(|event| event["reason"] == "SuccessfulCreate"), "{events:?}");
    run.end().await;
    assert!(world.reports.lock().is_empty(), "{:?}", world.reports.lock());
}

#[tokio::test(start_paused = true)]
async fn scaling_makes_and_deletes_pods_those_first_that_are_missed_least() {
    let world = World::idle(|server| server).await;
    world.seed(&[replica_set("web", 4)]);
    let run = world.run(ALONE);
    a_while().await;
    make_ready(&world.server, 2);
    let ready: Vec<String> =
        world.list("Pod").iter().filter(|pod| pod["status"]["phase"] == "Running").map(name).collect();
    world.scale("ReplicaSet", "web", 2);
    a_while().await;
    assert_eq!(world.names("Pod"), ready, "those that do not work go first");
    assert_eq!(status(&world, "web"), [2, 2, 2, 2]);
    world.scale("ReplicaSet", "web", 5);
    a_while().await;
    assert_eq!(world.names("Pod").len(), 5);
    world.scale("ReplicaSet", "web", 0);
    a_while().await;
    assert_eq!(world.names("Pod").len(), 0);
    assert_eq!(status(&world, "web"), [0, 0, 0, 0]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_goes_or_fails_is_replaced_at_once() {
    let world = World::new().await;
    world.seed(&[replica_set("web", 2)]);
    let run = world.run(ALONE);
    a_while().await;
    let [first, second] = world.names("Pod").try_into().unwrap();
    world.delete("Pod", &first);
    world.change("Pod", &second, |pod| pod["status"]["phase"] = json!("Failed"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let working = world.living_pods().iter().filter(|pod| pod["status"]["phase"] != "Failed").count();
    assert_eq!(working, 2, "it does not wait for the end of the others");
    a_while().await;
    assert_eq!(status(&world, "web"), [2, 2, 2, 2]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn pods_that_are_selected_and_free_are_taken_and_others_are_left_alone() {
    let world = World::new().await;
    let mut taken = pod("foreign", &json!({"app": "web"}));
    taken["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other", "uid": "somebody", "controller": true,
    }]);
    let free = [pod("free-1", &json!({"app": "web"})), pod("free-2", &json!({"app": "web"}))];
    world.seed(&[taken, pod("different", &json!({"app": "db"})), free[0].clone(), free[1].clone()]);
    world.seed(&[replica_set("web", 3)]);
    let run = world.run(ALONE);
    a_while().await;
    let uid = world.get("ReplicaSet", "web")["metadata"]["uid"].clone();
    let owner = |name: &str| world.get("Pod", name)["metadata"]["ownerReferences"][0]["uid"].clone();
    assert_eq!((owner("free-1"), owner("free-2")), (uid.clone(), uid));
    assert_eq!((owner("foreign"), owner("different")), (json!("somebody"), json!(null)));
    assert_eq!(world.names("Pod").len(), 5, "one is made");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_selected_no_more_is_given_up_and_replaced() {
    let world = World::new().await;
    world.seed(&[replica_set("web", 2)]);
    let run = world.run(ALONE);
    a_while().await;
    let first = world.names("Pod")[0].clone();
    world.change("Pod", &first, |pod| pod["metadata"]["labels"] = json!({"app": "debug"}));
    a_while().await;
    assert!(world.get("Pod", &first)["metadata"]["ownerReferences"].is_null());
    assert_eq!(world.names("Pod").len(), 3);
    // And when it is one of them again there is one too many.
    world.change("Pod", &first, |pod| pod["metadata"]["labels"] = json!({"app": "web"}));
    a_while().await;
    assert_eq!(world.names("Pod").len(), 2);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_set_that_goes_makes_and_takes_nothing() {
    let world = World::new().await;
    let mut going = replica_set("web", 3);
    going["metadata"]["finalizers"] = json!(["example.com/wait"]);
    world.seed(&[going, pod("free", &json!({"app": "web"}))]);
    world.delete("ReplicaSet", "web");
    let run = world.run(ALONE);
    a_while().await;
    assert_eq!(world.names("Pod"), ["free"]);
    assert!(world.get("Pod", "free")["metadata"]["ownerReferences"].is_null());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_behind_makes_nothing_twice() {
    let world = World::new().await;
    let run = world.run(ALONE);
    a_while().await;
    // The watch of pods is silent for a while: what is made is not seen.
    world.server.inject(Fault::delay(Duration::from_secs(15)).on(Verb::Watch).resource("pods"));
    world.server.stop_watches_of("pods");
    world.seed(&[replica_set("web", 10)]);
    for count in 1..=5 {
        world.change("ReplicaSet", "web", |set| {
            set["metadata"]["annotations"] = json!({"n": count.to_string()});
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    world.server.clear_faults();
    a_while().await;
    let made = world
        .server
        .requests()
        .into_iter()
        .filter(|request| request.verb == Some(Verb::Create) && request.resource == "pods");
    assert_eq!(made.count(), 10);
    assert_eq!(status(&world, "web"), [10, 10, 10, 10]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_pods_is_asked_for_few_and_the_set_says_so() {
    let world = World::new().await;
    world.seed(&[replica_set("web", 50)]);
    let broken = world.server.inject(Fault::reply(500).on(Verb::Create).resource("pods"));
    let run = world.run(ALONE);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let condition = world.get("ReplicaSet", "web")["status"]["conditions"][0].clone();
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("ReplicaFailure"), &json!("FailedCreate"))
    );
    assert!(broken.hits() < 15, "{}: one for each try", broken.hits());
    broken.remove();
    tokio::time::sleep(A_WHILE * 10).await;
    assert_eq!(world.names("Pod").len(), 50);
    assert!(world.get("ReplicaSet", "web")["status"]["conditions"].is_null());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn pods_count_as_available_when_they_have_been_ready_long_enough() {
    let world = World::new().await;
    let mut set = replica_set("web", 2);
    set["spec"]["minReadySeconds"] = json!(30);
    world.seed(&[set]);
    let run = world.run(ALONE);
    a_while().await;
    assert_eq!(status(&world, "web"), [2, 2, 0, 2]);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(status(&world, "web"), [2, 2, 2, 2]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn many_pods_are_made_five_hundred_at_a_time() {
    let world = World::new().await;
    world.seed(&[replica_set("web", 620)]);
    let run = world.run(ALONE);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(world.names("Pod").len(), 620);
    assert_eq!(status(&world, "web"), [620, 620, 620, 620]);
    run.end().await;
}
