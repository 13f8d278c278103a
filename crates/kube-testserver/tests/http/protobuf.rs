//! Answers in protobuf: the same objects as in JSON, to whoever asks for them.

use std::io::Read;

use http::{Method, Request};
use kube_client::Client;
use kube_client::client::Body;
use serde_json::{Value, json};

use crate::support::{
    Answer, PROTOBUF, answer, config_maps, create_all, from_protobuf, get_json, get_with, start_with_client,
    to_protobuf,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const METADATA: &str = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

async fn get(client: &Client, path: &str, accept: &str) -> Answer {
    answer(client, get_with(path, &[("accept", accept)])).await
}

/// Sends a body and asks for protobuf.
async fn send(client: &Client, method: Method, path: &str, kind: &str, body: Vec<u8>) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header("accept", PROTOBUF)
        .body(Body::from(body))
        .unwrap();
    answer(client, request).await
}

/// A list as JSON has it: items without a type.
fn without_types(mut list: Value) -> Value {
    for item in list["items"].as_array_mut().into_iter().flatten() {
        item.as_object_mut().unwrap().retain(|name, _| name != "kind" && name != "apiVersion");
    }
    list
}

#[tokio::test]
async fn every_verb_answers_in_protobuf() {
    let (_server, client) = start_with_client().await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let created = send(&client, Method::POST, MAPS, PROTOBUF, to_protobuf(&map)).await;
    assert_eq!(created.code, 201, "{}", created.text());
    let mut created = created.protobuf();
    assert_eq!(created, get_json(&client, &format!("{MAPS}/a")).await);
    assert_eq!((created["kind"].as_str(), created["data"]["k"].as_str()), (Some("ConfigMap"), Some("v")));
    let one = format!("{MAPS}/a");

    created["data"]["k"] = json!("w");
    let updated = send(&client, Method::PUT, &one, PROTOBUF, to_protobuf(&created)).await.protobuf();
    assert_eq!(updated["data"]["k"], "w");
    let patch = br#"{"data":{"k":"x"}}"#.to_vec();
    let patched = send(&client, Method::PATCH, &one, "application/merge-patch+json", patch).await.protobuf();
    assert_eq!(patched["data"]["k"], "x");

    assert_eq!(get(&client, &one, PROTOBUF).await.protobuf(), get_json(&client, &one).await);
    let list = get(&client, MAPS, PROTOBUF).await.protobuf();
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(without_types(list), get_json(&client, MAPS).await);

    let deleted = send(&client, Method::DELETE, &one, "", Vec::new()).await.protobuf();
    assert_eq!((deleted["kind"].as_str(), deleted["status"].as_str()), (Some("Status"), Some("Success")));
    assert_eq!(deleted["details"]["uid"], patched["metadata"]["uid"]);
    create_all(&config_maps(&client), &["b", "c"]).await;
    let deleted = send(&client, Method::DELETE, MAPS, "", Vec::new()).await.protobuf();
    assert_eq!(deleted["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_first_encoding_that_the_client_takes_is_chosen() {
    let (server, client) = start_with_client().await;
    create_all(&config_maps(&client), &["a"]).await;
    const JSON: &str = "application/json";
    for (accept, expected) in [
        (PROTOBUF.to_owned(), PROTOBUF),
        (format!("{PROTOBUF},{JSON}"), PROTOBUF),
        (format!("{JSON}, {PROTOBUF}"), JSON),
        (format!("{JSON};q=0.5,{PROTOBUF};q=0.9"), PROTOBUF),
        (format!("{PROTOBUF};q=0.5,{JSON};q=0.9"), JSON),
        (format!("{PROTOBUF};stream=watch"), PROTOBUF),
        (format!("application/cbor,{PROTOBUF}"), PROTOBUF),
        ("*/*".to_owned(), JSON),
        (String::new(), JSON),
        (format!("{PROTOBUF};{METADATA},{JSON};{METADATA}"), PROTOBUF),
    ] {
        let found = get(&client, &format!("{MAPS}/a"), &accept).await;
        assert_eq!((found.code.as_u16(), found.header("content-type")), (200, expected), "{accept}");
        let requests = server.requests();
        assert_eq!(requests.last().unwrap().answer_type, expected, "{accept}");
    }
    // Tables are for people.
    for (accept, code) in [
        (format!("{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"), 406),
        (format!("{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,{JSON};as=Table;g=meta.k8s.io;v=v1"), 200),
        ("application/vnd.kubernetes.*".to_owned(), 406),
    ] {
        let found = get(&client, MAPS, &accept).await;
        assert_eq!((found.code.as_u16(), found.header("content-type")), (code, JSON), "{accept}");
        assert_eq!(found.json()["kind"], if code == 200 { "Table" } else { "Status" });
    }
}

#[tokio::test]
async fn metadata_alone_comes_in_protobuf() {
    let (_server, client) = start_with_client().await;
    create_all(&config_maps(&client), &["a", "b"]).await;
    let whole = get_json(&client, &format!("{MAPS}/a")).await;
    let one = get(&client, &format!("{MAPS}/a"), &format!("{PROTOBUF};{METADATA}")).await.protobuf();
    let expected = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": whole["metadata"]});
    assert_eq!(one, expected);
    for version in ["v1", "v1beta1"] {
        let accept = format!("{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v={version}");
        let list = get(&client, &format!("{MAPS}?limit=1"), &accept).await.protobuf();
        assert_eq!(list["apiVersion"], format!("meta.k8s.io/{version}"));
        assert_eq!(list["kind"], "PartialObjectMetadataList");
        assert_eq!(list["items"], json!([{"metadata": whole["metadata"]}]));
        assert!(list["metadata"]["continue"].is_string());
        assert_eq!(list["metadata"]["remainingItemCount"], 1);
    }
    let wrong = get(&client, MAPS, &format!("{PROTOBUF};{METADATA}")).await;
    assert_eq!((wrong.code.as_u16(), wrong.header("content-type")), (406, "application/json"));
}

#[tokio::test]
async fn custom_resources_come_in_json_and_their_metadata_in_protobuf() {
    let (_server, client) = start_with_client().await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = crate::support::definition("widgets", "Widget", &schema, &json!({}));
    crate::custom_kinds::define(&client, definition).await;
    let widgets = crate::custom_kinds::widgets(&client);
    let widget = crate::custom_kinds::widget("a", &json!({"size": 7}));
    widgets.create(&kube_client::api::PostParams::default(), &widget).await.unwrap();
    let all = crate::custom_kinds::WIDGETS;
    let one = format!("{all}/a");
    for path in [all, &one, &format!("{all}?watch=true"), &format!("{all}/none")] {
        let refused = get(&client, path, PROTOBUF).await;
        assert_eq!(refused.code, 406, "{path}");
        assert_eq!(refused.protobuf()["reason"], "NotAcceptable", "{path}");
    }
    let both = format!("{PROTOBUF},application/json");
    assert_eq!(get(&client, &one, &both).await.json()["spec"]["size"], 7);
    assert_eq!(get(&client, all, &both).await.json()["items"][0]["spec"]["size"], 7);
    let missing = get(&client, &format!("{all}/none"), &both).await;
    assert_eq!((missing.code.as_u16(), missing.protobuf()["reason"].as_str()), (404, Some("NotFound")));
    let metadata = &get_json(&client, &one).await["metadata"];
    let partial = get(&client, &one, &format!("{PROTOBUF};{METADATA}")).await.protobuf();
    assert_eq!(partial["metadata"], *metadata);
    let partial = get(&client, all, &format!("{PROTOBUF};{METADATA_LIST}")).await.protobuf();
    assert_eq!(partial["items"][0]["metadata"], *metadata);
    // Nothing is done for somebody who cannot read the answer.
    let request = Request::delete(&one).header("accept", PROTOBUF).body(Body::empty()).unwrap();
    assert_eq!(answer(&client, request).await.code, 406);
    get_json(&client, &one).await;
    let request = Request::delete(&one).header("accept", both).body(Body::empty()).unwrap();
    assert_eq!(answer(&client, request).await.json()["status"], "Success");
}

#[tokio::test]
async fn versions_of_another_shape_come_in_their_own() {
    let (server, client) = start_with_client().await;
    server
        .seed(
            "{apiVersion: v1, kind: Event, metadata: {name: e, namespace: default}, message: m, count: 3, \
             involvedObject: {kind: Pod, name: p}}\n---\n\
             {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: default}, \
             spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: d}, metrics: [{type: Resource, \
             resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}",
        )
        .unwrap();
    for path in [
        "/api/v1/namespaces/default/events",
        "/apis/events.k8s.io/v1/namespaces/default/events",
        "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    ] {
        let list = get(&client, path, PROTOBUF).await.protobuf();
        let mut expected = get_json(&client, path).await;
        // Protobuf has zero values, and some of them show.
        let mut found = without_types(list);
        for value in [&mut found, &mut expected] {
            drop_zeros(value);
        }
        assert_eq!(found, expected, "{path}");
        assert_eq!(found["items"].as_array().unwrap().len(), 1, "{path}");
    }
    let event = get(&client, "/apis/events.k8s.io/v1/namespaces/default/events/e", PROTOBUF).await.protobuf();
    assert_eq!((event["note"].as_str(), event["deprecatedCount"].as_i64()), (Some("m"), Some(3)));
}

/// Takes away what says nothing: Go writes some of it, and the server does not.
pub(crate) fn drop_zeros(value: &mut Value) {
    let is_zero = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    };
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(drop_zeros);
            fields.retain(|_, value| !is_zero(value));
        }
        Value::Array(items) => items.iter_mut().for_each(drop_zeros),
        _ => {}
    }
}

#[tokio::test]
async fn long_lists_are_whole_and_compressed_if_the_client_likes() {
    const COUNT: usize = 60;
    let (server, client) = start_with_client().await;
    // More than is kept while the length is found out.
    for at in 0..COUNT {
        let value = format!("{at}-").repeat(50_000);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{at:03}")},
            "data": {"value": value}});
        server.put(&map).unwrap();
    }
    let plain = get(&client, MAPS, PROTOBUF).await;
    assert!(plain.body.len() > 8 << 20, "{}", plain.body.len());
    assert_eq!(without_types(plain.protobuf()), get_json(&client, MAPS).await);
    let request = get_with(MAPS, &[("accept", PROTOBUF), ("accept-encoding", "gzip")]);
    let small = answer(&client, request).await;
    assert_eq!(small.header("content-encoding"), "gzip");
    assert_eq!(small.header("content-type"), PROTOBUF);
    assert!(small.body.len() * 10 < plain.body.len());
    let mut whole = Vec::new();
    flate2::read::GzDecoder::new(&small.body[..]).read_to_end(&mut whole).unwrap();
    assert!(whole == plain.body);
    let one = get_with(&format!("{MAPS}/c059"), &[("accept", PROTOBUF), ("accept-encoding", "gzip")]);
    let one = answer(&client, one).await;
    assert_eq!((one.header("content-encoding"), one.header("content-type")), ("gzip", PROTOBUF));
}

#[tokio::test]
async fn what_the_server_says_of_itself_comes_in_protobuf_too() {
    let (_server, client) = start_with_client().await;
    for path in ["/api", "/apis", "/apis/apps", "/api/v1", "/apis/apps/v1"] {
        let (mut found, mut expected) =
            (get(&client, path, PROTOBUF).await.protobuf(), get_json(&client, path).await);
        drop_zeros(&mut found);
        drop_zeros(&mut expected);
        assert_eq!(found, expected, "{path}");
    }
    let whole = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let found = get(&client, "/apis", &format!("{PROTOBUF};{whole}")).await;
    assert_eq!(found.header("content-type"), format!("{PROTOBUF};{whole}"));
    let (mut found, mut expected) = (
        from_protobuf(&found.body),
        get(&client, "/apis", &format!("application/json;{whole}")).await.json(),
    );
    drop_zeros(&mut found);
    drop_zeros(&mut expected);
    assert_eq!(found, expected);
    assert_eq!(get(&client, "/version", PROTOBUF).await.code, 406);

    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = send(&client, Method::POST, path, PROTOBUF, to_protobuf(&review)).await;
    assert_eq!(review.protobuf()["status"]["allowed"], true);
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let path = "/apis/apps/v1/namespaces/default/deployments";
    assert_eq!(send(&client, Method::POST, path, PROTOBUF, to_protobuf(&deployment)).await.code, 201);
    let scale = get(&client, &format!("{path}/d/scale"), PROTOBUF).await.protobuf();
    assert_eq!((scale["kind"].as_str(), scale["spec"]["replicas"].as_i64()), (Some("Scale"), Some(2)));
}

#[tokio::test]
async fn a_server_may_have_json_only() {
    let server = kube_testserver::TestServer::builder().protobuf(false).start().await.unwrap();
    let client = server.client().unwrap();
    create_all(&config_maps(&client), &["a"]).await;
    assert_eq!(
        get(&client, MAPS, &format!("{PROTOBUF},application/json")).await.json()["kind"],
        "ConfigMapList"
    );
    let refused = get(&client, MAPS, PROTOBUF).await;
    assert_eq!(refused.code, 406);
    assert_eq!(refused.json()["message"], "only the following media types are accepted: application/json");
}
