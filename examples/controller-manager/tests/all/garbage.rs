//! The garbage collector, and what it does to what the other controllers have made.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Api;
use kube_client::api::{DeleteParams, PropagationPolicy};
use kube_testserver::Verb;
use serde_json::{Value, json};

use crate::{World, a_while, deployment, name};

const ALONE: &str = "garbagecollector";
const ALL: &str = "*";

fn config(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

/// An object that is owned by others that are there.
fn owned(world: &World, name: &str, owners: &[&str]) -> Value {
    let mut object = config(name);
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            let uid = &world.get("ConfigMap", owner)["metadata"]["uid"];
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": true})
        })
        .collect();
    object["metadata"]["ownerReferences"] = json!(references);
    object
}

async fn delete(world: &World, name: &str, policy: PropagationPolicy) {
    let configs: Api<ConfigMap> = Api::default_namespaced(world.server.in_process_client());
    let params = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
    configs.delete(name, &params).await.unwrap();
}

/// A family of three generations.
fn family(world: &World) {
    world.seed(&[config("parent"), config("stranger")]);
    world.seed(&[owned(world, "child", &["parent"])]);
    world.seed(&[owned(world, "grandchild", &["child"])]);
}

#[tokio::test(start_paused = true)]
async fn in_the_background_the_owner_goes_first_and_all_its_dependents_after_it() {
    let world = World::idle(|server| server).await;
    family(&world);
    let run = world.run(ALONE);
    a_while().await;
    assert_eq!(world.names("ConfigMap"), ["child", "grandchild", "parent", "stranger"]);
    delete(&world, "parent", PropagationPolicy::Background).await;
    assert!(!world.is_there("ConfigMap", "parent"));
    a_while().await;
    assert_eq!(world.names("ConfigMap"), ["stranger"]);
    run.end().await;
    assert!(world.reports.lock().is_empty(), "{:?}", world.reports.lock());
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_the_owner_goes_last() {
    let world = World::idle(|server| server).await;
    family(&world);
    let run = world.run(ALONE);
    a_while().await;
    world.server.clear_requests();
    delete(&world, "parent", PropagationPolicy::Foreground).await;
    assert!(world.is_there("ConfigMap", "parent"), "it waits");
    a_while().await;
    assert_eq!(world.names("ConfigMap"), ["stranger"]);
    let mut asked: Vec<String> = world
        .server
        .requests()
        .into_iter()
        .filter(|request| matches!(request.verb, Some(Verb::Delete | Verb::Patch)))
        .map(|request| request.name)
        .collect();
    // One that goes may be told so twice. The child waits for the grandchild, and the parent for the child.
    asked.dedup();
    assert_eq!(asked, ["parent", "child", "grandchild", "child", "parent"]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn with_orphan_the_dependents_stay_and_name_their_owner_no_more() {
    let world = World::idle(|server| server).await;
    family(&world);
    let run = world.run(ALONE);
    a_while().await;
    delete(&world, "parent", PropagationPolicy::Orphan).await;
    a_while().await;
    assert_eq!(world.names("ConfigMap"), ["child", "grandchild", "stranger"]);
    let owners = world.get("ConfigMap", "child")["metadata"]["ownerReferences"].clone();
    assert!(owners.as_array().is_none_or(Vec::is_empty), "{owners}");
    assert!(world.get("ConfigMap", "grandchild")["metadata"]["ownerReferences"].is_array());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn one_with_two_owners_stays_until_both_are_gone() {
    let world = World::idle(|server| server).await;
    world.seed(&[config("mother"), config("father")]);
    world.seed(&[owned(&world, "child", &["mother", "father"])]);
    let run = world.run(ALONE);
    a_while().await;
    delete(&world, "mother", PropagationPolicy::Background).await;
    a_while().await;
    let owners = world.get("ConfigMap", "child")["metadata"]["ownerReferences"].clone();
    assert_eq!((owners.as_array().unwrap().len(), &owners[0]["name"]), (1, &json!("father")));
    delete(&world, "father", PropagationPolicy::Foreground).await;
    a_while().await;
    assert!(world.names("ConfigMap").is_empty());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_names_an_owner_that_never_was_is_garbage_and_what_cannot_be_known_is_not() {
    let world = World::idle(|server| server).await;
    world.seed(&[config("parent")]);
    let uid = world.get("ConfigMap", "parent")["metadata"]["uid"].clone();
    let child = |name: &str, change: Value| {
        let mut object = config(name);
        let mut owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid});
        owner.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        object["metadata"]["ownerReferences"] = json!([owner]);
        object
    };
    let mut elsewhere = child("elsewhere", json!({}));
    elsewhere["metadata"]["namespace"] = json!("other");
    world.seed(&[
        child("good", json!({})),
        child("of-an-earlier-one", json!({"uid": "earlier"})),
        child("of-nobody", json!({"name": "nobody", "uid": "nobody"})),
        child("of-something-unknown", json!({"apiVersion": "example.com/v1", "kind": "Foo"})),
        elsewhere,
    ]);
    let run = world.run(ALONE);
    a_while().await;
    assert_eq!(
        world.names("ConfigMap"),
        ["good", "of-something-unknown", "parent"],
        "and not that of another namespace"
    );
    assert!(world.reports.lock()[0].contains("the server has no example.com/v1 Foo"));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn two_that_wait_for_each_other_do_not_wait_for_ever() {
    let world = World::idle(|server| server).await;
    world.seed(&[config("egg")]);
    world.seed(&[owned(&world, "hen", &["egg"])]);
    let circle = owned(&world, "egg", &["hen"])["metadata"]["ownerReferences"].clone();
    world.change("ConfigMap", "egg", |egg| egg["metadata"]["ownerReferences"] = circle.clone());
    let run = world.run(ALONE);
    a_while().await;
    delete(&world, "egg", PropagationPolicy::Foreground).await;
    a_while().await;
    assert!(world.names("ConfigMap").is_empty(), "{:?}", world.names("ConfigMap"));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_defined_later_are_followed_by_their_metadata() {
    let world = World::idle(|server| server).await;
    let run = world.run(ALONE);
    a_while().await;
    world
        .server
        .seed(
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
              metadata: {name: foos.example.com},
              spec: {group: example.com, scope: Namespaced, names: {plural: foos, singular: foo, kind: Foo},
                versions: [{name: v1, served: true, storage: true,
                  schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}",
        )
        .unwrap();
    let foo = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "foo", "namespace": "default"}});
    tokio::time::sleep(Duration::from_secs(65)).await;
    world.seed(&[foo]);
    let uid =
        world.server.object("example.com/v1/Foo", "default", "foo").unwrap().unwrap()["metadata"]["uid"]
            .clone();
    let mut child = config("child");
    child["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": uid}]);
    world.seed(&[child]);
    a_while().await;
    assert!(world.is_there("ConfigMap", "child"));
    world.server.delete("example.com/v1/Foo", "default", "foo").unwrap();
    a_while().await;
    assert!(!world.is_there("ConfigMap", "child"));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_is_deleted_takes_its_sets_and_pods_along() {
    for policy in [PropagationPolicy::Background, PropagationPolicy::Foreground] {
        let world = World::new().await;
        world.seed(&[deployment("web", 3, "v1")]);
        let run = world.run(ALL);
        a_while().await;
        assert_eq!((world.names("ReplicaSet").len(), world.names("Pod").len()), (1, 3));
        let web: Api<Deployment> = Api::default_namespaced(world.server.in_process_client());
        let params = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
        web.delete("web", &params).await.unwrap();
        a_while().await;
        let left = [world.names("Deployment"), world.names("ReplicaSet"), world.names("Pod")];
        assert_eq!(left, [Vec::<String>::new(), vec![], vec![]]);
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_orphaning_deployment_leaves_behind_goes_on_and_is_found_again() {
    let world = World::new().await;
    world.seed(&[deployment("web", 3, "v1")]);
    let run = world.run(ALL);
    a_while().await;
    let (sets, pods) = (world.names("ReplicaSet"), world.names("Pod"));
    let web: Api<Deployment> = Api::default_namespaced(world.server.in_process_client());
    let params =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    web.delete("web", &params).await.unwrap();
    a_while().await;
    assert!(!world.is_there("Deployment", "web"));
    assert_eq!((world.names("ReplicaSet"), world.names("Pod")), (sets.clone(), pods.clone()));
    world.seed(&[deployment("web", 3, "v1")]);
    a_while().await;
    assert_eq!((world.names("ReplicaSet"), world.names("Pod")), (sets, pods), "nothing is made anew");
    let set = world.list("ReplicaSet").remove(0);
    assert_eq!(set["metadata"]["ownerReferences"][0]["name"], "web", "{}", name(&set));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_is_killed_in_the_middle_is_followed_by_one_that_goes_on() {
    let world = World::idle(|server| server).await;
    family(&world);
    let run = world.run(ALONE);
    a_while().await;
    run.task.abort();
    assert!(run.task.await.unwrap_err().is_cancelled());
    // Nobody sees the parent go.
    delete(&world, "parent", PropagationPolicy::Background).await;
    delete(&world, "stranger", PropagationPolicy::Orphan).await;
    let run = world.run(ALONE);
    a_while().await;
    assert!(world.names("ConfigMap").is_empty(), "{:?}", world.names("ConfigMap"));
    run.end().await;
}
