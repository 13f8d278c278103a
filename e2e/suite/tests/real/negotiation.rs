//! Who asks for protobuf is answered alike by the real server and by the embedded one, down to the bytes.

use http::{Method, Request, header};
use http_body_util::BodyExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::api::{Api, PostParams};
use kube_client::client::Body;
use kube_informer::discovery::Resources;
use kube_informer_e2e::{Options, skip};
use kube_testserver::TestServer;
use kube_wire::{Encoding, Limits, ProtoEnvelope, encode_object_proto};
use serde_json::{Value, json};

use crate::{create, namespace, shared, start};

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const METADATA: &str = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "as=Table;g=meta.k8s.io;v=v1";

const MAPS: &str = "/api/v1/namespaces/negotiation/configmaps";
const GADGETS: &str = "/apis/negotiation.example.com/v1/namespaces/negotiation/gadgets";

/// What is compared of an answer.
#[derive(Debug, PartialEq)]
struct Answer {
    code: u16,
    content_type: String,
    /// `apiVersion` and `kind`.
    object: (String, String),
    /// The message, if it is a refusal that both can say in the same words.
    refusal: Option<String>,
}

async fn send(client: &Client, method: &Method, path: &str, accept: &str) -> (u16, String, Vec<u8>) {
    let request = Request::builder().method(method).uri(path).header(header::ACCEPT, accept);
    let response = client.send(request.body(Body::empty()).unwrap()).await.unwrap();
    let content_type = response.headers().get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap());
    let (code, content_type) = (response.status().as_u16(), content_type.unwrap_or_default().to_owned());
    // A watch has no end, and its head says all.
    let is_watch = path.contains("watch=") && code == 200;
    let body =
        if is_watch { Vec::new() } else { response.into_body().collect().await.unwrap().to_bytes().to_vec() };
    (code, content_type, body)
}

async fn ask(client: &Client, method: &Method, path: &str, accept: &str) -> Answer {
    let (code, content_type, body) = send(client, method, path, accept).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // The embedded server has no YAML, so it cannot say the same about what it has.
    let is_refusal = code >= 400 && code != 406;
    let (object, refusal) = if body.is_empty() {
        Default::default()
    } else if content_type.starts_with(PROTOBUF) {
        let envelope = ProtoEnvelope::read(&body).unwrap();
        let object = (envelope.api_version.to_owned(), envelope.kind.to_owned());
        let refusal = is_refusal.then(|| envelope.object.escape_ascii().to_string());
        (object, refusal)
    } else {
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        let object = (text(&value["apiVersion"]), text(&value["kind"]));
        let refusal = is_refusal.then(|| text(&value["message"]));
        (object, refusal)
    };
    Answer { code, content_type, object, refusal }
}

fn cases() -> Vec<(Method, String, String)> {
    let both = format!("{PROTOBUF},{JSON}");
    let accepts = [
        PROTOBUF.to_owned(),
        both.clone(),
        format!("{JSON},{PROTOBUF}"),
        format!("{JSON};q=0.5,{PROTOBUF};q=0.9"),
        format!("{PROTOBUF};q=0.5,{JSON};q=0.9"),
        format!("{PROTOBUF};stream=watch"),
        format!("{PROTOBUF};charset=utf-8"),
        format!("{PROTOBUF};foo=bar"),
        format!("{PROTOBUF};{METADATA}"),
        format!("{PROTOBUF};{METADATA},{JSON};{METADATA}"),
        format!("{PROTOBUF};{METADATA_LIST}"),
        format!("{PROTOBUF};{METADATA_LIST},{JSON};{METADATA_LIST}"),
        format!("{PROTOBUF};{TABLE}"),
        format!("{PROTOBUF};{TABLE},{JSON}"),
        format!("{PROTOBUF};{TABLE},{JSON};{TABLE}"),
        "*/*".to_owned(),
        "application/xml".to_owned(),
    ];
    let mut cases = Vec::new();
    for accept in &accepts {
        for path in [MAPS, GADGETS] {
            cases.push((Method::GET, path.to_owned(), accept.clone()));
            // A real server answers this one with 500, where it answers for built-in kinds with 406.
            if !(path == GADGETS && accept.contains(METADATA_LIST)) {
                cases.push((Method::GET, format!("{path}/a"), accept.clone()));
            }
            cases.push((Method::GET, format!("{path}?watch=true"), accept.clone()));
            cases.push((Method::DELETE, format!("{path}/a?dryRun=All"), accept.clone()));
        }
    }
    for accept in [PROTOBUF, &both, &format!("{PROTOBUF};{METADATA}"), &format!("{PROTOBUF};stream=watch")] {
        for path in [MAPS, GADGETS] {
            cases.push((Method::GET, format!("{path}/none"), accept.to_owned()));
        }
        cases.push((Method::POST, format!("{MAPS}/a"), accept.to_owned()));
        for path in
            ["/api", "/apis", "/apis/apps", "/apis/negotiation.example.com", "/api/v1/things", "/api/v7"]
        {
            cases.push((Method::GET, path.to_owned(), accept.to_owned()));
        }
    }
    cases
}

async fn prepare(client: &Client) {
    let configs = namespace(client, "negotiation").await;
    create(&configs, "a", "1").await;
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "gadgets.negotiation.example.com"},
        "spec": {"group": "negotiation.example.com", "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}))
    .unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &definition).await.unwrap();
    let gadget =
        json!({"apiVersion": "negotiation.example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}});
    // A real server takes a moment to serve what it has just learned.
    let made = tokio::time::timeout(crate::PATIENCE, async {
        loop {
            let body = Body::from(serde_json::to_vec(&gadget).unwrap());
            let request = Request::post(GADGETS).header(header::CONTENT_TYPE, JSON).body(body).unwrap();
            if client.send(request).await.unwrap().status() == 201 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    made.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn both_servers_answer_in_the_same_encoding() {
    if skip() {
        return;
    }
    let real = shared().await.client().await.unwrap();
    let embedded = TestServer::start().await.unwrap();
    let embedded = embedded.client().unwrap();
    prepare(&real).await;
    prepare(&embedded).await;
    let mut wrong = Vec::new();
    let cases = cases();
    for (method, path, accept) in &cases {
        let expected = ask(&real, method, path, accept).await;
        let found = ask(&embedded, method, path, accept).await;
        if found != expected {
            wrong.push(format!(
                "{method} {path} as {accept}\n  real:     {expected:?}\n  embedded: {found:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// All items of a list.
fn items(encoding: Encoding, body: &[u8]) -> Vec<Vec<u8>> {
    let mut items = encoding.items(Limits::default());
    items.push(body).unwrap();
    let found = std::iter::from_fn(|| items.next_item().unwrap().map(|item| item.whole().unwrap().to_vec()));
    found.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_encoder_writes_what_a_real_server_writes() {
    if skip() {
        return;
    }
    let server = start(Options::new().rbac()).await;
    let client = server.client().await.unwrap();
    crate::encodings::seed(&client, &Resources::fetch(&client).await.unwrap()).await;
    let resources = Resources::fetch(&client).await.unwrap();
    let (mut objects, mut kinds) = (0, 0);
    for resource in resources.iter() {
        let known = &resource.resource;
        let encoding = Encoding::best_for(&known.group, &known.version, &known.kind);
        // Leases change all the time.
        let Encoding::Protobuf(message) = encoding else { continue };
        if known.plural == "leases" || !resource.can_be_followed() {
            continue;
        }
        let root = if known.group.is_empty() { "api" } else { "apis" };
        let path = format!("/{root}/{}/{}", known.api_version, known.plural);
        let (_, _, protobuf) = send(&client, &Method::GET, &path, PROTOBUF).await;
        let (_, _, json) = send(&client, &Method::GET, &path, JSON).await;
        let (protobuf, json) = (items(encoding, &protobuf), items(Encoding::Json, &json));
        assert_eq!(protobuf.len(), json.len(), "{path}");
        kinds += usize::from(!json.is_empty());
        for (expected, json) in protobuf.iter().zip(&json) {
            let value: Value = serde_json::from_slice(json).unwrap();
            let encoded = encode_object_proto(&value, message).unwrap();
            assert!(
                encoded == *expected,
                "{path} {}:\n{}\n{}",
                value["metadata"]["name"],
                encoded.escape_ascii(),
                expected.escape_ascii()
            );
            objects += 1;
        }
    }
    assert!(objects > 100 && kinds > 15, "{objects} objects of {kinds} kinds are too few to be sure");
}
