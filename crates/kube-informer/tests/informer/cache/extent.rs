//! Whether a kind has namespaces, where its type does not say, and the server does not know yet.

use std::time::Duration;

use http::Request;
use kube_client::Client;
use kube_client::client::Body;
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_informer::cache::{Cache, CacheError, CacheOptions, Kind, KindOptions, Missing, Query};
use kube_informer::fanout::Event;
use kube_informer::{kube_client, kube_core};
use kube_testserver::TestServer;
use serde_json::json;

use super::{cache, keys, server, set};

fn widgets() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

fn nodes() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"))
}

fn define(server: &TestServer, scope: &str) {
    let definition = format!(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: widgets.example.com}}, \
         spec: {{group: example.com, scope: {scope}, names: {{plural: widgets, singular: widget, kind: Widget}}, versions: \
         [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}}}"
    );
    server.seed(&definition).unwrap();
}

fn undefine(server: &TestServer) {
    server.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", "", "widgets.example.com").unwrap();
}

/// A widget; without a namespace if that is empty.
fn widget(server: &TestServer, namespace: &str, name: &str) {
    let namespace = if namespace.is_empty() { String::new() } else { format!(", namespace: {namespace}") };
    let object =
        format!("{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: {name}{namespace}}}}}");
    server.seed(&object).unwrap();
}

async fn until_readable(kind: &Kind<DynamicObject>) {
    let readable = async {
        while kind.list(&Query::new()).await.is_err() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), readable).await.expect("it never comes");
}

#[tokio::test(start_paused = true)]
async fn a_kind_without_namespaces_that_is_defined_late_is_taken_for_what_it_is() {
    for options in [CacheOptions::new(), CacheOptions::new().namespaces(["shop", "bank"])] {
        let server = server().await;
        let cache = cache(&server, options);
        let kind = cache.kind_of::<DynamicObject>(&widgets());
        let missing = kind.get("", "a").await.unwrap_err();
        assert!(matches!(&missing, CacheError::CannotSync { cause, .. } if cause.code == 404), "{missing}");
        let (told, mut hear) = tokio::sync::mpsc::unbounded_channel();
        let informer = kind.informer_now().await.unwrap();
        let tell = move |event: Event<DynamicObject>| told.send(event.object().key().to_owned()).unwrap();
        informer.add_event_handler(tell).unwrap();

        define(&server, "Cluster");
        widget(&server, "", "a");
        assert_eq!(hear.recv().await.as_deref(), Some("a"), "without anybody who reads");
        assert_eq!(kind.get("ignored", "a").await.unwrap().key(), "a");
        let everywhere = kind.list(&Query::new().namespace("ignored")).await.unwrap();
        assert_eq!(keys(everywhere), set(["a"]), "the namespace means nothing");
        cache.change(|options| options.namespaces(["post"])).unwrap();
        assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 1);
        cache.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_with_namespaces_that_is_defined_late_is_kept_by_namespace() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new().namespaces(["shop"]));
    let kind = cache.kind_of::<DynamicObject>(&widgets());
    assert!(kind.list(&Query::new()).await.is_err());
    define(&server, "Namespaced");
    widget(&server, "shop", "a");
    widget(&server, "bank", "b");
    until_readable(&kind).await;
    assert_eq!(keys(kind.list(&Query::new()).await.unwrap()), set(["shop/a"]));
    assert!(matches!(kind.get("bank", "b").await, Err(CacheError::NamespaceNotCached { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_definition_may_come_back_with_or_without_namespaces() {
    let server = server().await;
    define(&server, "Namespaced");
    widget(&server, "shop", "a");
    let cache = cache(&server, CacheOptions::new().namespaces(["shop"]));
    let kind = cache.kind_of::<DynamicObject>(&widgets());
    assert_eq!(keys(kind.list(&Query::new()).await.unwrap()), set(["shop/a"]));
    for (scope, namespace, wanted) in [("Cluster", "", "b"), ("Namespaced", "shop", "shop/b")] {
        undefine(&server);
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert!(kind.list(&Query::new()).await.is_err());
        define(&server, scope);
        widget(&server, namespace, "b");
        until_readable(&kind).await;
        let found = kind.list(&Query::new().namespace("shop")).await.unwrap();
        assert_eq!(keys(found), set([wanted]), "{scope}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_kind_was_before_is_not_what_it_is_when_it_is_followed_anew() {
    let server = server().await;
    define(&server, "Namespaced");
    let cache = cache(&server, CacheOptions::new());
    let kind = cache.kind_of::<DynamicObject>(&widgets());
    assert!(kind.list(&Query::new()).await.unwrap().is_empty());
    assert!(kind.remove().await);
    undefine(&server);
    define(&server, "Cluster");
    widget(&server, "", "a");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(kind.get("ignored", "a").await.unwrap().key(), "a");
    assert_eq!(kind.list(&Query::new().namespace("ignored")).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_removed_before_it_is_known_leaves_no_task_behind() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let kind = cache.kind_of::<DynamicObject>(&widgets());
    assert!(kind.list(&Query::new()).await.is_err());
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let with = alive();
    assert!(kind.remove().await);
    tokio::task::yield_now().await;
    let without = alive();
    assert!(kind.list(&Query::new()).await.is_err());
    assert_eq!(alive(), with);
    assert!(kind.remove().await);
    tokio::task::yield_now().await;
    assert_eq!((alive(), with > without), (without, true));
}

#[tokio::test(start_paused = true)]
async fn many_kinds_without_a_type_ask_once_what_they_are() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let kinds = ["ConfigMap", "Secret", "Pod", "Service", "Node", "Namespace"];
    let kinds = kinds.map(|kind| ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind)));
    let everything = Query::new();
    let kinds = kinds.map(|kind| cache.kind_of::<DynamicObject>(&kind));
    for read in futures::future::join_all(kinds.iter().map(|kind| kind.list(&everything))).await {
        read.unwrap();
    }
    let asked = server.requests().iter().filter(|one| one.resource.is_empty()).count();
    assert_eq!(asked, 2, "/api and /apis");
}

#[tokio::test(start_paused = true)]
async fn namespaces_of_a_kind_that_turns_out_to_have_none_are_refused() {
    let server = server().await;
    let own = KindOptions::new().namespaces(["shop"]);
    let cache = cache(&server, CacheOptions::new().kind_of::<DynamicObject>(&widgets(), own));
    let kind = cache.kind_of::<DynamicObject>(&widgets());
    assert!(matches!(kind.list(&Query::new()).await, Err(CacheError::CannotSync { .. })));
    define(&server, "Cluster");
    tokio::time::sleep(Duration::from_secs(600)).await;
    let refused = CacheError::ClusterScoped { resource: "widgets.example.com".to_owned() };
    assert_eq!(kind.list(&Query::new()).await.unwrap_err(), refused);
    assert_eq!(kind.informer().await.unwrap_err(), refused);
    cache.change(|options| options.kind_of::<DynamicObject>(&widgets(), KindOptions::new())).unwrap();
    assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 0, "and not for ever");
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_name_ends_like_that_of_a_list_may_come_late() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let list = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "AllowList"));
    let error = cache.kind_of::<DynamicObject>(&list).list(&Query::new()).await.unwrap_err();
    assert!(matches!(&error, CacheError::CannotSync { cause, .. } if cause.code == 404), "{error}");
}

#[tokio::test(start_paused = true)]
async fn who_asks_the_server_may_name_a_namespace_of_what_has_none() {
    let server = server().await;
    server.seed("{apiVersion: v1, kind: Node, metadata: {name: n1}}").unwrap();
    let cache = cache(&server, CacheOptions::new().missing(Missing::Live));
    let kind = cache.kind_of::<DynamicObject>(&nodes());
    assert_eq!(kind.get("ignored", "n1").await.unwrap().name(), "n1");
    assert_eq!(kind.list(&Query::new().namespace("ignored")).await.unwrap().len(), 1);
    let writer = cache.client().kind_of::<DynamicObject>(&nodes());
    let patch = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    writer.patch("ignored", "n1", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(writer.get("ignored", "n1").await.unwrap().labels().get("a"), Some("b"));
    writer.delete("ignored", "n1", &DeleteParams::default()).await.unwrap();
    assert!(writer.get("ignored", "n1").await.unwrap_err().is_not_found());
}

/// A client of a server that does not say what it has.
fn client_without_discovery(server: &TestServer) -> Client {
    let client = server.in_process_client();
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            if matches!(request.uri().path(), "/api" | "/apis") {
                std::future::pending::<()>().await;
            }
            client.send(request).await
        }
    });
    Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever_for_a_server_that_does_not_say_what_it_has() {
    let server = server().await;
    let options = CacheOptions::new().sync_timeout(Duration::from_secs(5));
    let cache = Cache::with(client_without_discovery(&server), options).unwrap();
    cache.start().unwrap();
    let kind = cache.kind_of::<DynamicObject>(&widgets());
    let began = tokio::time::Instant::now();
    let everything = Query::new();
    let (read, listed, informer, index, found) = tokio::join!(
        kind.get("shop", "a"),
        kind.list(&everything),
        kind.informer_now(),
        kind.add_index("name", |object: &DynamicObject| object.metadata.name.clone()),
        cache.find("widgets"),
    );
    assert_eq!(began.elapsed(), Duration::from_secs(5), "also for those who wait for others");
    for error in [read.unwrap_err(), listed.unwrap_err(), informer.unwrap_err(), index.unwrap_err()] {
        assert_eq!(
            error.to_string(),
            "widgets.example.com did not arrive in 5 s: the server does not say what resources it has"
        );
    }
    assert!(matches!(found.unwrap_err(), CacheError::TimedOut { resource, .. } if resource == "widgets"));
}
