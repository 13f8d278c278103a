//! Built-in resources, by those who do not know their types, and beside those who do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube_core::{GroupVersionResource, PartialObjectMeta, Resource, Selector};
use kube_informer::factory::FactoryError;
use kube_informer::fanout::{AnyEvent, Event, ListenerOptions};
use kube_informer::informer::GenericInformer;
use kube_informer::object::{AnyObject, Residency};
use kube_informer::{SharedInformer, SharedInformerFactory};
use kube_testserver::{Fault, TestServer, Verb};
use parking_lot::Mutex;

use crate::support::Strict;
use crate::{PATIENCE, churn, delete, on_server, server, write};

fn gvr(group: &str, version: &str, resource: &str) -> GroupVersionResource {
    GroupVersionResource::gvr(group, version, resource)
}

fn config_maps() -> GroupVersionResource {
    gvr("", "v1", "configmaps")
}

fn factory(server: &TestServer) -> SharedInformerFactory {
    SharedInformerFactory::new(server.in_process_client())
}

/// How many watches of a resource are open.
fn watches(server: &TestServer, resource: &str) -> usize {
    let requests = server.requests();
    let of_it = requests.iter().filter(|one| one.resource == resource && one.verb == Some(Verb::Watch));
    of_it.count()
}

/// Key and version of what an informer has.
fn in_copy<K: Send + Sync + 'static + Resource>(informer: &SharedInformer<K>) -> BTreeMap<String, String> {
    let objects = informer.store().list().into_iter();
    objects.map(|object| (object.key().to_owned(), object.resource_version().to_owned())).collect()
}

/// The same of one whose type is not known.
fn in_any_copy(informer: &GenericInformer) -> BTreeMap<String, String> {
    let objects = informer.lister().list(&Selector::default()).into_iter();
    objects.map(|object| (object.key().to_owned(), object.resource_version().to_owned())).collect()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test(start_paused = true)]
async fn an_object_has_its_type_when_somebody_names_it() {
    for residency in [Residency::Packed, Residency::Decoded, Residency::default()] {
        let server = server().await;
        write(&server, "a", 1);
        let factory = SharedInformerFactory::builder(server.in_process_client()).residency(residency).build();
        let generic = factory.for_resource(&config_maps()).unwrap();
        let (told, mut hear) = tokio::sync::mpsc::unbounded_channel();
        generic.add_event_handler(move |event| told.send(event).unwrap()).unwrap();
        factory.start();
        factory.wait_for_cache_sync().await.unwrap();
        let Some(AnyEvent::Added { object, initial: true }) = hear.recv().await else { panic!() };
        let typed = object.downcast::<ConfigMap>().unwrap();
        assert_eq!(typed.data.as_ref().unwrap()["value"], "1");
        assert_eq!(object.downcast::<Strict>().unwrap().data.value, 1, "another type of the resource");
        assert!(object.downcast::<Pod>().is_none(), "what it is not");
        let metadata = object.downcast::<PartialObjectMeta>().unwrap();
        assert_eq!(metadata.types.as_ref().unwrap().kind, "ConfigMap");
        assert_eq!(
            object.downcast::<PartialObjectMeta<ConfigMap>>().unwrap().metadata.name,
            typed.metadata.name
        );
        let again = generic.lister().get("default", "a").unwrap().downcast::<ConfigMap>().unwrap();
        assert!(again.is_same(&typed) && std::ptr::eq(&*again, &*typed), "decoded once for all");
        assert_eq!((object.key(), object.resource_version()), ("default/a", typed.resource_version()));

        write(&server, "a", 2);
        let Some(AnyEvent::Updated { old, new, resync: false }) = hear.recv().await else { panic!() };
        assert_eq!(new.downcast::<Strict>().unwrap().data.value, 2);
        assert_eq!(old.downcast::<Strict>().unwrap().data.value, 1);
        server
            .mutate("v1/ConfigMap", "default", "a", |object| object["data"]["value"] = "no".into())
            .unwrap();
        let event = hear.recv().await.unwrap();
        assert!(event.object().downcast::<Strict>().is_none(), "it does not fit");
        assert!(event.object().downcast::<ConfigMap>().is_some());
        delete(&server, "a");
        let Some(AnyEvent::Deleted { object, final_state_unknown: false }) = hear.recv().await else {
            panic!()
        };
        assert_eq!(object.downcast::<ConfigMap>().unwrap().data.as_ref().unwrap()["value"], "no");
        assert!(generic.lister().get("default", "a").is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn who_knows_the_type_shares_the_watch_and_the_objects_whoever_came_first() {
    for (type_first, started_between) in [(true, false), (true, true), (false, false), (false, true)] {
        let server = server().await;
        write(&server, "a", 1);
        let factory = factory(&server);
        let by_type = || factory.core().v1().config_maps().informer().unwrap();
        let by_name = || factory.for_resource(&config_maps()).unwrap();
        let start = |now: bool| {
            if now {
                factory.start();
            }
        };
        let (typed, generic) = if type_first {
            let typed = by_type();
            start(started_between);
            (typed, by_name())
        } else {
            let generic = by_name();
            start(started_between);
            (by_type(), generic)
        };
        factory.start();
        let report = factory.wait_for_cache_sync().await.unwrap();
        assert_eq!(report.iter().map(|one| one.objects).collect::<Vec<_>>(), [1], "one is waited for");
        assert!(factory.not_synced().is_empty());
        for value in 2..5 {
            let (one, two) = (typed.store().list(), generic.lister().list(&Selector::default()));
            assert!(one[0].is_same(&two[0].downcast().unwrap()), "{type_first} {started_between}");
            assert_eq!(one[0].data.as_ref().unwrap()["value"], (value - 1).to_string());
            write(&server, "a", value);
            let new = on_server(&server);
            until("both have it", || in_copy(&typed) == new && in_any_copy(&generic) == new).await;
        }
        assert_eq!(watches(&server, "configmaps"), 1, "{type_first} {started_between}");
        assert_eq!(typed.store().resource_version(), by_type().store().resource_version(), "the same again");
        assert!(generic.downcast::<ConfigMap>().unwrap().store().list()[0].is_same(&typed.store().list()[0]));
        assert!(generic.downcast::<Node>().is_none());
        factory.shutdown().await;
        assert!(typed.is_stopped() && generic.is_stopped());
    }
}

/// What a listener has heard of, with its version; panics if that makes no sense.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    there: BTreeMap<String, String>,
    lines: Vec<String>,
}

impl Log {
    fn put(&self, kind: &str, key: &str, version: &str) {
        let mut log = self.0.lock();
        let known = log.there.contains_key(key);
        assert_eq!(known, kind != "added", "{kind} {key}: {:?}", log.lines);
        if kind == "deleted" || kind == "lost" {
            log.there.remove(key);
        } else {
            log.there.insert(key.to_owned(), version.to_owned());
        }
        log.lines.push(format!("{kind} {key}"));
    }

    fn there(&self) -> BTreeMap<String, String> {
        self.0.lock().there.clone()
    }

    fn has(&self, what: &str) -> bool {
        self.0.lock().lines.iter().any(|line| line == what)
    }
}

fn log_typed(log: &Log) -> impl FnMut(Event<ConfigMap>) + Send + use<> {
    let log = log.clone();
    move |event| {
        let kind = match &event {
            Event::Added { .. } => "added",
            Event::Updated { .. } => "updated",
            Event::Deleted(gone) if gone.final_state_unknown() => "lost",
            Event::Deleted(_) => "deleted",
            _ => panic!("something new"),
        };
        log.put(kind, event.object().key(), event.object().resource_version());
    }
}

fn log_any(log: &Log) -> impl FnMut(AnyEvent) + Send + use<> {
    let log = log.clone();
    move |event| {
        let kind = match &event {
            AnyEvent::Added { .. } => "added",
            AnyEvent::Updated { .. } => "updated",
            AnyEvent::Deleted { final_state_unknown: true, .. } => "lost",
            AnyEvent::Deleted { .. } => "deleted",
            _ => panic!("something new"),
        };
        log.put(kind, event.object().key(), event.object().resource_version());
    }
}

#[tokio::test(start_paused = true)]
async fn both_hear_everything_whatever_goes_wrong() {
    for seed in 0..6 {
        let server = TestServer::builder().history(30).start().await.unwrap();
        churn(&server, seed, 20);
        let factory = SharedInformerFactory::builder(server.in_process_client()).seed(seed as u64).build();
        let generic = factory.for_resource(&config_maps()).unwrap();
        let (any, early, late) = (Log::default(), Log::default(), Log::default());
        let mut handlers = vec![generic.add_event_handler(log_any(&any)).unwrap()];
        let typed = factory.of::<ConfigMap>().unwrap();
        let first = typed.add_event_handler(log_typed(&early)).unwrap();
        factory.start();
        factory.wait_for_cache_sync().await.unwrap();
        churn(&server, seed + 100, 40);
        let second = typed.add_event_handler(log_typed(&late)).unwrap();
        server.inject(Fault::cut_after(700).on(Verb::Watch).times(3));
        server.inject(Fault::expired_in_stream(2).on(Verb::Watch).times(1));
        server.stop_watches();
        churn(&server, seed + 200, 60);
        tokio::time::sleep(Duration::from_secs(5)).await;
        churn(&server, seed + 300, 60);
        server.clear_faults();
        let wanted = on_server(&server);
        until("the copies equal the server", || in_copy(&typed) == wanted && in_any_copy(&generic) == wanted)
            .await;
        until("all have heard of it", || [&any, &early, &late].iter().all(|log| log.there() == wanted)).await;
        for status in [handlers.remove(0).status(), first.status(), second.status()] {
            assert_eq!((status.panics, status.last_panic), (0, None), "seed {seed}");
        }
        factory.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_saw_go_is_told_so_to_both() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    let factory = factory(&server);
    let generic = factory.for_resource(&config_maps()).unwrap();
    let typed = factory.of::<ConfigMap>().unwrap();
    let (any, named) = (Log::default(), Log::default());
    generic.add_event_handler(log_any(&any)).unwrap();
    typed.add_event_handler(log_typed(&named)).unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    delete(&server, "b");
    let blocked = server.inject(Fault::reply(500).resource("configmaps"));
    until("it is gone", || any.has("deleted default/b") && named.has("deleted default/b")).await;
    server.stop_watches();
    delete(&server, "a");
    server.compact();
    blocked.remove();
    until("it is gone", || any.has("lost default/a") && named.has("lost default/a")).await;
    // The copy of the one goes with that of the other, also where nothing is told.
    server.seed("{apiVersion: v1, kind: Namespace, metadata: {name: other}}").unwrap();
    let version = |informer: &SharedInformer<ConfigMap>| informer.store().resource_version().unwrap();
    until("bookmarks are passed on", || {
        let reached: u64 = version(&typed).as_str().parse().unwrap();
        reached >= server.resource_version()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_known_to_both_while_it_lasts() {
    let server = server().await;
    write(&server, "a", 1);
    let forbidden = server.inject(Fault::reply(403).resource("configmaps"));
    let factory = factory(&server);
    let generic = factory.for_resource(&config_maps()).unwrap();
    let typed = factory.of::<ConfigMap>().unwrap();
    factory.start();
    let error = factory.wait_for_cache_sync().await.unwrap_err().to_string();
    assert_eq!(error.matches("configmaps").count(), 1, "named once: {error}");
    until("both say why", || {
        let code =
            |trouble: Option<kube_informer::informer::Trouble>| trouble.map(|trouble| trouble.error.code);
        (code(typed.status().trouble), code(generic.status().trouble)) == (Some(403), Some(403))
    })
    .await;
    forbidden.remove();
    until("both have it", || generic.has_synced() && typed.has_synced()).await;
    factory.wait_for_cache_sync().await.unwrap();
    assert!(typed.status().trouble.is_none() && typed.store().list().len() == 1);

    let broken = server.inject(Fault::reply(503).resource("configmaps"));
    server.stop_watches();
    until("it is in the status", || typed.status().trouble.is_some_and(|trouble| trouble.error.code == 503))
        .await;
    broken.remove();
    until("it is over", || typed.status().trouble.is_none() && generic.status().trouble.is_none()).await;
    write(&server, "b", 1);
    until("it goes on", || in_copy(&typed).len() == 2).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit_a_type_is_named_by_the_informer_of_that_type() {
    let server = server().await;
    write(&server, "a", 1);
    server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {value: none}}").unwrap();
    let factory = factory(&server);
    let generic = factory.for_resource(&config_maps()).unwrap();
    let strict = factory.of::<Strict>().unwrap();
    let loose = factory.of::<ConfigMap>().unwrap();
    factory.start();
    let report = factory.wait_for_cache_sync().await.unwrap();
    assert_eq!((report.len(), report[0].objects, report[0].quarantined), (1, 2, 1));
    assert_eq!((in_copy(&strict).len(), in_copy(&loose).len(), in_any_copy(&generic).len()), (1, 2, 2));
    assert!(strict.status().quarantined.contains_key("default/bad") && loose.status().quarantined.is_empty());
    server.mutate("v1/ConfigMap", "default", "bad", |object| object["data"]["value"] = "7".into()).unwrap();
    until("it comes back", || in_copy(&strict).len() == 2).await;
    assert!(strict.status().quarantined.is_empty());
    assert_eq!(watches(&server, "configmaps"), 1);
}

#[tokio::test(start_paused = true)]
async fn stopping_leaves_nothing_behind_and_the_next_who_asks_gets_a_new_one() {
    let server = server().await;
    write(&server, "a", 1);
    let client = server.in_process_client();
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let factory = SharedInformerFactory::new(client);
    for round in 0..3 {
        let generic = factory.for_resource(&config_maps()).unwrap();
        let typed = factory.of::<ConfigMap>().unwrap();
        let mut events = generic.subscribe_with(ListenerOptions::new()).unwrap();
        factory.start();
        assert!(generic.synced().await && typed.synced().await);
        assert!(matches!(events.next().await, Some(AnyEvent::Added { .. })));
        match round {
            0 => generic.shutdown().await,
            1 => assert!(factory.shutdown_of::<ConfigMap>().await),
            _ => factory.shutdown().await,
        }
        assert!(typed.is_stopped() && generic.is_stopped() && events.next().await.is_none());
        assert!(typed.add_event_handler(|_: Event<ConfigMap>| {}).is_err());
        assert!(generic.add_event_handler(|_| {}).is_err());
        assert_eq!(watches(&server, "configmaps"), round + 1);
        let alive = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        assert_eq!(alive, before, "round {round}");
    }
    assert_eq!(factory.for_resource(&config_maps()).unwrap_err(), FactoryError::ShutDown);
    assert!(!factory.shutdown_of::<Pod>().await);
}

#[tokio::test(start_paused = true)]
async fn who_names_the_type_later_finds_it_running_or_stopped() {
    let server = server().await;
    write(&server, "a", 1);
    let factory = factory(&server);
    let generic = factory.for_resource(&config_maps()).unwrap();
    generic.start();
    assert!(generic.synced().await);
    let typed = generic.downcast::<ConfigMap>().unwrap();
    assert!(tokio::time::timeout(PATIENCE, typed.synced()).await.unwrap(), "nobody has to start it");
    assert_eq!(in_copy(&typed), on_server(&server));
    let by_label = typed.add_index("value", |config: &ConfigMap| config.data.as_ref()?.get("value").cloned());
    assert_eq!(by_label.unwrap().get("1").len(), 1);
    generic.shutdown().await;
    assert!(generic.downcast::<Strict>().unwrap().is_stopped());
    assert!(generic.downcast::<ConfigMap>().unwrap().is_stopped() && typed.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn settings_of_the_factory_hold_for_what_nobody_names() {
    for protobuf in [true, false] {
        let server = TestServer::builder().protobuf(protobuf).create_namespaces(true).start().await.unwrap();
        for namespace in ["shop", "bank"] {
            let object = format!(
                "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: {namespace}, annotations: \
                 {{much: text}}}}, spec: {{replicas: 2, selector: {{matchLabels: {{a: b}}}}, template: {{metadata: \
                 {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}"
            );
            server.seed(&object).unwrap();
        }
        server.seed("{apiVersion: v1, kind: Node, metadata: {name: n1}}").unwrap();
        let factory = SharedInformerFactory::builder(server.in_process_client())
            .namespace("shop")
            .default_resync(Duration::from_secs(60))
            .resync_of::<Pod>(Duration::from_secs(7))
            .transform_metadata(|metadata| metadata.annotations = None)
            .build();
        let deployments = factory.for_resource(&gvr("apps", "v1", "deployments")).unwrap();
        let nodes = factory.for_resource(&gvr("", "v1", "nodes")).unwrap();
        let pods = factory.for_resource(&gvr("", "v1", "pods")).unwrap();
        assert!(pods.downcast::<Pod>().is_some());
        let again = Arc::new(Mutex::new(0));
        let count = Arc::clone(&again);
        deployments
            .add_event_handler(move |event| {
                *count.lock() += usize::from(matches!(event, AnyEvent::Updated { resync: true, .. }));
            })
            .unwrap();
        factory.start();
        factory.wait_for_cache_sync().await.unwrap();
        let all = deployments.lister().list(&Selector::default());
        assert_eq!(all.iter().map(AnyObject::key).collect::<Vec<_>>(), ["shop/web"]);
        assert_eq!(all[0].metadata().annotations, None);
        let typed = all[0].downcast::<Deployment>().unwrap();
        assert_eq!((typed.spec.replicas, &typed.metadata.annotations), (Some(2), &None));
        assert_eq!(nodes.lister().get("", "n1").unwrap().key(), "n1", "what has no namespaces is whole");
        tokio::time::sleep(Duration::from_secs(190)).await;
        assert_eq!(*again.lock(), 3);
        factory.shutdown().await;
    }
}

#[test]
fn many_threads_that_ask_by_name_and_by_type_share_one_watch() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = server().await;
        write(&server, "a", 1);
        let factory = SharedInformerFactory::new(server.client().unwrap());
        let ask = |number: usize| {
            let factory = factory.clone();
            tokio::spawn(async move {
                if number.is_multiple_of(2) {
                    let generic = factory.for_resource(&config_maps()).unwrap();
                    factory.start();
                    assert!(generic.synced().await);
                    in_any_copy(&generic).len()
                } else {
                    let typed = factory.of::<ConfigMap>().unwrap();
                    factory.start();
                    assert!(typed.synced().await);
                    in_copy(&typed).len()
                }
            })
        };
        let asked: Vec<_> = (0..40).map(ask).collect();
        for found in futures::future::join_all(asked).await {
            assert_eq!(found.unwrap(), 1);
        }
        assert_eq!(watches(&server, "configmaps"), 1);
        factory.shutdown().await;
    });
}
