//! Factories: one informer for each type, started and stopped together.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::Client;
use kube_client::client::Body;
use kube_core::{ApiResource, DynamicObject, PartialObjectMeta, Selector};
use kube_informer::factory::{FactoryError, SharedInformerFactory};
use kube_informer::fanout::Event;
use kube_informer::informer::InformerError;
use kube_informer::lister::Lister;
use kube_informer::source::KubeSource;
use kube_informer::{Object, SharedInformer};
use kube_testserver::{Fault, Rule, TestServer, Verb};

use crate::support::Strict;
use crate::{PATIENCE, server, write};

fn watches_of(server: &TestServer, resource: &str) -> usize {
    let is_watch = |verb: Option<Verb>| verb == Some(Verb::Watch);
    server.requests().iter().filter(|request| is_watch(request.verb) && request.resource == resource).count()
}

#[tokio::test(start_paused = true)]
async fn everybody_who_asks_for_a_type_shares_one_informer_and_one_watch() {
    let server = server().await;
    write(&server, "a", 1);
    let factory = SharedInformerFactory::new(server.in_process_client());
    let (one, two) = (factory.of::<ConfigMap>().unwrap(), factory.clone().of::<ConfigMap>().unwrap());
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let (first, second) =
        (one.store().get("default", "a").unwrap(), two.store().get("default", "a").unwrap());
    assert!(first.is_same(&second));
    assert_eq!(watches_of(&server, "configmaps"), 1);
    let configs = factory.lister::<ConfigMap>().unwrap();
    assert_eq!(configs.namespaced("default").list(&Selector::default()).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn start_may_be_called_again_for_types_that_were_asked_for_later() {
    let server = server().await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    factory.wait_for_cache_sync().await.expect("nothing to wait for");
    factory.of::<ConfigMap>().unwrap();
    factory.start();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let later = factory.of::<Deployment>().unwrap();
    assert!(!later.has_synced());
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    assert_eq!((watches_of(&server, "configmaps"), watches_of(&server, "deployments")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_sync_is_named_with_the_cause_and_does_not_hold_up_the_rest() {
    let server = server().await;
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny().resources(["secrets"]), Rule::allow()]);
    let factory = SharedInformerFactory::new(server.in_process_client_with_token("t"));
    let (secrets, configs) = (factory.of::<Secret>().unwrap(), factory.of::<ConfigMap>().unwrap());
    factory.start();
    let error = factory.wait_for_cache_sync().await.unwrap_err();
    let FactoryError::NotSynced(failed) = &error else { panic!("{error}") };
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].resource.as_str(), failed[0].cause.as_ref().unwrap().code), ("secrets", 403));
    assert!(
        error.to_string().starts_with("cannot sync secrets: secrets is forbidden: User \"alice\""),
        "{error}"
    );
    assert!(configs.has_synced());
    server.access().set_rules([]);
    assert!(tokio::time::timeout(PATIENCE, secrets.synced()).await.unwrap(), "it goes on trying");
    factory.wait_for_cache_sync().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn passing_trouble_is_waited_out() {
    let server = server().await;
    server.inject(Fault::reply(503).times(5));
    let factory = SharedInformerFactory::new(server.in_process_client());
    factory.of::<ConfigMap>().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn namespace_tweak_and_resync_are_those_of_the_factory() {
    let server = server().await;
    for (namespace, label) in [("a", "web"), ("a", "db"), ("b", "web")] {
        let metadata = format!("{{name: {label}, namespace: {namespace}, labels: {{app: {label}}}}}");
        server.seed(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}")).unwrap();
    }
    let factory = SharedInformerFactory::builder(server.in_process_client())
        .namespace("a")
        .tweak(|tweak| tweak.label_selector = "app=web".to_owned())
        .default_resync(Duration::from_secs(10))
        .resync_of::<Secret>(Duration::ZERO)
        .build();
    let configs = factory.of::<ConfigMap>().unwrap();
    let mut events = configs.subscribe().unwrap();
    server
        .seed("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: a, labels: {app: web}}}")
        .unwrap();
    let secrets = factory.of::<Secret>().unwrap().subscribe().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let keys: Vec<String> = configs.store().list().iter().map(|object| object.key().to_owned()).collect();
    assert_eq!(keys, ["a/web"]);
    assert!(matches!(events.next().await.unwrap(), Event::Added { .. }));
    assert!(matches!(events.next().await.unwrap(), Event::Updated { resync: true, .. }));
    assert_eq!(secrets.status().pending, 1, "secrets are told once, and not again");
}

#[tokio::test(start_paused = true)]
async fn a_shut_down_factory_refuses_and_leaves_no_task_behind() {
    let server = server().await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let configs = factory.of::<ConfigMap>().unwrap();
    factory.of::<Namespace>().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    tokio::join!(factory.shutdown(), factory.shutdown());
    assert!(configs.is_stopped());
    assert_eq!(factory.of::<Secret>().unwrap_err(), FactoryError::ShutDown);
    assert_eq!(factory.of::<ConfigMap>().unwrap_err(), FactoryError::ShutDown);
    factory.start();
    drop((factory, configs));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_when_an_informer_is_stopped() {
    let server = server().await;
    server.inject(Fault::no_reply());
    let factory = SharedInformerFactory::new(server.in_process_client());
    let configs = factory.of::<ConfigMap>().unwrap();
    factory.start();
    let (outcome, ()) = tokio::join!(factory.wait_for_cache_sync(), async { configs.stop() });
    let error = outcome.unwrap_err();
    assert_eq!(error.to_string(), "cannot sync configmaps: stopped before it had synced");
}

#[tokio::test(start_paused = true)]
async fn several_namespaces_and_types_without_namespaces() {
    let server = server().await;
    for namespace in ["a", "b", "c"] {
        server
            .seed(&format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: x, namespace: {namespace}}}}}"
            ))
            .unwrap();
    }
    let factory =
        SharedInformerFactory::builder(server.in_process_client()).namespaces(["b", "a", "b"]).build();
    let (configs, namespaces) = (factory.of::<ConfigMap>().unwrap(), factory.of::<Namespace>().unwrap());
    factory.start();
    let report = factory.wait_for_cache_sync().await.unwrap();
    let found: Vec<(&str, usize)> = report.iter().map(|one| (one.resource.as_str(), one.objects)).collect();
    assert_eq!(found[0], ("configmaps", 2));
    assert!(configs.store().namespaced("c").is_empty());
    assert!(namespaces.store().get("", "c").is_some(), "a namespace has no namespace");
    let none = SharedInformerFactory::builder(server.in_process_client()).namespaces([""; 0]).build();
    assert_eq!(none.of::<ConfigMap>().unwrap_err(), FactoryError::Namespaces(InformerError::NoSource));
}

#[tokio::test(start_paused = true)]
async fn transforms_and_the_name_are_those_of_the_factory() {
    let server = server().await;
    server
        .seed(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {long: text}}, data: {a: b}}",
        )
        .unwrap();
    server.seed("{apiVersion: v1, kind: Secret, metadata: {name: x, annotations: {long: text}}}").unwrap();
    let factory = SharedInformerFactory::builder(server.in_process_client())
        .name("mine")
        .transform_metadata(|metadata| metadata.annotations = None)
        .transform_of(|config: ConfigMap| ConfigMap { data: None, ..config })
        .build();
    let (configs, secrets) = (factory.of::<ConfigMap>().unwrap(), factory.of::<Secret>().unwrap());
    let deployments = factory.of::<Deployment>().unwrap();
    assert_eq!((configs.name(), deployments.name()), ("mine/configmaps", "mine/deployments.apps"));
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let config = configs.store().get("default", "x").unwrap();
    assert_eq!((&config.metadata.annotations, &config.data), (&None, &None));
    assert_eq!(secrets.store().get("default", "x").unwrap().metadata.annotations, None);
}

#[tokio::test(start_paused = true)]
async fn one_type_can_be_stopped_by_itself_and_is_made_anew() {
    let server = server().await;
    write(&server, "a", 1);
    let factory = SharedInformerFactory::new(server.in_process_client());
    let (configs, secrets) = (factory.of::<ConfigMap>().unwrap(), factory.of::<Secret>().unwrap());
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    assert!(factory.shutdown_of::<ConfigMap>().await);
    assert!(!factory.shutdown_of::<ConfigMap>().await, "there is none any more");
    assert!(configs.is_stopped() && !secrets.is_stopped());
    factory.wait_for_cache_sync().await.expect("what was stopped is not waited for");
    let again = factory.of::<ConfigMap>().unwrap();
    again.stop();
    let again = factory.of::<ConfigMap>().unwrap();
    assert!(!again.is_stopped(), "however it was stopped");
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    assert!(again.store().get("default", "a").is_some());
    factory.shutdown().await;
    assert!(!factory.shutdown_of::<ConfigMap>().await || again.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_decoded_is_a_cause_to_fail() {
    let server = server().await;
    write(&server, "a", 1);
    let mangle = |value: &'static str| {
        let set = |object: &mut serde_json::Value| object["data"]["value"] = value.into();
        server.mutate("v1/ConfigMap", "default", "a", set).unwrap();
    };
    mangle("no number");
    let factory = SharedInformerFactory::new(server.in_process_client());
    factory.of::<Strict>().unwrap();
    factory.start();
    let error = factory.wait_for_cache_sync().await.unwrap_err().to_string();
    assert!(error.contains("none of 1 objects fits its type; default/a"), "{error}");
    mangle("7");
    write(&server, "b", 1);
    let mut status = factory.of::<Strict>().unwrap().watch_status();
    status.wait_for(|status| status.objects == 2).await.unwrap();
    mangle("none again");
    status.wait_for(|status| !status.quarantined.is_empty()).await.unwrap();
    let report = factory.wait_for_cache_sync().await.expect("one that cannot be decoded spoils nothing");
    assert_eq!((report[0].objects, report[0].quarantined), (2, 1));
    factory.shutdown().await;

    // Some web server, to which the address leads by mistake.
    let page = tower::service_fn(|_: http::Request<Body>| async {
        Ok::<_, std::io::Error>(http::Response::new(Body::from(b"<html>hello</html>".to_vec())))
    });
    let factory = SharedInformerFactory::new(Client::new(page, "default"));
    factory.of::<ConfigMap>().unwrap();
    factory.start();
    let error = factory.wait_for_cache_sync().await.unwrap_err().to_string();
    assert!(error.contains("makes no sense"), "{error}");
}

/// Without a factory: the informer itself is the same.
#[tokio::test(start_paused = true)]
async fn objects_without_a_type_and_metadata_alone_are_followed_and_listed_like_others() {
    let server = server().await;
    let labelled = |name: &str, namespace: &str, app: &str| {
        let metadata = format!("{{name: '{name}', namespace: {namespace}, labels: {{app: {app}}}}}");
        server.seed(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}")).unwrap();
    };
    labelled("x", "a", "web");
    labelled("y", "a", "db");
    labelled("x", "b", "web");
    let kind = ApiResource::erase::<ConfigMap>(&());
    let client = server.in_process_client();
    let dynamic = SharedInformer::new(KubeSource::<DynamicObject>::all(client.clone(), &kind));
    let narrow = KubeSource::<PartialObjectMeta<ConfigMap>>::namespaced(client, "a", &()).labels("app=web");
    let metadata = SharedInformer::new(narrow);
    let (mut all, mut some) = (dynamic.subscribe().unwrap(), metadata.subscribe().unwrap());
    dynamic.start();
    metadata.start();
    assert!(dynamic.synced().await && metadata.synced().await);
    for _ in 0..3 {
        assert!(matches!(all.next().await.unwrap(), Event::Added { initial: true, .. }));
    }
    assert_eq!(some.next().await.unwrap().object().key(), "a/x");
    labelled("y", "a", "cache");
    server.mutate("v1/ConfigMap", "a", "x", |object| object["data"] = serde_json::json!({"k": "v"})).unwrap();
    server.delete("v1/ConfigMap", "b", "x").unwrap();
    server.delete("v1/ConfigMap", "a", "x").unwrap();
    let told = [all.next().await, all.next().await, all.next().await].map(Option::unwrap);
    assert!(matches!(&told[0], Event::Updated { new, .. } if new.key() == "a/y"), "{told:?}");
    assert!(matches!(&told[1], Event::Updated { new, .. } if new.data["data"]["k"] == "v"), "{told:?}");
    assert!(matches!(&told[2], Event::Deleted(gone) if gone.object().key() == "b/x"), "{told:?}");
    let told = [some.next().await, some.next().await].map(Option::unwrap);
    assert!(matches!(&told[0], Event::Updated { new, .. } if new.key() == "a/x"), "{told:?}");
    assert!(matches!(&told[1], Event::Deleted(gone) if gone.object().key() == "a/x"), "{told:?}");
    assert!(matches!(all.next().await.unwrap(), Event::Deleted(_)));

    labelled("z", "b", "web");
    all.next().await.unwrap();
    let lister = Lister::new(dynamic.store().clone(), &kind);
    let web: Selector = [("app", "web")].into_iter().collect();
    let keys = |objects: Vec<Object<DynamicObject>>| {
        let mut keys: Vec<String> = objects.iter().map(|object| object.key().to_owned()).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(lister.list(&Selector::default())), ["a/y", "b/z"]);
    assert_eq!(keys(lister.list(&web)), ["b/z"]);
    assert_eq!(keys(lister.namespaced("a").list(&Selector::default())), ["a/y"]);
    assert_eq!(lister.namespaced("b").get("z").unwrap().key(), "b/z");
    let missing = lister.namespaced("a").get("z").unwrap_err();
    assert_eq!(missing.to_string(), "configmaps \"a/z\" not found");
    let metadata = Lister::new(metadata.store().clone(), &());
    assert_eq!(metadata.namespaced("a").get("x").unwrap_err().resource(), "configmaps");
}
