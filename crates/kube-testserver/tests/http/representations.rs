//! Other forms of the same objects: only metadata, tables for people, and compressed lists.

use std::io::Read;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_client::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};

use crate::support::{
    answer, config_map, config_maps, create_all, get_with, labelled, names, object, pod, pods,
    start_with_client, version, within,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const AS_TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

#[tokio::test]
async fn metadata_alone_can_be_read() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let created = api.create(&PostParams::default(), &labelled("a", "web", "1")).await.unwrap();
    let found = api.get_metadata("a").await.unwrap();
    assert_eq!(found.metadata, created.metadata);
    let types = found.types.unwrap();
    assert_eq!(
        (types.kind.as_str(), types.api_version.as_str()),
        ("PartialObjectMetadata", "meta.k8s.io/v1")
    );

    create_all(&api, &["b"]).await;
    let list = api.list_metadata(&ListParams::default().limit(1)).await.unwrap();
    assert_eq!(list.items[0].metadata, created.metadata);
    assert!(list.metadata.continue_.is_some());
    let selected = api.list_metadata(&ListParams::default().labels("app!=web")).await.unwrap();
    assert_eq!(selected.items[0].metadata.name.as_deref(), Some("b"));

    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let raw = answer(&client, get_with(MAPS, &[("accept", accept)])).await.json();
    assert_eq!(
        (raw["kind"].as_str(), raw["apiVersion"].as_str()),
        (Some("PartialObjectMetadataList"), Some("meta.k8s.io/v1"))
    );
    assert_eq!(raw["items"].as_array().unwrap().len(), 2);
    assert!(raw["items"].as_array().unwrap().iter().all(|item| item.get("data").is_none()));
}

#[tokio::test]
async fn metadata_alone_can_be_watched() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let stream = api.watch_metadata(&WatchParams::default().initial_events(), "0").await.unwrap();
    let mut stream = std::pin::pin!(stream);
    let mut next = async || within(stream.next()).await.unwrap().unwrap();
    assert!(matches!(next().await, WatchEvent::Added(found) if found.metadata == created.metadata));
    assert!(matches!(next().await, WatchEvent::Bookmark(mark)
        if mark.metadata.annotations.contains_key("k8s.io/initial-events-end")));
    let changed = api.replace("a", &PostParams::default(), &config_map("a", "2")).await.unwrap();
    assert!(matches!(next().await, WatchEvent::Modified(found) if found.metadata == changed.metadata));
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(matches!(next().await, WatchEvent::Deleted(found) if version(&found) == version(&changed) + 1));
}

fn column_names(table: &Value) -> Vec<&str> {
    let columns = table["columnDefinitions"].as_array().expect("columns");
    columns.iter().map(|column| column["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn tables_have_the_columns_that_kubectl_shows() {
    let (server, client) = start_with_client().await;
    let mut new = pod("a");
    new.spec.as_mut().unwrap().node_name = Some("node-1".into());
    new.status = Some(object(json!({
        "phase": "Running", "podIP": "10.0.0.7",
        "containerStatuses": [{"name": "main", "image": "example/main", "imageID": "", "ready": true, "restartCount": 3,
            "state": {"running": {}}}],
    })));
    server.put(&new).unwrap();
    let path = "/api/v1/namespaces/default/pods";
    let table = answer(&client, get_with(path, &[("accept", AS_TABLE)])).await.json();
    assert_eq!(
        (table["kind"].as_str(), table["apiVersion"].as_str()),
        (Some("Table"), Some("meta.k8s.io/v1"))
    );
    assert_eq!(column_names(&table)[..5], ["Name", "Ready", "Status", "Restarts", "Age"]);
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(cells[..3], [json!("a"), json!("1/1"), json!("Running")]);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata", "by default");
    assert_eq!(table["rows"][0]["object"]["metadata"]["name"], "a");
    assert_eq!(table["metadata"]["resourceVersion"], server.resource_version().to_string());

    for (include, kind) in
        [("None", Value::Null), ("Object", json!("Pod")), ("Metadata", json!("PartialObjectMetadata"))]
    {
        let path = format!("{path}/a?includeObject={include}");
        let table = answer(&client, get_with(&path, &[("accept", AS_TABLE)])).await.json();
        assert_eq!(table["rows"].as_array().unwrap().len(), 1, "{include}");
        assert_eq!(table["rows"][0]["object"]["kind"], kind, "{include}");
    }
}

#[tokio::test]
async fn tables_of_custom_kinds_have_the_columns_of_their_definition() {
    let (_server, client) = start_with_client().await;
    let columns = json!({"additionalPrinterColumns": [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    crate::custom_kinds::define(&client, crate::support::definition("widgets", "Widget", &schema, &columns))
        .await;
    let widgets = crate::custom_kinds::widgets(&client);
    widgets
        .create(&PostParams::default(), &crate::custom_kinds::widget("a", &json!({"size": 7})))
        .await
        .unwrap();
    let table = answer(&client, get_with(crate::custom_kinds::WIDGETS, &[("accept", AS_TABLE)])).await.json();
    assert_eq!(column_names(&table), ["Name", "Size", "Age"]);
    assert_eq!(table["rows"][0]["cells"].as_array().unwrap()[..2], [json!("a"), json!(7)]);
}

#[tokio::test]
async fn tables_can_be_watched() {
    let (_server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a"]).await;
    let path = format!("{MAPS}?watch=true");
    let response = crate::support::send(&client, get_with(&path, &[("accept", AS_TABLE)])).await;
    let mut lines = crate::support::Lines::of(response);
    let first = lines.json().await;
    assert_eq!(first["type"], "ADDED");
    assert_eq!(first["object"]["kind"], "Table");
    assert_eq!(column_names(&first["object"]), ["Name", "Data", "Age"]);
    assert_eq!(first["object"]["rows"][0]["cells"].as_array().unwrap()[..2], [json!("a"), json!(1)]);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let second = lines.json().await;
    assert_eq!(second["type"], "DELETED");
    assert_eq!(second["object"]["rows"][0]["cells"][0], "a");
    // Columns are told once: they do not change.
    assert_eq!(second["object"]["columnDefinitions"], Value::Null);
}

#[tokio::test]
async fn a_form_that_the_server_has_not_is_not_acceptable() {
    let (_server, client) = start_with_client().await;
    for accept in ["application/xml", "application/json;as=Chart;v=v1;g=meta.k8s.io"] {
        let found = answer(&client, get_with(MAPS, &[("accept", accept)])).await;
        assert_eq!(found.code, 406, "{accept}");
        assert_eq!(found.json()["reason"], "NotAcceptable");
    }
}

async fn fill(client: &Client, count: usize) {
    let api = config_maps(client);
    for number in 0..count {
        let text = format!("{number} ").repeat(4000);
        let map: ConfigMap =
            object(json!({"metadata": {"name": format!("n{number:02}")}, "data": {"text": text}}));
        api.create(&PostParams::default(), &map).await.unwrap();
    }
}

#[tokio::test]
async fn long_lists_are_compressed_for_those_who_ask() {
    let (_server, client) = start_with_client().await;
    fill(&client, 20).await;
    let plain = answer(&client, get_with(MAPS, &[("accept-encoding", "identity")])).await;
    assert!(plain.body.len() > 128 << 10, "{}", plain.body.len());
    assert_eq!(plain.header("content-encoding"), "");
    let compressed = answer(&client, get_with(MAPS, &[("accept-encoding", "gzip")])).await;
    assert_eq!(compressed.header("content-encoding"), "gzip");
    assert!(compressed.header("vary").to_lowercase().contains("accept-encoding"));
    assert!(compressed.body.len() < plain.body.len() / 2);
    let mut decoded = Vec::new();
    flate2::read::GzDecoder::new(&compressed.body[..]).read_to_end(&mut decoded).unwrap();
    assert!(decoded == plain.body, "compression must not change the list");

    for refusing in ["gzip;q=0", "deflate", ""] {
        let found = answer(&client, get_with(MAPS, &[("accept-encoding", refusing)])).await;
        assert_eq!(found.header("content-encoding"), "", "{refusing:?}");
    }
}

#[tokio::test]
async fn short_lists_are_not_worth_compressing() {
    let (_server, client) = start_with_client().await;
    fill(&client, 2).await;
    let found = answer(&client, get_with(MAPS, &[("accept-encoding", "gzip")])).await;
    assert_eq!(found.header("content-encoding"), "");
    assert_eq!(found.json()["items"].as_array().unwrap().len(), 2);
    assert_eq!(names(&pods(&client).list(&ListParams::default()).await.unwrap().items), Vec::<String>::new());
}
