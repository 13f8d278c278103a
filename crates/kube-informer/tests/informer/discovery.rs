//! What resources a server has, in both forms in which servers say it, and what people call them.

use std::convert::Infallible;

use futures::StreamExt;
use http::{HeaderValue, Request, Response, header};
use kube_client::Client;
use kube_client::client::Body;
use kube_core::DynamicObject;
use kube_informer::SharedInformer;
use kube_informer::discovery::{ResolveError, Resources};
use kube_informer::reflector::Failure;
use kube_informer::source::KubeSource;
use kube_informer::{kube_client, kube_core};
use kube_testserver::{Rule, TestServer};
use serde_json::{Value, json};

use crate::server;

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd]}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
";

/// A client of a server that only has the form before aggregated discovery.
fn old_client(server: &TestServer) -> Client {
    let client = server.in_process_client();
    let service = tower::service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}

/// A client of something that gives these answers, and 404 for everything else.
fn scripted(answers: Vec<(&'static str, u16, String)>) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = answers.iter().find(|(path, ..)| *path == request.uri().path());
        let (code, body) =
            answer.map_or((404, "404 page not found\n".to_owned()), |(_, code, body)| (*code, body.clone()));
        let response = Response::builder().status(code).body(Body::from(body.into_bytes())).unwrap();
        std::future::ready(Ok::<_, Infallible>(response))
    });
    Client::new(service, "default")
}

fn aggregated(items: &Value) -> String {
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})
        .to_string()
}

/// A resource in the aggregated form that can be followed.
fn followable(plural: &str, kind: &str) -> Value {
    json!({
        "resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced",
        "singularResource": kind.to_lowercase(), "verbs": ["list", "watch"],
    })
}

#[track_caller]
fn means(resources: &Resources, name: &str, api_version: &str, plural: &str) {
    let found = resources.resolve(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!((&*found.resource.api_version, &*found.resource.plural), (api_version, plural), "{name}");
}

#[tokio::test(start_paused = true)]
async fn both_forms_say_the_same_and_the_new_one_in_two_requests() {
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    server.clear_requests();
    let new = Resources::fetch(&server.in_process_client()).await.unwrap();
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/api", "/apis"]);
    let old = Resources::fetch(&old_client(&server)).await.unwrap();
    assert!(server.requests().len() > 20, "the old form needs one for each version of each group");
    assert_eq!(new, old);
    assert!(new.iter().count() > 80 && new.unanswered().is_empty());
}

#[tokio::test(start_paused = true)]
async fn every_name_that_kubectl_knows_is_understood() {
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    let resources = Resources::fetch(&server.in_process_client()).await.unwrap();
    for name in [
        "deploy",
        "deployments",
        "deployment",
        "Deployment",
        "DEPLOYMENTS",
        " deployments ",
        "deployments.apps",
        "deploy.apps",
        "Deployment.apps",
        "deployments.app",
        "deployments.v1.apps",
        "Deployment.v1.apps",
        "deployments.v1.",
    ] {
        means(&resources, name, "apps/v1", "deployments");
    }
    for name in ["po", "pod", "pods", "Pod", "pods.v1.", "pods."] {
        means(&resources, name, "v1", "pods");
    }
    for name in ["widgets", "wd", "WD", "Widget", "widgets.example.com", "widgets.v1.example.com"] {
        means(&resources, name, "example.com/v1", "widgets");
    }
    means(&resources, "widgets.v1beta1.example.com", "example.com/v1beta1", "widgets");
    means(&resources, "ingresses.networking", "networking.k8s.io/v1", "ingresses");
    means(&resources, "hpa", "autoscaling/v2", "horizontalpodautoscalers");
    means(&resources, "hpa.v1.autoscaling", "autoscaling/v1", "horizontalpodautoscalers");

    let deployments = resources.resolve("deploy").unwrap();
    assert!(deployments.namespaced && deployments.preferred && deployments.can("delete"));
    assert_eq!(
        (&*deployments.singular, &deployments.short_names[..]),
        ("deployment", &["deploy".to_owned()][..])
    );
    assert_eq!(deployments.resource.kind, "Deployment");
    assert!(!resources.resolve("wd").unwrap().namespaced);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_several_have_is_the_first_ones() {
    let server = server().await;
    let resources = Resources::fetch(&server.in_process_client()).await.unwrap();
    means(&resources, "events", "v1", "events");
    means(&resources, "events.events.k8s.io", "events.k8s.io/v1", "events");

    let group = |name: &str, versions: Value| json!({"metadata": {"name": name}, "versions": versions});
    let version = |name: &str, resources: Value| json!({"version": name, "resources": resources});
    let listed_only = json!({
        "resource": "pods", "responseKind": {"kind": "PodMetrics"}, "scope": "Namespaced",
        "singularResource": "pod", "verbs": ["get", "list"],
    });
    let mut short = followable("crates", "Crate");
    short["shortNames"] = json!(["tunes"]);
    let client = scripted(vec![
        ("/api", 200, aggregated(&json!([]))),
        (
            "/apis",
            200,
            aggregated(&json!([
                group("metrics.k8s.io", json!([version("v1", json!([listed_only]))])),
                group(
                    "a.io",
                    json!([
                        version("v2", json!([short])),
                        version("v1", json!([followable("songs", "Song")])),
                    ])
                ),
                group(
                    "b.io",
                    json!([version(
                        "v1",
                        json!([
                            followable("songs", "Song"),
                            followable("pods", "Pod"),
                            followable("tunes", "Tune"),
                        ])
                    )])
                ),
            ])),
        ),
    ]);
    let resources = Resources::fetch(&client).await.unwrap();
    means(&resources, "songs", "b.io/v1", "songs"); // a preferred version comes before an earlier group
    means(&resources, "songs.a.io", "a.io/v1", "songs");
    means(&resources, "pods", "b.io/v1", "pods"); // what cannot be watched is not meant
    means(&resources, "tunes", "b.io/v1", "tunes"); // a short name comes after a name
    means(&resources, "tunes.a.io", "a.io/v2", "crates");
}

#[tokio::test(start_paused = true)]
async fn what_was_resolved_can_be_followed() {
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    server.seed("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}").unwrap();
    let client = server.in_process_client();
    let resources = Resources::fetch(&client).await.unwrap();
    let widgets = &resources.resolve("wd").unwrap().resource;
    let informer = SharedInformer::new(KubeSource::<DynamicObject>::all(client, widgets));
    let mut events = informer.subscribe().unwrap();
    informer.start();
    assert_eq!(events.next().await.unwrap().object().key(), "w");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_name_is_answered_with_the_nearest() {
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    let resources = Resources::fetch(&server.in_process_client()).await.unwrap();
    let says = |name: &str| resources.resolve(name).unwrap_err().to_string();
    assert_eq!(
        says("deploymets"),
        "the server has no resource \"deploymets\"; did you mean deployments.apps?"
    );
    assert_eq!(says("wigdet"), "the server has no resource \"wigdet\"; did you mean widgets.example.com?");
    assert_eq!(
        says("pods.example.com"),
        "the server has no resource \"pods.example.com\"; did you mean pods?"
    );
    assert_eq!(
        says("storage"),
        "the server has no resource \"storage\"; did you mean storageclasses.storage.k8s.io, \
         storageversions.internal.apiserver.k8s.io or storageversionmigrations.storagemigration.k8s.io?"
    );
    let nothing = "; `kubectl api-resources` lists those it has";
    assert_eq!(says("xylophones"), format!("the server has no resource \"xylophones\"{nothing}"));
    assert_eq!(says(""), format!("the server has no resource \"\"{nothing}"));
    assert!(says(&"x".repeat(1 << 20)).ends_with(nothing));
    let ResolveError::Unknown { nearest, .. } = resources.resolve("re").unwrap_err() else {
        panic!("unknown")
    };
    assert!(nearest.is_empty(), "two letters may be anything: {nearest:?}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_watched_is_said_to_be_so() {
    let server = server().await;
    let resources = Resources::fetch(&server.in_process_client()).await.unwrap();
    let error = resources.resolve("TokenReview").unwrap_err();
    assert_eq!(
        error.to_string(),
        "tokenreviews.authentication.k8s.io cannot be followed: that needs the verbs list and watch, and it has create"
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_that_fails_is_named_and_takes_nothing_from_the_others() {
    let old = scripted(vec![
        ("/api", 200, json!({"kind": "APIVersions", "versions": ["v1"]}).to_string()),
        (
            "/api/v1",
            200,
            json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
                {"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod", "verbs": ["list", "watch"]},
                {"name": "pods/log", "singularName": "", "namespaced": true, "kind": "Pod", "verbs": ["get"]},
                {"name": "bindings", "singularName": "", "namespaced": true, "kind": "Binding", "verbs": null},
            ]})
            .to_string(),
        ),
        (
            "/apis",
            200,
            json!({"kind": "APIGroupList", "groups": [
                {"name": "metrics.k8s.io", "versions": [{"version": "v1beta1"}], "preferredVersion": {"version": "v1beta1"}},
                {"name": "a.io", "versions": [{"version": "v2alpha1"}, {"version": "v1"}], "preferredVersion": {"version": "v1"}},
                {"name": "empty.io", "versions": null},
            ]})
            .to_string(),
        ),
        ("/apis/metrics.k8s.io/v1beta1", 503, "the server is away".to_owned()),
        ("/apis/a.io/v2alpha1", 200, "<html>".to_owned()),
        (
            "/apis/a.io/v1",
            200,
            json!({"kind": "APIResourceList", "resources": [
                {"name": "songs", "singularName": "song", "kind": "Song", "verbs": ["list", "watch"]},
            ]})
            .to_string(),
        ),
    ]);
    let resources = Resources::fetch(&old).await.unwrap();
    means(&resources, "pod", "v1", "pods");
    means(&resources, "song", "a.io/v1", "songs");
    assert!(resources.resolve("song").unwrap().preferred);
    let failed: Vec<(String, &str)> =
        resources.unanswered().iter().map(|one| (one.group_version(), &*one.why)).collect();
    assert_eq!(failed[0].0, "metrics.k8s.io/v1beta1");
    assert_eq!(failed[0].1, "the server answered with 503: the server is away");
    assert_eq!(failed[1].0, "a.io/v2alpha1");
    assert!(failed[1].1.starts_with("the server's answer makes no sense"), "{failed:?}");
    assert_eq!(failed.len(), 2);
    let error = resources.resolve("nodemetrics").unwrap_err().to_string();
    assert!(
        error.ends_with("(metrics.k8s.io/v1beta1, a.io/v2alpha1 did not answer, and may have it)"),
        "{error}"
    );

    let stale = scripted(vec![
        (
            "/api",
            200,
            aggregated(&json!([{"versions": [{"version": "v1", "resources": [followable("pods", "Pod")]}]}])),
        ),
        (
            "/apis",
            200,
            aggregated(&json!([
                {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]},
            ])),
        ),
    ]);
    let resources = Resources::fetch(&stale).await.unwrap();
    means(&resources, "pods", "v1", "pods");
    assert_eq!(resources.unanswered()[0].group_version(), "metrics.k8s.io/v1beta1");
    assert_eq!(resources.unanswered()[0].why, "the API behind it does not answer");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_resources_has_none() {
    let nothing = aggregated(&Value::Null);
    let client = scripted(vec![("/api", 200, nothing.clone()), ("/apis", 200, nothing.clone())]);
    let resources = Resources::fetch(&client).await.unwrap();
    assert_eq!((resources.iter().count(), resources.unanswered().len()), (0, 0));
    assert!(matches!(resources.resolve("pods"), Err(ResolveError::Unknown { .. })));

    let only_groups = aggregated(&json!([
        {"metadata": {"name": "a.io"}, "versions": [{"version": "v1", "resources": [followable("songs", "Song")]}]},
    ]));
    let resources = Resources::fetch(&scripted(vec![("/apis", 200, only_groups)])).await.unwrap();
    means(&resources, "songs", "a.io/v1", "songs");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_makes_no_sense_or_refuses_is_an_error_with_advice() {
    let advice = "; check that the address is that of a Kubernetes API server";
    for nonsense in ["<html>hello</html>", "[]", "{}", r#"{"kind":"PodList","items":[]}"#, ""] {
        let client = scripted(vec![("/api", 200, nonsense.to_owned()), ("/apis", 200, nonsense.to_owned())]);
        let error = Resources::fetch(&client).await.unwrap_err();
        assert!(error.cause.garbled, "{nonsense}: {error}");
        let start = "cannot learn what resources the server has: /api: the server's answer makes no sense: ";
        assert!(error.to_string().starts_with(start) && error.to_string().ends_with(advice), "{error}");
    }
    let error = Resources::fetch(&scripted(Vec::new())).await.unwrap_err();
    assert_eq!((error.cause.code, error.path.as_str()), (404, "/api"));
    assert!(error.to_string().ends_with(advice), "{error}");

    let plain = "Client sent an HTTP request to an HTTPS server.".to_owned();
    let client = scripted(vec![("/api", 400, plain.clone()), ("/apis", 400, plain)]);
    let error = Resources::fetch(&client).await.unwrap_err();
    assert!(error.cause.code == 400 && error.to_string().ends_with(advice), "{error}");
    let client = scripted(vec![("/api", 429, String::new()), ("/apis", 429, String::new())]);
    assert!(Resources::fetch(&client).await.unwrap_err().to_string().ends_with("; try again"));

    let endless = format!("\"{}\"", "x".repeat(33 << 20));
    let client = scripted(vec![("/api", 200, endless.clone()), ("/apis", 200, endless)]);
    let error = Resources::fetch(&client).await.unwrap_err().to_string();
    assert!(error.contains("it is larger than 32 MiB"), "{error}");

    let server = server().await;
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().paths(["/apis"]), Rule::allow()]);
    let error = Resources::fetch(&server.in_process_client_with_token("t")).await.unwrap_err();
    assert_eq!((error.cause.code, error.path.as_str()), (403, "/apis"));
    assert_eq!(
        error.to_string(),
        "cannot learn what resources the server has: /apis: forbidden: User \"alice\" cannot get path \"/apis\"; \
         the user needs the cluster role system:discovery"
    );
    let error = Resources::fetch(&server.in_process_client_with_token("nobody")).await.unwrap_err();
    assert!(error.cause.code == 401 && error.to_string().ends_with("; check the credentials"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_its_type_is_not_quoted() {
    let odd = json!({"kind": "APIGroupDiscoveryList", "items": [{"versions": "hunter2"}]}).to_string();
    let client = scripted(vec![("/api", 200, odd.clone()), ("/apis", 200, odd)]);
    let error = Resources::fetch(&client).await.unwrap_err().to_string();
    assert!(
        error.contains("it does not fit its type (line 1 column ") && !error.contains("hunter2"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let service =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let error = Resources::fetch(&Client::new(service, "default")).await.unwrap_err();
    assert_eq!((error.cause.code, error.cause.failure.clone()), (0, Failure::Other));
    assert_eq!(
        error.to_string(),
        "cannot learn what resources the server has: /api: no answer in 32 seconds; try again"
    );
}
