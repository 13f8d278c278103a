//! Deployments: rolling update, recreate, revisions.

use std::sync::Arc;
use std::time::Duration;

use kube_testserver::{Fault, Verb};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{A_WHILE, World, a_while, deployment, make_ready, name, replica_set};

const BOTH: &str = "deployment,replicaset";

fn image(world: &World, image: &str) {
    world.change("Deployment", "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    });
}

/// For each set its revision, image, and how many pods it wants and has.
fn sets(world: &World) -> Vec<(i64, String, i64, i64)> {
    let mut sets: Vec<_> = world
        .list("ReplicaSet")
        .iter()
        .map(|set| {
            let revision =
                set["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str().unwrap();
            let image = set["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap();
            let has = set["status"]["replicas"].as_i64().unwrap_or(0);
            (revision.parse().unwrap(), image.to_owned(), set["spec"]["replicas"].as_i64().unwrap(), has)
        })
        .collect();
    sets.sort();
    sets
}

fn set(revision: i64, image: &str, replicas: i64) -> (i64, String, i64, i64) {
    (revision, image.to_owned(), replicas, replicas)
}

fn status(world: &World) -> [i64; 5] {
    let web = world.get("Deployment", "web");
    ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"]
        .map(|field| web["status"][field].as_i64().unwrap_or(0))
}

fn condition(world: &World, kind: &str) -> (String, String) {
    let web = world.get("Deployment", "web");
    let conditions = web["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|condition| condition["type"] == kind).unwrap();
    let text = |field: &str| found[field].as_str().unwrap().to_owned();
    (text("status"), text("reason"))
}

fn says(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

/// Looks at the pods all the time: the least that work, and the most that are there.
fn extremes(world: &World) -> (Arc<Mutex<(usize, usize)>>, impl Drop) {
    let (seen, server) = (Arc::new(Mutex::new((usize::MAX, 0))), Arc::clone(&world.server));
    let extremes = Arc::clone(&seen);
    let task = tokio::spawn(async move {
        loop {
            let pods = server.objects("v1/Pod").unwrap();
            let living = || pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
            let working = living().filter(|pod| pod["status"]["conditions"].is_array()).count();
            {
                let mut seen = extremes.lock();
                *seen = (seen.0.min(working), seen.1.max(living().count()));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    (seen, tokio_util::task::AbortOnDropHandle::new(task))
}

#[tokio::test(start_paused = true)]
async fn a_deployment_gets_a_replica_set_that_gets_pods() {
    let world = World::new().await;
    world.seed(&[deployment("web", 3, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    let (web, all) = (world.get("Deployment", "web"), world.list("ReplicaSet"));
    assert_eq!(all.len(), 1);
    let only = &all[0];
    let hash = only["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
    assert_eq!(name(only), format!("web-{hash}"));
    let labels = json!({"app": "web", "pod-template-hash": hash});
    assert_eq!(only["spec"]["selector"], json!({"matchLabels": labels}));
    assert_eq!(only["spec"]["template"]["metadata"]["labels"], labels);
    let annotations = json!({
        "team": "shop",
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    });
    assert_eq!(only["metadata"]["annotations"], annotations);
    let owner = &only["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&json!("Deployment"), &web["metadata"]["uid"]));
    assert_eq!(world.names("Pod").len(), 3);
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    assert_eq!(status(&world), [3, 3, 3, 3, 0]);
    assert_eq!(web["status"]["observedGeneration"], web["metadata"]["generation"]);
    assert_eq!(condition(&world, "Available"), says("True", "MinimumReplicasAvailable"));
    assert_eq!(condition(&world, "Progressing"), says("True", "NewReplicaSetAvailable"));
    run.end().await;
    assert!(world.reports.lock().iter().all(|report| report.contains("the object has been modified")));
}

#[tokio::test(start_paused = true)]
async fn a_rolling_update_stays_within_its_limits_all_the_way() {
    let world = World::new().await;
    world.seed(&[deployment("web", 10, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    let (seen, looking) = extremes(&world);
    image(&world, "v2");
    a_while().await;
    a_while().await;
    drop(looking);
    assert_eq!(sets(&world), [set(1, "v1", 0), set(2, "v2", 10)]);
    let (least, most) = *seen.lock();
    assert!(least >= 9 && most <= 11, "at least {least} worked, at most {most} were there");
    assert!(most > 10, "it used the room that it has");
    assert_eq!(status(&world), [10, 10, 10, 10, 0]);
    assert_eq!(
        world.get("Deployment", "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "2"
    );
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_update_whose_pods_never_work_stops_and_says_so_and_can_be_taken_back() {
    let mut world = World::new().await;
    world.seed(&[deployment("web", 4, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    world.kubelet = None;
    image(&world, "broken");
    a_while().await;
    assert_eq!(sets(&world), [set(1, "v1", 3), set(2, "broken", 2)]);
    assert_eq!(condition(&world, "Available"), says("True", "MinimumReplicasAvailable"));
    assert_eq!(condition(&world, "Progressing"), says("True", "ReplicaSetUpdated"));
    tokio::time::sleep(Duration::from_secs(700)).await;
    assert_eq!(condition(&world, "Progressing"), says("False", "ProgressDeadlineExceeded"));
    image(&world, "v1");
    world.run_pods();
    a_while().await;
    assert_eq!(sets(&world), [set(2, "broken", 0), set(3, "v1", 4)]);
    let back = world.list("ReplicaSet").into_iter().find(|set| set["spec"]["replicas"] == 4).unwrap();
    assert_eq!(back["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"], "1");
    assert_eq!(condition(&world, "Progressing"), says("True", "NewReplicaSetAvailable"));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn recreate_ends_all_old_pods_before_the_first_new_one() {
    let world = World::new().await;
    let mut web = deployment("web", 3, "v1");
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    world.seed(&[web]);
    let run = world.run(BOTH);
    a_while().await;
    let mixed = Arc::new(Mutex::new(false));
    let (server, seen) = (Arc::clone(&world.server), Arc::clone(&mixed));
    let looking = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let pods = server.objects("v1/Pod").unwrap();
            let has = |image: &str| pods.iter().any(|pod| pod["spec"]["containers"][0]["image"] == image);
            *seen.lock() |= has("v1") && has("v2");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }));
    image(&world, "v2");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(sets(&world).len(), 1, "the old pods are ending");
    a_while().await;
    drop(looking);
    assert!(!*mixed.lock(), "old and new at once");
    assert_eq!(sets(&world), [set(1, "v1", 0), set(2, "v2", 3)]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn scaling_a_deployment_scales_its_set_and_begins_no_revision() {
    let world = World::new().await;
    world.seed(&[deployment("web", 2, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    for replicas in [5, 0, 3] {
        world.scale("Deployment", "web", replicas);
        a_while().await;
        assert_eq!(sets(&world), [set(1, "v1", replicas.into())]);
        assert_eq!(world.living_pods().len(), replicas as usize);
    }
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn scaling_in_the_middle_of_an_update_scales_all_sets_in_proportion() {
    let mut world = World::new().await;
    let mut web = deployment("web", 10, "v1");
    web["spec"]["strategy"]["rollingUpdate"] = json!({"maxSurge": 3, "maxUnavailable": 2});
    world.seed(&[web]);
    let run = world.run(BOTH);
    a_while().await;
    world.kubelet = None;
    image(&world, "stuck");
    a_while().await;
    let wanted: Vec<i64> = sets(&world).iter().map(|set| set.2).collect();
    assert_eq!(wanted, [8, 5]);
    world.scale("Deployment", "web", 15);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let wanted: Vec<i64> = sets(&world).iter().map(|set| set.2).collect();
    assert_eq!(wanted, [11, 7], "as in the documentation of Kubernetes");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn old_revisions_are_kept_as_far_back_as_the_deployment_says() {
    let world = World::new().await;
    let mut web = deployment("web", 2, "v1");
    web["spec"]["revisionHistoryLimit"] = json!(2);
    world.seed(&[web]);
    let run = world.run(BOTH);
    a_while().await;
    for number in 2..=5 {
        image(&world, &format!("v{number}"));
        a_while().await;
    }
    assert_eq!(sets(&world), [set(3, "v3", 0), set(4, "v4", 0), set(5, "v5", 2)]);
    // Going back gives an old set a new number.
    image(&world, "v3");
    a_while().await;
    assert_eq!(sets(&world), [set(4, "v4", 0), set(5, "v5", 0), set(6, "v3", 2)]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_deployment_scales_and_does_not_update() {
    let world = World::new().await;
    world.seed(&[deployment("web", 2, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    world.change("Deployment", "web", |web| web["spec"]["paused"] = json!(true));
    image(&world, "v2");
    world.scale("Deployment", "web", 4);
    a_while().await;
    assert_eq!(sets(&world), [set(1, "v1", 4)]);
    world.change("Deployment", "web", |web| web["spec"]["paused"] = json!(false));
    a_while().await;
    assert_eq!(sets(&world), [set(1, "v1", 0), set(2, "v2", 4)]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_taken_by_a_foreign_set_is_left_alone_and_another_is_found() {
    let world = World::new().await;
    world.seed(&[deployment("web", 1, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    let taken = world.names("ReplicaSet")[0].clone();
    run.end().await;
    let world = World::new().await;
    let mut foreign = replica_set(&taken, 0);
    foreign["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "7"});
    world.seed(&[foreign.clone(), deployment("web", 1, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    assert_eq!(world.names("ReplicaSet").len(), 2);
    assert!(world.get("ReplicaSet", &taken)["metadata"]["ownerReferences"].is_null(), "no takeover");
    assert_eq!(world.get("Deployment", "web")["status"]["collisionCount"], 1);
    assert_eq!(status(&world), [1, 1, 1, 1, 0]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_free_set_of_the_same_template_is_taken_instead_of_making_one() {
    let world = World::new().await;
    world.seed(&[deployment("web", 2, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    let set: Value = world.list("ReplicaSet").remove(0);
    world.change("ReplicaSet", &name(&set), |set| set["metadata"]["ownerReferences"] = json!([]));
    a_while().await;
    assert_eq!(world.names("ReplicaSet"), [name(&set)]);
    let owner = world.get("ReplicaSet", &name(&set))["metadata"]["ownerReferences"][0]["kind"].clone();
    assert_eq!(owner, "Deployment");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn pods_that_become_ready_one_by_one_are_followed_step_by_step() {
    let mut world = World::new().await;
    world.seed(&[deployment("web", 4, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    world.kubelet = None;
    image(&world, "v2");
    let mut old = Vec::new();
    for _ in 0..8 {
        a_while().await;
        old.push(sets(&world)[0].2);
        make_ready(&world.server, 1);
    }
    old.dedup();
    assert_eq!(old, [3, 2, 1, 0], "one goes for each that works");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn whatever_somebody_writes_into_the_history_of_a_set_the_controller_goes_on() {
    let world = World::new().await;
    world.seed(&[deployment("web", 1, "v1")]);
    let run = world.run(BOTH);
    a_while().await;
    image(&world, "v2");
    a_while().await;
    let first = world
        .list("ReplicaSet")
        .into_iter()
        .find(|set| set["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1");
    // Longer than what is kept, and cut in the middle of a letter.
    let history = format!("{}x", "ä".repeat(1500));
    world.change("ReplicaSet", &name(&first.unwrap()), |set| {
        set["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] = json!(history);
    });
    image(&world, "v1");
    a_while().await;
    assert_eq!(sets(&world), [set(2, "v2", 0), set(3, "v1", 1)]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn more_replicas_than_can_be_counted_do_not_end_the_controller() {
    let world = World::idle(|server| server).await;
    let mut many = deployment("many", 0, "v1");
    many["spec"]["replicas"] = json!(i32::MAX);
    // One for each worker.
    let all: Vec<Value> = (0..5)
        .map(|number| {
            let mut one = many.clone();
            one["metadata"]["name"] = json!(format!("many-{number}"));
            one
        })
        .collect();
    world.seed(&all);
    let run = world.run("deployment");
    a_while().await;
    world.seed(&[deployment("web", 1, "v1")]);
    a_while().await;
    assert!(world.names("ReplicaSet").iter().any(|name| name.starts_with("web-")), "nobody looks any more");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_says_what_came_of_its_new_set() {
    let world = World::new().await;
    let refuses = world.server.inject(Fault::reply(403).on(Verb::Create).resource("replicasets"));
    world.seed(&[deployment("web", 1, "v1")]);
    let run = world.run("deployment");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let said = || {
        let conditions = world.get("Deployment", "web")["status"]["conditions"].clone();
        let mut all = conditions.as_array().unwrap().iter();
        all.find(|condition| condition["type"] == "Progressing").cloned().unwrap()
    };
    let refused = said();
    assert_eq!(
        (&refused["status"], &refused["reason"]),
        (&json!("False"), &json!("ReplicaSetCreateError")),
        "{refused}"
    );
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("Failed to create new replica set \"web-"), "{message}");
    assert!(!message.contains("ApiError"), "{message}");
    refuses.remove();
    // Nobody makes pods.
    tokio::time::sleep(A_WHILE * 10).await;
    let made = said();
    let message = format!("Created new replica set {:?}", world.names("ReplicaSet")[0]);
    assert_eq!(
        (&made["status"], &made["reason"], &made["message"]),
        (&json!("True"), &json!("NewReplicaSetCreated"), &json!(message))
    );
    run.end().await;
}
