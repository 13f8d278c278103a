//! What is refused, and in which words: recorded from a Kubernetes API server, asked of this one.

use http::{Method, Request};
use kube_client::Client;
use kube_client::client::Body;
use serde_json::json;

use crate::support::{answer, definition, start_with_client};

const RECORDED: &str = include_str!("errors.txt");

/// A request and how it was answered.
#[derive(Debug)]
struct Row<'a> {
    method: &'a str,
    path: &'a str,
    content_type: &'a str,
    body: &'a str,
    code: u16,
    reason: &'a str,
    message: String,
}

fn rows() -> Vec<Row<'static>> {
    let paragraphs = RECORDED.split("\n\n").filter(|paragraph| !paragraph.starts_with('#'));
    paragraphs.map(|paragraph| row(paragraph.trim_end())).collect()
}

fn row(paragraph: &'static str) -> Row<'static> {
    let mut lines = paragraph.lines().peekable();
    let mut request = lines.next().expect("a request").split(' ');
    let body = lines.next_if(|line| line.starts_with("> ")).map_or("", |line| &line[2..]);
    let (code, reason) = lines.next().map(|line| line.split_once(' ').unwrap_or((line, ""))).expect("a code");
    Row {
        method: request.next().expect("a method"),
        path: request.next().expect("a path"),
        content_type: request.next().unwrap_or(""),
        body,
        code: code.parse().unwrap_or_else(|_| panic!("{code} is no code: {paragraph}")),
        reason,
        message: lines.next().expect("a message").replace("\\n", "\n"),
    }
}

/// What the recorded requests are about.
fn seed(server: &kube_testserver::TestServer) {
    let spec = json!({
        "type": "object", "required": ["size"],
        "properties": {
            "size": {"type": "integer"},
            "replicas": {"type": "integer", "default": 1},
            "frozen": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
        },
    });
    let schema = json!({"type": "object", "properties": {
        "spec": spec, "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    }});
    let parts = json!({"subresources": {
        "status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    }});
    server.put(&definition("widgets", "Widget", &schema, &parts)).unwrap();
    server.put(&definition("gadgets", "Gadget", &schema, &json!({}))).unwrap();
    let objects = "
{apiVersion: v1, kind: Namespace, metadata: {name: t}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c1, namespace: t}, data: {a: '1'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: s1, namespace: t}, data: {k: '1'}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p1, namespace: t}, spec: {containers: [{name: c, image: nginx}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d1, namespace: t}
spec:
  replicas: 1
  selector: {matchLabels: {app: d1}}
  template: {metadata: {labels: {app: d1}}, spec: {containers: [{name: c, image: nginx}]}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w1, namespace: t}, spec: {size: 1}}
";
    server.seed(objects).unwrap();
}

/// What is different about an answer; empty if nothing is.
async fn differences(client: &Client, row: &Row<'_>) -> String {
    let mut request = Request::builder().method(row.method.parse::<Method>().unwrap()).uri(row.path);
    if !row.content_type.is_empty() {
        request = request.header("Content-Type", row.content_type);
    }
    let found = answer(client, request.body(Body::from(row.body.as_bytes().to_vec())).unwrap()).await;
    let text = found.text();
    let (reason, message) = match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(status) => {
            let text = |field: &str| status[field].as_str().unwrap_or("").to_owned();
            (text("reason"), text("message"))
        }
        Err(_) => (String::new(), text.trim_end().to_owned()),
    };
    if (found.code.as_u16(), &*reason, message.trim_end()) == (row.code, row.reason, &*row.message) {
        return String::new();
    }
    format!(
        "{} {} {}\n  expected {} {} {}\n  found    {} {reason} {message}\n",
        row.method, row.path, row.body, row.code, row.reason, row.message, found.code
    )
}

#[tokio::test]
async fn every_recorded_refusal_is_given_in_the_same_words() {
    let (server, client) = start_with_client().await;
    seed(&server);
    let rows = rows();
    assert!(rows.len() > 100, "only {} requests were read", rows.len());
    let before = server.resource_version();
    let mut different = String::new();
    for row in &rows {
        different.push_str(&differences(&client, row).await);
    }
    assert!(different.is_empty(), "{different}");
    assert_eq!(server.resource_version(), before, "what is refused changes nothing");
}
