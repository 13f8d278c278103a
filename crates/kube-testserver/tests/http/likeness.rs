//! Small things in which a Kubernetes API server surprises, and this one does as well.

use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchParams};
use serde_json::{Value, json};

use crate::support::{
    Follower, Lines, answer, config_map, config_maps, definition, get, get_json, get_with, labelled, object,
    pod, pods, send, send_json, start_with_client, version,
};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn the_change_that_lets_an_object_go_is_seen_by_its_writer_only() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let held: ConfigMap = object(json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}));
    api.create(&PostParams::default(), &held).await.unwrap();
    let marked = api.delete("a", &DeleteParams::default()).await.unwrap().left().expect("the object");
    let since = marked.metadata.resource_version.clone().unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), &since).await;
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let answered = api.patch("a", &PatchParams::default(), &release).await.unwrap();
    assert_eq!(answered.metadata.finalizers, None);
    assert_eq!(version(&answered), version(&marked), "it was never stored");
    let gone = watch.expect("DELETED a").await;
    assert_eq!(gone.metadata.finalizers, Some(vec!["example.com/hold".to_owned()]));
    assert!(version(&gone) > version(&marked));
}

#[tokio::test]
async fn a_pod_is_marked_before_it_goes_even_if_nothing_holds_it() {
    let (_server, client) = start_with_client().await;
    let api: Api<Pod> = pods(&client);
    let created = api.create(&PostParams::default(), &pod("a")).await.unwrap();
    let mut watch = Follower::open(&api, &WatchParams::default(), &version(&created).to_string()).await;
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let marked = watch.expect("MODIFIED a").await;
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(0));
    assert!(watch.expect("DELETED a").await.metadata.deletion_timestamp.is_some());
}

#[tokio::test]
async fn a_watch_of_tables_sends_its_columns_once() {
    let (server, client) = start_with_client().await;
    for name in ["a", "b"] {
        server.put(&config_map(name, "1")).unwrap();
    }
    let accept = [("Accept", "application/json;as=Table;v=v1beta1;g=meta.k8s.io")];
    let path = format!(
        "{CONFIG_MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut lines = Lines::of(send(&client, get_with(&path, &accept)).await);
    let first = lines.json().await;
    assert_eq!(first["object"]["apiVersion"], "meta.k8s.io/v1beta1");
    assert!(first["object"]["columnDefinitions"].is_array());
    assert_eq!(lines.json().await["object"]["columnDefinitions"], Value::Null);
    let bookmark = lines.json().await;
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["rows"][0]["cells"], json!(["", 0, "<unknown>"]));
}

#[tokio::test]
async fn metadata_of_a_list_must_be_asked_for_as_a_list() {
    let (server, client) = start_with_client().await;
    server.put(&config_map("a", "1")).unwrap();
    for (path, kind, code) in [
        (CONFIG_MAPS.to_owned(), "PartialObjectMetadata", 406),
        (CONFIG_MAPS.to_owned(), "PartialObjectMetadataList", 200),
        (format!("{CONFIG_MAPS}/a"), "PartialObjectMetadata", 200),
        (format!("{CONFIG_MAPS}/a"), "PartialObjectMetadataList", 406),
    ] {
        let accept = format!("application/json;as={kind};v=v1;g=meta.k8s.io");
        let found = answer(&client, get_with(&path, &[("Accept", &accept)])).await;
        assert_eq!(found.code, code, "{path} as {kind}: {}", found.text());
    }
}

#[tokio::test]
async fn lists_of_custom_resources_always_have_a_continue_token() {
    let (server, client) = start_with_client().await;
    server.put(&definition("widgets", "Widget", &json!({"type": "object"}), &json!({}))).unwrap();
    let custom = get_json(&client, "/apis/example.com/v1/widgets").await;
    assert_eq!(custom["metadata"]["continue"], "");
    assert_eq!(get_json(&client, CONFIG_MAPS).await["metadata"].get("continue"), None);
}

#[tokio::test]
async fn deleting_many_answers_with_what_they_were() {
    let (server, client) = start_with_client().await;
    let mut held = serde_json::to_value(labelled("a", "x", "1")).unwrap();
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    held["apiVersion"] = json!("v1");
    held["kind"] = json!("ConfigMap");
    server.put(&held).unwrap();
    let path = format!("{CONFIG_MAPS}?labelSelector=app%3Dx");
    let deleted = send_json(&client, Method::DELETE, &path, &json!({})).await.json();
    assert_eq!(deleted["items"][0]["metadata"].get("deletionTimestamp"), None);
    let found = get_json(&client, &format!("{CONFIG_MAPS}/a")).await;
    assert!(found["metadata"]["deletionTimestamp"].is_string());
}

#[tokio::test]
async fn deprecated_kinds_and_repeated_fields_come_with_warnings() {
    let (_server, client) = start_with_client().await;
    let found = get(&client, "/api/v1/endpoints").await;
    assert_eq!(
        found.header("warning"),
        "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\""
    );
    let twice = r#"{"metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}"#;
    let request = http::Request::post(CONFIG_MAPS).header("Content-Type", "application/json");
    let made = answer(&client, request.body(twice.as_bytes().to_vec().into()).unwrap()).await;
    assert_eq!(made.code, 201, "{}", made.text());
    assert_eq!(made.header("warning"), "299 - \"duplicate field \\\"data.a\\\"\"");
    assert_eq!(made.json()["data"], json!({"a": "2"}));
}
