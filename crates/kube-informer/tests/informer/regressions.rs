//! What has gone wrong once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::Client;
use kube_client::client::Body;
use kube_core::DynamicObject;
use kube_informer::factory::FactoryError;
use kube_informer::fanout::{Event, ListenerOptions};
use kube_informer::informer::{Controller, InformerError, Phase};
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_informer::{SharedInformer, SharedInformerFactory};
use kube_testserver::{Fault, TestServer, Verb};
use parking_lot::Mutex;
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
async fn a_hook_that_panics_stops_the_whole_informer_and_says_so() {
    let server = server().await;
    server.inject(Fault::reply(503).namespace("a"));
    let client = server.in_process_client();
    let sources = KubeSource::<ConfigMap>::namespaces(&client, ["a", "b"], &());
    let informer = SharedInformer::across(sources).unwrap().on_error(|_| panic!("on purpose")).build();
    let registration = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    informer.start();
    registration.ended().await;
    assert!(informer.is_stopped() && informer.status().phase == Phase::Stopped);
    assert!(informer.status().trouble.unwrap().error.message.contains("on purpose"));
    assert!(informer.subscribe().is_err());
    informer.shutdown().await;
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

#[test]
fn a_handler_with_a_thread_of_its_own_may_block() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = server().await;
        let informer = informer(&server);
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = Mutex::new(held);
        let stuck = move |_: Event<ConfigMap>| {
            let _ = held.lock().recv();
        };
        let registration = informer.add_event_handler_with(stuck, ListenerOptions::new().blocking()).unwrap();
        let mut quick = informer.subscribe().unwrap();
        informer.start();
        // The one thread of the runtime is free, though a handler blocks.
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
    });
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_listeners_that_are_being_drained() {
    let server = server().await;
    for number in 0..50 {
        write(&server, &format!("c{number}"), number);
    }
    let informer = informer(&server);
    informer.start();
    assert!(informer.synced().await);
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let registration = informer
        .add_event_handler(move |_: Event<ConfigMap>| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    registration.drain();
    write(&server, "more", 1);
    let mut status = informer.watch_status();
    let known = calls.load(Ordering::Relaxed);
    status.wait_for(|status| status.changes == 1).now_or_never();
    informer.stop();
    registration.ended().await;
    assert!(calls.load(Ordering::Relaxed) <= known + 16, "{} calls", calls.load(Ordering::Relaxed));
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
