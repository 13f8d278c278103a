//! How objects rest, end to end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{Expression, Selector};
use kube_informer::fanout::Event;
use kube_informer::lister::Lister;
use kube_informer::object::Residency;
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_informer::{EventHandler, Object, SharedInformer};
use kube_testserver::{Fault, TestServer, Verb};

use crate::{Log, caught_up, churn, delete, heard_all, server};

const ALL: [Residency; 4] = [
    Residency::Decoded,
    Residency::Packed,
    Residency::Adaptive { warm_bytes: 1 << 20 },
    Residency::Adaptive { warm_bytes: 1 },
];

fn write(server: &TestServer, name: &str, app: &str, value: usize) {
    let metadata = format!("{{name: {name}, labels: {{app: {app}}}}}");
    let data = format!("{{value: '{value}', text: {}}}", "x".repeat(500));
    server.seed(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}, data: {data}}}")).unwrap();
}

fn informer(server: &TestServer, residency: Residency) -> SharedInformer<ConfigMap> {
    let source = KubeSource::all(server.in_process_client(), &());
    SharedInformer::builder(source).residency(residency).build()
}

#[tokio::test(start_paused = true)]
async fn what_is_read_and_told_is_the_same_however_objects_rest() {
    for residency in ALL {
        let server = server().await;
        for number in 0..30 {
            write(&server, &format!("c{number}"), if number % 3 == 0 { "web" } else { "db" }, number);
        }
        let informer = informer(&server, residency);
        let by_value = informer
            .add_index("value", |config: &ConfigMap| config.data.as_ref()?.get("value").cloned())
            .unwrap();
        let mut events = informer.subscribe().unwrap();
        informer.start();
        assert!(informer.synced().await);
        for _ in 0..30 {
            let Event::Added { object, initial: true } = events.next().await.unwrap() else { panic!() };
            assert_eq!(by_value.get(&object.data.as_ref().unwrap()["value"])[0].key(), object.key());
            assert!(object.metadata.managed_fields.is_none());
        }
        let lister = Lister::new(informer.store().clone(), &());
        let web = Selector::from(Expression::Equal("app".to_owned(), "web".to_owned()));
        assert_eq!(lister.list(&web).len(), 10, "{residency:?}");
        write(&server, "c3", "web", 333);
        let Event::Updated { old, new, .. } = events.next().await.unwrap() else { panic!() };
        let value = |config: &Object<ConfigMap>| config.data.as_ref().unwrap()["value"].clone();
        assert_eq!((value(&old), value(&new)), ("3".to_owned(), "333".to_owned()));
        assert!(by_value.get("3").is_empty() && by_value.get("333").len() == 1);
        delete(&server, "c3");
        let Event::Deleted(gone) = events.next().await.unwrap() else { panic!() };
        assert_eq!(value(gone.object()), "333");
        assert!(by_value.get("333").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn every_residency_survives_bad_days() {
    for residency in ALL {
        let server = server().await;
        churn(&server, 1, 30);
        let informer = informer(&server, residency);
        let log = Log::default();
        informer.add_event_handler(log.handler()).unwrap();
        informer.start();
        for (round, fault) in
            [Fault::expired(), Fault::garbage_frame(1), Fault::cut_after(300), Fault::truncated_frame(1)]
                .into_iter()
                .enumerate()
        {
            server.inject(fault.on(Verb::Watch).times(1));
            churn(&server, round + 2, 50);
            server.stop_watches();
            caught_up(&informer, &server).await;
        }
        heard_all(&log, &informer).await;
    }
}

/// One of twenty ConfigMaps, in one of many shapes.
fn shape(number: usize) -> serde_json::Value {
    let text = |length: usize| "x".repeat(length);
    let has = |every: usize| number.is_multiple_of(every);
    let data: BTreeMap<String, String> = (0..number % 7)
        .map(|key| (format!("k{}", key * (1 + number % 2)), text(number * key % 90)))
        .collect();
    let mut object = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("c{}", number % 20), "namespace": "default"},
    });
    // In protobuf what is empty is not there.
    if !data.is_empty() {
        object["data"] = serde_json::json!(data);
    }
    if !has(3) {
        object["metadata"]["labels"] =
            serde_json::json!({"app": text(number % 40), "number": number.to_string()});
    }
    if has(4) {
        object["metadata"]["ownerReferences"] = (0..=number % 5)
            .map(|at| serde_json::json!({"apiVersion": "v1", "kind": "Pod", "name": text(at + 1), "uid": text(number % 9 + 1)}))
            .collect();
    }
    if has(5) {
        object["immutable"] = false.into();
        object["binaryData"] = serde_json::json!({"b": "AAAA".repeat(number % 11)});
    }
    object
}

#[tokio::test(start_paused = true)]
async fn what_is_made_of_replaced_objects_is_what_the_server_has() {
    let adaptive = Residency::Adaptive { warm_bytes: 64 << 10 };
    for residency in [Residency::Decoded, adaptive] {
        objects_of_many_shapes_are_what_the_server_has(residency, false).await;
    }
    // What an index looks into is decoded before it is told.
    for residency in [Residency::Packed, adaptive] {
        objects_of_many_shapes_are_what_the_server_has(residency, true).await;
    }
}

async fn objects_of_many_shapes_are_what_the_server_has(residency: Residency, indexed: bool) {
    let server = server().await;
    let informer = informer(&server, residency);
    if indexed {
        let sizes =
            |object: &ConfigMap| object.data.iter().map(|data| data.len().to_string()).collect::<Vec<_>>();
        drop(informer.add_index("size", sizes).unwrap());
    }
    let kept = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    let handler = move |event: Event<ConfigMap>| {
        let object = event.object();
        assert_eq!(object.metadata.resource_version.as_deref(), Some(object.resource_version()));
        if object.resource_version().ends_with('7') {
            keeps.lock().push((object.clone(), ConfigMap::clone(object)));
        }
    };
    informer.add_event_handler(handler).unwrap();
    informer.start();
    assert!(informer.synced().await);
    for round in 0..6 {
        (0..400).for_each(|number| server.put(&shape(round * 401 + number)).map(drop).unwrap());
        caught_up(&informer, &server).await;
        assert_eq!(informer.store().list().len(), 20);
        for object in informer.store().list() {
            let there = server.object("v1/ConfigMap", "default", object.name()).unwrap().unwrap();
            let mut there: ConfigMap = serde_json::from_value(there).unwrap();
            there.metadata.managed_fields = None;
            assert_eq!(*object, there);
        }
    }
    let kept = kept.lock();
    assert!(kept.len() > 100, "{}", kept.len());
    assert!(kept.iter().all(|(object, copy)| **object == *copy), "what somebody has stays what it is");
}

/// A ConfigMap that counts how often one was decoded. Each test has a number of its own.
#[derive(Debug)]
struct Noted<const TEST: usize> {
    metadata: ObjectMeta,
    data: BTreeMap<String, String>,
}

static DECODED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

impl<'de, const TEST: usize> serde::Deserialize<'de> for Noted<TEST> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let config = ConfigMap::deserialize(deserializer)?;
        DECODED[TEST].fetch_add(1, Ordering::Relaxed);
        Ok(Self { metadata: config.metadata, data: config.data.unwrap_or_default() })
    }
}

stands_for_config_maps!(Noted<0>);
stands_for_config_maps!(Noted<1>);
stands_for_config_maps!(Noted<2>);

fn decoded<const TEST: usize>() -> usize {
    DECODED[TEST].load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn an_object_is_decoded_when_it_comes_and_when_somebody_looks_and_not_at_a_relist() {
    let server = server().await;
    for number in 0..20 {
        write(&server, &format!("c{number}"), "web", number);
    }
    let source = KubeSource::<Noted<0>>::all(server.in_process_client(), &());
    let informer = SharedInformer::builder(source).residency(Residency::Packed).build();
    let by_app = informer
        .add_index("app", |config: &Noted<0>| config.metadata.labels.as_ref()?.get("app").cloned())
        .unwrap();
    let looked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&looked);
    informer
        .add_event_handler(move |event: Event<Noted<0>>| {
            count.fetch_add(event.object().data.len().min(1), Ordering::Relaxed);
        })
        .unwrap();
    informer.start();
    let mut status = informer.watch_status();
    status.wait_for(|status| status.synced).await.unwrap();
    while looked.load(Ordering::Relaxed) < 20 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = decoded::<0>();
    assert!(before <= 40, "once when it came, once for whoever looked: {before}");
    assert_eq!(by_app.get("web").len(), 20);
    // The watch is lost for good; one object changes meanwhile.
    server.inject(Fault::expired().on(Verb::Watch).times(1));
    server.stop_watches();
    write(&server, "c7", "db", 7);
    status.wait_for(|status| status.lists == 2).await.unwrap();
    assert_eq!((by_app.get("web").len(), by_app.get("db").len()), (19, 1));
    let again = decoded::<0>() - before;
    assert!(again <= 2, "only what has changed: {again}");
}

/// Until everything that is under way has come to rest.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(10)).await;
}

#[tokio::test(start_paused = true)]
async fn what_an_update_replaced_is_decoded_only_if_somebody_looks() {
    let server = server().await;
    write(&server, "c", "web", 0);
    let source = KubeSource::<Noted<1>>::all(server.in_process_client(), &());
    let informer = SharedInformer::builder(source).residency(Residency::Packed).build();
    let versions = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&versions);
    informer
        .add_event_handler(EventHandler::<Noted<1>>::new().on_update(move |old, new| {
            // What is known without looking, and what has just come.
            assert!(old.resource_version() != new.resource_version() && old.labels().get("app").is_some());
            count.fetch_add(new.data.len().min(1), Ordering::Relaxed);
        }))
        .unwrap();
    let mut events = informer.subscribe().unwrap();
    informer.start();
    assert!(informer.synced().await);
    drop(events.next().await.unwrap());
    settle().await;
    assert_eq!(decoded::<1>(), 1, "when it came");
    write(&server, "c", "web", 1);
    let Event::Updated { old, new, .. } = events.next().await.unwrap() else { panic!() };
    settle().await;
    assert_eq!((old.key(), new.data["value"].as_str()), ("default/c", "1"));
    assert_eq!((decoded::<1>(), versions.load(Ordering::Relaxed)), (2, 1), "the new one, when it came");
    assert!(!old.is_decoded());
    drop((old, new));
    write(&server, "c", "web", 2);
    let Event::Updated { old, new, .. } = events.next().await.unwrap() else { panic!() };
    settle().await;
    assert_eq!((decoded::<1>(), old.is_decoded()), (3, false));
    let other = old.clone();
    assert_eq!((old.data["value"].as_str(), new.data["value"].as_str()), ("1", "2"));
    assert_eq!(other.data["value"], "1");
    assert_eq!(decoded::<1>(), 4, "somebody has looked, and others share it");
    assert_eq!(versions.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_asked_for_again_decodes_only_what_has_changed() {
    const OBJECTS: usize = 40;
    for (residency, page_size) in
        [Residency::Decoded, Residency::Packed].into_iter().flat_map(|one| [(one, None), (one, Some(7))])
    {
        let server = server().await;
        (0..OBJECTS).for_each(|number| write(&server, &format!("c{number}"), "web", number));
        let mut config = Config::default();
        config.initial_events = false;
        config.page_size = page_size;
        let source = KubeSource::<Noted<2>>::all(server.in_process_client(), &());
        let informer = SharedInformer::builder(source).config(config).residency(residency).build();
        let begun = decoded::<2>();
        informer.start();
        let mut status = informer.watch_status();
        status.wait_for(|status| status.synced).await.unwrap();
        assert_eq!(decoded::<2>() - begun, OBJECTS);
        let before: Vec<_> = informer.store().list();
        server.inject(Fault::expired().on(Verb::Watch).times(1));
        server.stop_watches();
        write(&server, "c7", "db", 77);
        write(&server, "new", "db", 78);
        status.wait_for(|status| status.lists == 2).await.unwrap();
        assert_eq!(decoded::<2>() - begun, OBJECTS + 2, "{residency:?}, pages of {page_size:?}");
        let stays = |old: &&Object<Noted<2>>| {
            informer.store().get(old.namespace(), old.name()).is_some_and(|new| new.is_same(old))
        };
        assert_eq!(before.iter().filter(stays).count(), OBJECTS - 1, "the others are what they were");
        assert_eq!(informer.store().list().len(), OBJECTS + 1);
        let lists = server.requests().iter().filter(|request| request.verb == Some(Verb::List)).count();
        assert!((lists == 2) != page_size.is_some(), "{lists} lists");
        assert!(server.requests().iter().all(|request| !request.query.contains("sendInitialEvents")));
    }
}
