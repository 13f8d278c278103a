//! What has gone wrong once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::Client;
use kube_client::client::Body;
use kube_core::DynamicObject;
use kube_informer::factory::FactoryError;
use kube_informer::fanout::{Event, Filtered, Handle, ListenerOptions};
use kube_informer::informer::{Controller, InformerError};
use kube_informer::reflector::Config;
use kube_informer::source::{KubeSource, SourceError};
use kube_informer::{Object, SharedInformer, SharedInformerFactory};
use kube_testserver::{Fault, TestServer, Verb};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::support::Strict;
use crate::{PATIENCE, churn, delete, informer, server, write};

/// A client of a server that answers each request with the next of these bodies, and then with nothing. What is not a
/// list stays open.
fn answers(bodies: impl IntoIterator<Item = String>) -> Client {
    let bodies: VecDeque<String> = bodies.into_iter().collect();
    let bodies = Arc::new(Mutex::new(bodies));
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let body = bodies.lock().pop_front().unwrap_or_default();
        async move {
            let whole = body.contains("\"items\":");
            let first = stream::once(async move {
                Ok::<_, std::io::Error>(http_body::Frame::data(bytes::Bytes::from(body)))
            });
            let rest = if whole { stream::empty().left_stream() } else { stream::pending().right_stream() };
            let body = http_body_util::StreamBody::new(first.chain(rest));
            Ok::<_, std::io::Error>(http::Response::new(body))
        }
    });
    Client::new(service, "default")
}

fn lists_only() -> Config {
    let mut config = Config::default();
    config.initial_events = false;
    config
}

fn event(kind: &str, name: &str, version: u32, value: &str) -> String {
    let metadata = format!(r#"{{"name":"{name}","namespace":"d","uid":"u","resourceVersion":"{version}"}}"#);
    format!(
        "{{\"type\":\"{kind}\",\"object\":{{\"metadata\":{metadata},\"data\":{{\"value\":\"{value}\"}}}}}}\n"
    )
}

fn complete(version: u32) -> String {
    let metadata =
        format!(r#"{{"resourceVersion":"{version}","annotations":{{"k8s.io/initial-events-end":"true"}}}}"#);
    format!("{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{metadata}}}}}\n")
}

#[tokio::test(start_paused = true)]
async fn a_frame_with_more_in_it_than_an_event_is_packed_as_its_object_alone() {
    let odd =
        event("ADDED", "a", 1, "1").trim_end().strip_suffix('}').unwrap().to_owned() + ",\"extra\":1}\n";
    let twice = event("ADDED", "b", 2, "2").trim_end().strip_suffix('}').unwrap().to_owned()
        + r#","object":{"metadata":{"name":"b","namespace":"d","resourceVersion":"2"},"data":{"value":"3"}}}"#
        + "\n";
    let client = answers([odd + &twice + &complete(9)]);
    let informer = SharedInformer::<ConfigMap>::new(KubeSource::all(client, &()));
    informer.start();
    assert!(informer.synced().await);
    let value = |name: &str| informer.store().get("d", name).unwrap().data.clone().unwrap()["value"].clone();
    assert_eq!((value("a").as_str(), value("b").as_str()), ("1", "3"));
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_drops_the_version_does_not_make_the_watch_repeat_itself() {
    let server = server().await;
    let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(server.in_process_client(), &()))
        .transform(|mut config| {
            config.metadata.resource_version = None;
            config.metadata.uid = None;
            config
        })
        .build();
    let mut events = informer.subscribe().unwrap();
    informer.start();
    assert!(informer.synced().await);
    write(&server, "a", 1);
    delete(&server, "a");
    write(&server, "a", 2);
    for _ in 0..3 {
        events.next().await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.stop_watches();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(events.next().now_or_never().is_none(), "nothing has happened since");
    let object = informer.store().get("default", "a").unwrap();
    assert!(object.metadata.resource_version.is_none() && !object.resource_version().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_undecodable_among_the_initial_events_may_be_gone_or_mended_by_their_end() {
    let text = event("ADDED", "gone", 1, "bad")
        + &event("DELETED", "gone", 2, "bad")
        + &event("ADDED", "mended", 3, "bad")
        + &event("MODIFIED", "mended", 4, "7")
        + &event("ADDED", "good", 5, "4")
        + &event("DELETED", "good", 6, "bad")
        + &event("ADDED", "bad", 7, "bad")
        + &complete(9);
    let informer = SharedInformer::<Strict>::new(KubeSource::all(answers([text]), &()));
    informer.start();
    assert!(informer.synced().await);
    let keys: Vec<String> = informer.store().list().iter().map(|object| object.key().to_owned()).collect();
    assert_eq!(keys, ["d/mended"]);
    assert!(informer.status().quarantined.keys().eq(["d/bad"]), "{:?}", informer.status().quarantined);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_mended_in_the_same_breath_is_not_in_quarantine() {
    let server = server().await;
    write(&server, "a", 1);
    let informer = SharedInformer::<Strict>::new(KubeSource::all(server.in_process_client(), &()));
    informer.start();
    assert!(informer.synced().await);
    for value in ["x", "5"] {
        server
            .mutate("v1/ConfigMap", "default", "a", |object| object["data"]["value"] = value.into())
            .unwrap();
    }
    let mut status = informer.watch_status();
    let five = || informer.store().get("default", "a").is_some_and(|object| object.data.value == 5);
    status.wait_for(|_| five()).await.unwrap();
    assert!(informer.status().quarantined.is_empty(), "{:?}", informer.status().quarantined);
}

#[tokio::test(start_paused = true)]
async fn one_object_that_is_too_deep_does_not_hold_up_a_list() {
    let server = server().await;
    write(&server, "good", 1);
    let deep = format!("{}1{}", "[".repeat(140), "]".repeat(140));
    let list = format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"5"}},"items":[
            {{"metadata":{{"name":"deep","namespace":"d","resourceVersion":"1"}},"x":{deep}}},
            {{"metadata":{{"name":"good","namespace":"d","resourceVersion":"2"}}}}]}}"#
    );
    let kind = kube_core::ApiResource::erase::<ConfigMap>(&());
    let source = KubeSource::<DynamicObject>::all(answers([list]), &kind);
    let informer = SharedInformer::builder(source).config(lists_only()).build();
    informer.start();
    assert!(tokio::time::timeout(PATIENCE, informer.synced()).await.unwrap());
    assert!(informer.store().get("d", "good").is_some());
    assert!(informer.status().quarantined.contains_key("d/deep"), "{:?}", informer.status());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_of_the_program_runs_after_a_shutdown() {
    let server = server().await;
    let pad = "x".repeat(5_000);
    for number in 0..200 {
        server
            .seed(&format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}}}, data: {{p: {pad}}}}}"
            ))
            .unwrap();
    }
    let (running, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (runs, begins) = (Arc::clone(&running), Arc::clone(&begun));
    let (in_transform, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(server.in_process_client(), &()))
        .transform(move |config| {
            begins.fetch_add(1, Ordering::SeqCst);
            runs.fetch_add(1, Ordering::SeqCst);
            let _ = in_transform.send(());
            std::hint::black_box((0..20_000_u64).fold(0, |sum, number| sum ^ number.wrapping_mul(sum | 1)));
            runs.fetch_sub(1, Ordering::SeqCst);
            config
        })
        .build();
    informer.start();
    seen.recv().await.unwrap();
    informer.shutdown().await;
    assert!(informer.has_ended());
    assert_eq!(running.load(Ordering::SeqCst), 0);
    let before = begun.load(Ordering::SeqCst);
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(begun.load(Ordering::SeqCst), before);
}

#[tokio::test(start_paused = true)]
async fn an_empty_namespace_means_all() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    let factory = SharedInformerFactory::builder(server.in_process_client()).namespace("").build();
    let configs = factory.of::<ConfigMap>().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    server.inject(Fault::expired().on(Verb::Watch).times(1));
    server.stop_watches();
    delete(&server, "a");
    let mut status = configs.watch_status();
    status.wait_for(|status| status.lists == 2).await.unwrap();
    assert_eq!(configs.store().list().len(), 1, "what is gone is gone");
    let both = SharedInformerFactory::builder(server.in_process_client()).namespaces(["", "a"]).build();
    assert_eq!(both.of::<ConfigMap>().unwrap_err(), FactoryError::Namespaces(InformerError::Overlap));
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_is_told_as_old_what_it_saw_last() {
    let server = server().await;
    write(&server, "a", 1);
    let informer = informer(&server);
    let mut slow = informer.subscribe_with(ListenerOptions::new().high_water(1)).unwrap();
    informer.start();
    let Event::Added { object: seen, .. } = slow.next().await.unwrap() else { panic!() };
    let mut status = informer.watch_status();
    delete(&server, "a");
    write(&server, "b", 1);
    write(&server, "a", 2);
    status.wait_for(|status| status.changes == 3).await.unwrap();
    let Event::Updated { old, new, .. } = slow.next().await.unwrap() else { panic!() };
    assert_eq!((old.resource_version(), old.uid()), (seen.resource_version(), seen.uid()));
    assert_ne!(new.uid(), old.uid(), "it is another one of the same name");
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_as_soon_as_they_begin_are_trouble() {
    let server = server().await;
    let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(server.in_process_client(), &()))
        .config(lists_only())
        .build();
    server.inject(Fault::close_at_once().on(Verb::Watch));
    informer.start();
    let mut status = informer.watch_status();
    status.wait_for(|status| status.errors > 2).await.unwrap();
    assert!(informer.status().last_error.unwrap().1.message.contains("as soon as it had begun"));
}

/// The runtime has a single thread, and it stays free.
#[tokio::test(flavor = "current_thread")]
async fn a_handler_may_block() {
    let server = server().await;
    let informer = informer(&server);
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let stuck = move |_: Event<ConfigMap>| {
        let _ = held.recv();
    };
    let registration = informer.add_event_handler(stuck).unwrap();
    let mut quick = informer.subscribe().unwrap();
    informer.start();
    churn(&server, 1, 20);
    let heard = async {
        for _ in 0..5 {
            quick.next().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), heard).await.expect("others go on");
    assert!(registration.status().told == 0 && registration.status().pending > 0);
    drop(hold);
    informer.shutdown().await;
}

/// On threads: the handler blocks until the informer was stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_listeners_that_are_being_drained() {
    let server = server().await;
    for number in 0..50 {
        write(&server, &format!("c{number}"), number);
    }
    let informer = informer(&server);
    informer.start();
    assert!(informer.synced().await);
    let calls = Arc::new(AtomicUsize::new(0));
    let (began, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let count = Arc::clone(&calls);
    let registration = informer
        .add_event_handler(move |_: Event<ConfigMap>| {
            if count.fetch_add(1, Ordering::Relaxed) == 0 {
                began.send(()).unwrap();
                released.recv().unwrap();
            }
        })
        .unwrap();
    begins.recv().await.unwrap();
    registration.drain();
    informer.stop();
    release.send(()).unwrap();
    registration.ended().await;
    assert!(calls.load(Ordering::Relaxed) <= 16, "{} calls", calls.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_sync_ends_though_something_else_is_merely_late() {
    let server = server().await;
    server.inject(Fault::reply(503).resource("configmaps"));
    server.inject(Fault::reply(403).resource("secrets"));
    let factory = SharedInformerFactory::new(server.in_process_client());
    factory.of::<ConfigMap>().unwrap();
    let secrets = factory.of::<Secret>().unwrap();
    factory.start();
    factory.of::<k8s_openapi::api::core::v1::Pod>().unwrap();
    let outcome = tokio::time::timeout(PATIENCE, factory.wait_for_cache_sync()).await.expect("it ends");
    let FactoryError::NotSynced(failed) = outcome.unwrap_err() else { panic!() };
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].resource, "secrets");
    server.clear_faults();
    assert!(secrets.synced().await, "it goes on trying");
    let outcome = tokio::time::timeout(PATIENCE, factory.wait_for_cache_sync()).await.expect("it ends");
    assert_eq!(outcome.unwrap().len(), 2, "one that was not started is not waited for");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_sync_looks_at_every_namespace() {
    let server = server().await;
    server.inject(Fault::reply(503).namespace("a"));
    server.inject(Fault::reply(403).namespace("b"));
    let factory = SharedInformerFactory::builder(server.in_process_client()).namespaces(["a", "b"]).build();
    factory.of::<ConfigMap>().unwrap();
    factory.start();
    let outcome = tokio::time::timeout(PATIENCE, factory.wait_for_cache_sync()).await.expect("it ends");
    let FactoryError::NotSynced(failed) = outcome.unwrap_err() else { panic!() };
    assert_eq!(failed[0].cause.as_ref().unwrap().code, 403);
}

#[tokio::test(start_paused = true)]
async fn an_object_without_a_name_leaves_quarantine_with_the_next_list_of_its_namespace() {
    let nameless = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"data":{}}]}"#;
    let empty = nameless.replace(r#"{"data":{}}"#, "");
    let gone = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n";
    let client = answers([nameless.to_owned(), gone.to_owned(), empty]);
    let source = KubeSource::<ConfigMap>::namespaced(client, "d", &());
    let informer = SharedInformer::builder(source).config(lists_only()).build();
    informer.start();
    let mut status = informer.watch_status();
    status.wait_for(|status| status.quarantined.len() == 1).await.unwrap();
    status.wait_for(|status| status.lists == 2).await.unwrap();
    assert!(informer.status().quarantined.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_period_longer_than_time_itself_is_never() {
    let server = server().await;
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let controller = Controller::new(source, |_: Event<ConfigMap>| {}).resync(Duration::MAX);
    let (mut status, stop) = (controller.watch_status(), CancellationToken::new());
    let running = tokio::spawn(controller.run(stop.clone()));
    status.wait_for(|status| status.synced).await.unwrap();
    stop.cancel();
    running.await.unwrap();
}

#[test]
fn a_handler_that_is_added_outside_a_runtime_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(TestServer::builder().start()).unwrap();
    let client = {
        let _entered = runtime.enter();
        server.in_process_client()
    };
    let informer = SharedInformer::<ConfigMap>::new(KubeSource::all(client, &()));
    let refused = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap_err();
    assert_eq!(refused, InformerError::NoRuntime);
    assert!(informer.status().listeners.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_factory_waits_for_an_informer_that_is_being_stopped_by_somebody_else() {
    let server = server().await;
    write(&server, "a", 1);
    let factory = SharedInformerFactory::new(server.in_process_client());
    let configs = factory.of::<ConfigMap>().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let one = factory.shutdown_of::<ConfigMap>();
    tokio::pin!(one);
    assert!(one.as_mut().now_or_never().is_none(), "it takes its time");
    factory.shutdown().await;
    assert!(configs.has_ended());
}

#[tokio::test(start_paused = true)]
async fn a_slow_filtered_handler_hears_that_what_it_knows_is_gone() {
    let server = server().await;
    write(&server, "a", 1);
    let informer = informer(&server);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let matches = |config: &Object<ConfigMap>| config.data.as_ref().unwrap()["value"] == "1";
    let mut handler =
        Filtered::new(matches, move |event: Event<ConfigMap>| log.lock().push(format!("{event:?}")));
    let mut slow = informer.subscribe_with(ListenerOptions::new().high_water(1)).unwrap();
    informer.start();
    handler.handle(slow.next().await.unwrap());
    // It does not listen while all this happens.
    write(&server, "b", 9);
    write(&server, "a", 2);
    delete(&server, "a");
    write(&server, "c", 9);
    write(&server, "c", 1);
    delete(&server, "c");
    let mut status = informer.watch_status();
    status.wait_for(|status| status.changes >= 6).await.unwrap();
    while let Some(Some(event)) = slow.next().now_or_never() {
        handler.handle(event);
    }
    let heard = heard.lock();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[0].starts_with("Added") && heard[1].starts_with("Deleted"), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_initial_events_never_work_is_followed_by_lists() {
    let faults =
        [Fault::close_at_once(), Fault::garbage_frame(0), Fault::garbage_frame(1), Fault::cut_after(300)];
    for fault in faults {
        let server = server().await;
        write(&server, "a", 1);
        write(&server, "b", 1);
        server.inject(fault.clone().on(Verb::Watch));
        let informer = informer(&server);
        informer.start();
        let synced = tokio::time::timeout(Duration::from_secs(60), informer.synced()).await;
        assert_eq!(synced, Ok(true), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_factory_forgets_informers_that_were_stopped_by_somebody_else() {
    let server = server().await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut stores = Vec::new();
    for _ in 0..5 {
        let configs = factory.of::<ConfigMap>().unwrap();
        factory.start();
        assert!(configs.synced().await);
        configs.stop();
        let (weak, informer) = (configs.watch_status(), configs);
        stores.push(weak);
        drop(informer);
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let before = tasks();
    let last = factory.of::<ConfigMap>().unwrap();
    // Who watches the status of an informer hears when it is dropped.
    let alive = stores.iter().filter(|status| status.has_changed().is_ok()).count();
    assert_eq!((alive, tasks() <= before), (0, true));
    drop(last);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_does_not_end_the_wait_while_a_list_may_do_better() {
    let server = server().await;
    write(&server, "a", 1);
    server.inject(Fault::reply(403).on(Verb::Watch));
    server.inject(Fault::delay(Duration::from_millis(50)).on(Verb::List));
    let factory = SharedInformerFactory::new(server.in_process_client());
    factory.of::<ConfigMap>().unwrap();
    factory.start();
    assert_eq!(factory.wait_for_cache_sync().await.unwrap()[0].objects, 1);
    server.inject(Fault::reply(403).on(Verb::List));
    let factory = SharedInformerFactory::new(server.in_process_client());
    factory.of::<ConfigMap>().unwrap();
    factory.start();
    assert!(matches!(factory.wait_for_cache_sync().await, Err(FactoryError::NotSynced(_))));
}

/// A type that does not only refuse what it cannot decode.
#[derive(Debug)]
struct Bomb {
    metadata: ObjectMeta,
}

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let config = ConfigMap::deserialize(deserializer)?;
        assert_ne!(config.data.unwrap()["value"], "13", "boom");
        Ok(Self { metadata: config.metadata })
    }
}

stands_for_config_maps!(Bomb);

#[tokio::test(start_paused = true)]
async fn an_object_that_makes_its_type_panic_is_in_quarantine() {
    for initial_events in [true, false] {
        let server = server().await;
        write(&server, "a", 1);
        write(&server, "bomb", 13);
        let mut config = Config::default();
        config.initial_events = initial_events;
        let source = KubeSource::<Bomb>::all(server.in_process_client(), &());
        let informer = SharedInformer::builder(source).config(config).build();
        informer.start();
        assert!(informer.synced().await);
        assert!(informer.status().quarantined["default/bomb"].contains("decoding it panicked"));
        write(&server, "bomb", 1);
        write(&server, "a", 13);
        let mut status = informer.watch_status();
        let wait = status.wait_for(|status| status.quarantined.keys().eq(["default/a"]));
        tokio::time::timeout(PATIENCE, wait).await.unwrap().unwrap();
        assert_eq!(informer.store().list().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_factory_says_what_goes_wrong_with_which_resource() {
    let server = server().await;
    server.inject(Fault::reply(403).resource("secrets"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let hook = move |resource: &str, error: &SourceError| log.lock().push((resource.to_owned(), error.code));
    let factory = SharedInformerFactory::builder(server.in_process_client()).on_error(hook).build();
    factory.of::<ConfigMap>().unwrap();
    factory.of::<Secret>().unwrap();
    factory.start();
    assert!(factory.wait_for_cache_sync().await.is_err());
    assert!(!heard.lock().is_empty() && heard.lock().iter().all(|one| *one == ("secrets".to_owned(), 403)));
}
