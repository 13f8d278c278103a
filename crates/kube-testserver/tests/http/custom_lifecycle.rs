//! The end of custom kinds: what becomes of objects, watches and discovery when a definition is deleted.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use serde_json::json;

use crate::custom_kinds::{WIDGETS, define, definitions, widget, widgets};
use crate::support::{Follower, Lines, definition, get, get_json, refused, start_with_client, within};

const NAME: &str = "widgets.example.com";

async fn define_widgets(client: &Client) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    define(client, definition("widgets", "Widget", &schema, &json!({}))).await;
}

async fn served_groups(client: &Client) -> Vec<String> {
    let groups = get_json(client, "/apis").await;
    let name = |group: &serde_json::Value| group["name"].as_str().unwrap().to_owned();
    groups["groups"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn deleting_a_definition_deletes_its_objects_and_ends_its_watches() {
    let (_server, client) = start_with_client().await;
    define_widgets(&client).await;
    let api = widgets(&client);
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &widget(name, &json!({}))).await.unwrap();
    }
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    watch.expect("ADDED a").await;
    watch.expect("ADDED b").await;
    let mut definitions_watch = Follower::open(&definitions(&client), &WatchParams::default(), "0").await;
    definitions_watch.expect(&format!("ADDED {NAME}")).await;

    definitions(&client).delete(NAME, &DeleteParams::default()).await.unwrap();
    watch.expect("DELETED a").await;
    watch.expect("DELETED b").await;
    watch.ended().await;
    loop {
        let (change, _) = definitions_watch.change().await;
        if change == format!("DELETED {NAME}") {
            break;
        }
        assert_eq!(change, format!("MODIFIED {NAME}"));
    }
    assert_eq!(get(&client, WIDGETS).await.code, 404);
    assert_eq!(get(&client, "/apis/example.com/v1").await.code, 404);
    assert!(!served_groups(&client).await.contains(&"example.com".to_owned()));
    assert_eq!(refused(definitions(&client).get(NAME).await).code, 404);

    // A new definition of the same name begins empty, and its watches know nothing of the old one.
    define_widgets(&client).await;
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    api.create(&PostParams::default(), &widget("c", &json!({}))).await.unwrap();
    watch.expect("ADDED c").await;
}

#[tokio::test]
async fn a_definition_without_objects_goes_at_once() {
    let (_server, client) = start_with_client().await;
    define_widgets(&client).await;
    let mut watch = Follower::open(&widgets(&client), &WatchParams::default(), "0").await;
    let lines = Lines::open(&client, &format!("{WIDGETS}?watch=true")).await;
    definitions(&client).delete(NAME, &DeleteParams::default()).await.unwrap();
    watch.ended().await;
    assert_eq!(within(lines.rest()).await, (Vec::new(), false), "a complete answer");
    assert_eq!(refused(definitions(&client).get(NAME).await).code, 404);
}

#[tokio::test]
async fn a_definition_without_a_served_version_can_be_deleted() {
    let (_server, client) = start_with_client().await;
    define_widgets(&client).await;
    widgets(&client).create(&PostParams::default(), &widget("a", &json!({}))).await.unwrap();
    let unserve = json!([{"op": "replace", "path": "/spec/versions/0/served", "value": false}]);
    let unserve = Patch::<()>::Json(serde_json::from_value(unserve).unwrap());
    definitions(&client).patch(NAME, &PatchParams::default(), &unserve).await.unwrap();
    assert_eq!(get(&client, WIDGETS).await.code, 404);

    definitions(&client).delete(NAME, &DeleteParams::default()).await.unwrap();
    assert_eq!(refused(definitions(&client).get(NAME).await).code, 404);
    define_widgets(&client).await;
    let left = widgets(&client).list(&ListParams::default()).await.unwrap();
    assert!(left.items.is_empty(), "its objects are deleted with it");

    let mut never_served = definition("gears", "Gear", &json!({"type": "object"}), &json!({}));
    never_served["spec"]["versions"][0]["served"] = json!(false);
    define(&client, never_served).await;
    definitions(&client).delete("gears.example.com", &DeleteParams::default()).await.unwrap();
    assert_eq!(refused(definitions(&client).get("gears.example.com").await).code, 404);
}

#[tokio::test]
async fn an_object_with_a_finalizer_holds_its_definition() {
    let (_server, client) = start_with_client().await;
    define_widgets(&client).await;
    let api = widgets(&client);
    let mut held = widget("held", &json!({}));
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    api.create(&PostParams::default(), &widget("free", &json!({}))).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    watch.expect("ADDED free").await;
    watch.expect("ADDED held").await;

    definitions(&client).delete(NAME, &DeleteParams::default()).await.unwrap();
    watch.expect("DELETED free").await;
    let marked = watch.expect("MODIFIED held").await;
    assert!(marked.metadata.deletion_timestamp.is_some());
    let waiting: CustomResourceDefinition = definitions(&client).get(NAME).await.unwrap();
    assert!(waiting.metadata.deletion_timestamp.is_some());
    assert_eq!(waiting.metadata.finalizers.unwrap(), ["customresourcecleanup.apiextensions.k8s.io"]);
    let conditions = waiting.status.unwrap().conditions.unwrap();
    assert!(
        conditions.iter().any(|condition| condition.type_ == "Terminating" && condition.status == "True")
    );
    assert_eq!(
        api.list(&ListParams::default()).await.unwrap().items.len(),
        1,
        "what is left is still served"
    );

    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &release).await.unwrap();
    watch.expect("DELETED held").await;
    watch.ended().await;
    assert_eq!(refused(definitions(&client).get(NAME).await).code, 404);
    assert_eq!(get(&client, WIDGETS).await.code, 404);
}

#[tokio::test]
async fn nothing_is_created_under_a_definition_that_is_going() {
    let (_server, client) = start_with_client().await;
    define_widgets(&client).await;
    let api = widgets(&client);
    let mut held = widget("held", &json!({}));
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    definitions(&client).delete(NAME, &DeleteParams::default()).await.unwrap();
    let status = refused(api.create(&PostParams::default(), &widget("late", &json!({}))).await);
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        status.message,
        "widgets.example.com \"late\" is forbidden: create not allowed while custom resource definition is terminating"
    );
}
