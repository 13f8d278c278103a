//! What the tests have in common: objects, raw requests, watches to look into, and a guard against hanging.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::api::{Api, PostParams, WatchEvent, WatchParams};
use kube_client::client::Body;
use kube_client::core::Status;
use kube_client::{Client, Resource, ResourceExt};
use kube_testserver::TestServer;
use kube_wire::{
    DecodeOptions, Event, Limits, ProtoEnvelope, ProtoFrames, ProtoMessage, WireError, decode_event_proto,
    decode_object_proto, encode_object_proto,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long a test waits for something that never comes. It is no deadline: nothing here takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same for tests in paused time, where waiting costs nothing.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// Fails a test that would hang.
pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("waited in vain")
}

/// Fails a test in paused time that would hang.
pub(crate) async fn within_a_day<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(A_DAY, what).await.expect("waited a day in vain")
}

/// A server with default settings.
pub(crate) async fn start() -> TestServer {
    TestServer::start().await.expect("the server starts")
}

/// A server with default settings and a client over HTTP.
pub(crate) async fn start_with_client() -> (TestServer, Client) {
    let server = start().await;
    let client = server.client().expect("a client");
    (server, client)
}

pub(crate) fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).expect("a valid object")
}

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    object(json!({"metadata": {"name": name}, "data": {"value": value}}))
}

pub(crate) fn labelled(name: &str, label: &str, value: &str) -> ConfigMap {
    object(json!({"metadata": {"name": name, "labels": {"app": label}}, "data": {"value": value}}))
}

pub(crate) fn pod(name: &str) -> Pod {
    object(
        json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "example/main"}]}}),
    )
}

pub(crate) fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

pub(crate) fn pods(client: &Client) -> Api<Pod> {
    Api::namespaced(client.clone(), "default")
}

/// Creates config maps with these names.
pub(crate) async fn create_all(api: &Api<ConfigMap>, names: &[&str]) {
    for name in names {
        api.create(&PostParams::default(), &config_map(name, "1")).await.expect(name);
    }
}

pub(crate) fn version<K: Resource>(object: &K) -> u64 {
    object.meta().resource_version.as_ref().expect("a version").parse().expect("a number")
}

pub(crate) fn names<K: Resource<DynamicType = ()>>(list: &[K]) -> Vec<String> {
    list.iter().map(ResourceExt::name_any).collect()
}

/// The `Status` of an error that the server answered with.
#[track_caller]
pub(crate) fn status_of(error: kube_client::Error) -> Status {
    match error {
        kube_client::Error::Api(status) => *status,
        other => panic!("not an answer of the server: {other:?}"),
    }
}

/// The `Status` of a request that must fail.
#[track_caller]
pub(crate) fn refused<T: Debug>(result: Result<T, kube_client::Error>) -> Status {
    status_of(result.expect_err("the server should have refused"))
}

/// The code and reason of a request that must fail.
#[track_caller]
pub(crate) fn refusal<T: Debug>(result: Result<T, kube_client::Error>) -> (u16, String) {
    let status = refused(result);
    (status.code, status.reason)
}

/// An answer, all of it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The object of an answer in protobuf.
    #[track_caller]
    pub(crate) fn protobuf(&self) -> Value {
        assert_eq!(self.header("content-type"), PROTOBUF, "{}", self.text());
        from_protobuf(&self.body)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// The media type of Kubernetes' protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// An object in its envelope, as JSON with its type.
#[track_caller]
pub(crate) fn from_protobuf(bytes: &[u8]) -> Value {
    let envelope = ProtoEnvelope::read(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"));
    let version = if envelope.api_version.is_empty() { "v1" } else { envelope.api_version };
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = ProtoMessage::of(group, version, envelope.kind).expect("a known kind");
    let options = DecodeOptions::default().keep_managed_fields(true);
    let mut value: Value = decode_object_proto(envelope.object, kind, options).expect("a valid object");
    value["apiVersion"] = json!(envelope.api_version);
    value["kind"] = json!(envelope.kind);
    value
}

/// An object that says what it is, in its envelope.
pub(crate) fn to_protobuf(object: &Value) -> Vec<u8> {
    let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let message = ProtoMessage::of(group, version, kind).expect("a known kind");
    let object = encode_object_proto(object, message).expect("a valid object");
    ProtoEnvelope { api_version, kind, object: &object }.to_bytes()
}

/// A request with headers and no body.
pub(crate) fn get_with(path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(Vec::new())).expect("a request")
}

/// Sends a request and returns the head of its answer.
pub(crate) async fn send(client: &Client, request: Request<Body>) -> Response<Body> {
    within(client.send(request)).await.expect("an answer")
}

/// Sends a request and returns its answer, whatever the code.
pub(crate) async fn answer(client: &Client, request: Request<Body>) -> Answer {
    let (head, body) = send(client, request).await.into_parts();
    let body = within(body.collect()).await.expect("a whole body").to_bytes().to_vec();
    Answer { code: head.status, headers: head.headers, body }
}

pub(crate) async fn get(client: &Client, path: &str) -> Answer {
    answer(client, get_with(path, &[])).await
}

/// The JSON at a path, which must be there.
pub(crate) async fn get_json(client: &Client, path: &str) -> Value {
    let found = get(client, path).await;
    assert_eq!(found.code, 200, "{path}: {}", found.text());
    found.json()
}

/// Sends JSON.
pub(crate) async fn send_json(client: &Client, method: Method, path: &str, body: &Value) -> Answer {
    send_as(client, method, path, "application/json", body).await
}

/// Sends JSON under another name: a patch.
pub(crate) async fn send_as(client: &Client, method: Method, path: &str, kind: &str, body: &Value) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(Body::from(serde_json::to_vec(body).expect("JSON")))
        .expect("a request");
    answer(client, request).await
}

/// A watch to look into, event by event.
pub(crate) struct Follower<K> {
    stream: BoxStream<'static, Result<WatchEvent<K>, kube_client::Error>>,
    patience: Duration,
}

impl<K> Follower<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    pub(crate) async fn open(api: &Api<K>, params: &WatchParams, version: &str) -> Self {
        let stream = api.watch(params, version).await.expect("a watch").boxed();
        Self { stream, patience: PATIENCE }
    }

    /// For tests in paused time, where waiting costs nothing.
    pub(crate) fn patient(self) -> Self {
        Self { patience: A_DAY, ..self }
    }

    /// What the stream says next; none at its end.
    pub(crate) async fn step(&mut self) -> Option<Result<WatchEvent<K>, kube_client::Error>> {
        tokio::time::timeout(self.patience, self.stream.next()).await.expect("an event or the end, in time")
    }

    /// The next event, which must be there.
    pub(crate) async fn event(&mut self) -> WatchEvent<K> {
        self.step().await.expect("an event, not the end").expect("an event, not an error")
    }

    /// The next event as text, such as `ADDED a`, and its object.
    pub(crate) async fn change(&mut self) -> (String, K) {
        let (kind, object) = match self.event().await {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            other => panic!("neither ADDED nor MODIFIED nor DELETED: {other:?}"),
        };
        (format!("{kind} {}", object.name_any()), object)
    }

    /// The next change must be this one.
    pub(crate) async fn expect(&mut self, wanted: &str) -> K {
        let (found, object) = self.change().await;
        assert_eq!(found, wanted);
        object
    }

    /// The next event must be a bookmark; returns its version and whether it ends the initial events.
    pub(crate) async fn bookmark(&mut self) -> (u64, bool) {
        match self.event().await {
            WatchEvent::Bookmark(mark) => {
                let ends = mark.metadata.annotations.get("k8s.io/initial-events-end").map(String::as_str);
                assert!(matches!(ends, None | Some("true")), "{ends:?}");
                (mark.metadata.resource_version.parse().expect("a number"), ends.is_some())
            }
            other => panic!("not a bookmark: {other:?}"),
        }
    }

    /// The next event must be an error.
    pub(crate) async fn error(&mut self) -> Status {
        match self.event().await {
            WatchEvent::Error(status) => *status,
            other => panic!("not an ERROR: {other:?}"),
        }
    }

    /// The stream must be over, in good order.
    pub(crate) async fn ended(&mut self) {
        if let Some(more) = self.step().await {
            panic!("the stream should be over: {more:?}");
        }
    }
}

/// A CustomResourceDefinition with one version, `v1`, and this schema for its objects.
pub(crate) fn definition(plural: &str, kind: &str, schema: &Value, extra: &Value) -> Value {
    let mut version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema},
    });
    for (key, value) in extra.as_object().into_iter().flatten() {
        version[key] = value.clone();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [version],
        },
    })
}

/// The body of an answer, read line by line.
pub(crate) struct Lines {
    body: Body,
    buffer: Vec<u8>,
}

impl Lines {
    /// Sends a request that must succeed.
    pub(crate) async fn open(client: &Client, path: &str) -> Self {
        Self::of(client.send(get_with(path, &[])).await.expect("an answer"))
    }

    /// The body of an answer that must be a success.
    pub(crate) fn of(response: Response<Body>) -> Self {
        assert_eq!(response.status(), 200);
        Self { body: response.into_body(), buffer: Vec::new() }
    }

    /// The next line without its end; what is left of the body if it ends first; an error if it breaks.
    pub(crate) async fn line(&mut self) -> Result<Vec<u8>, kube_client::Error> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                return Ok(line);
            }
            match self.body.frame().await {
                Some(frame) => self.buffer.extend_from_slice(frame?.data_ref().expect("data")),
                None => return Ok(std::mem::take(&mut self.buffer)),
            }
        }
    }

    /// The next line as JSON.
    pub(crate) async fn json(&mut self) -> Value {
        let line = within_a_day(self.line()).await.expect("a line");
        serde_json::from_slice(&line)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)))
    }

    /// Everything until the end of the body, and whether it broke.
    pub(crate) async fn rest(mut self) -> (Vec<u8>, bool) {
        loop {
            match self.body.frame().await {
                Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().expect("data")),
                Some(Err(_)) => return (self.buffer, true),
                None => return (self.buffer, false),
            }
        }
    }
}

/// A watch in protobuf, frame by frame.
pub(crate) struct Frames {
    body: Body,
    frames: ProtoFrames,
    kind: ProtoMessage,
}

impl Frames {
    /// Opens a watch that is answered in protobuf, whose objects are config maps or, if so asked, metadata.
    pub(crate) async fn open(client: &Client, path: &str, accept: &str) -> Self {
        let response = client.send(get_with(path, &[("accept", accept)])).await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/vnd.kubernetes.protobuf;stream=watch");
        let kind = match accept.contains("as=PartialObjectMetadata") {
            true => ProtoMessage::of("meta.k8s.io", "v1", "PartialObjectMetadata"),
            false => ProtoMessage::of("", "v1", "ConfigMap"),
        };
        let frames = ProtoFrames::new(Limits::default());
        Self { body: response.into_body(), frames, kind: kind.expect("a known kind") }
    }

    /// The next frame; none at the end of the stream, whatever is left then.
    pub(crate) async fn frame(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        loop {
            if let Some(frame) = self.frames.next_frame()? {
                return Ok(frame.whole().map(|frame| frame.to_vec()));
            }
            match within_a_day(self.body.frame()).await {
                Some(frame) => {
                    self.frames.push(frame.expect("data, not an end").data_ref().expect("data"));
                }
                None => return Ok(None),
            }
        }
    }

    /// The next event, which must be there.
    pub(crate) async fn event(&mut self) -> Event<Value> {
        let frame = self.frame().await.expect("a frame").expect("an event, not the end");
        let options = DecodeOptions::default().keep_managed_fields(true);
        decode_event_proto(&frame, self.kind, options).expect("an event")
    }

    /// The next event, which must be about an object: its type and the object.
    pub(crate) async fn change(&mut self) -> (&'static str, Value) {
        match self.event().await {
            Event::Added(object) => ("ADDED", object),
            Event::Modified(object) => ("MODIFIED", object),
            Event::Deleted(object) => ("DELETED", object),
            other => panic!("neither ADDED nor MODIFIED nor DELETED: {other:?}"),
        }
    }

    /// How many bytes have come of a frame that is not whole.
    pub(crate) fn pending(&self) -> usize {
        self.frames.pending()
    }
}
