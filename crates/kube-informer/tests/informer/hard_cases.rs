//! Answers, times and threads that are not as they should be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::client::Body;
use kube_informer::SharedInformer;
use kube_informer::factory::SharedInformerFactory;
use kube_informer::fanout::{Event, EventHandler, ListenerOptions};
use kube_informer::informer::Phase;
use kube_informer::object::Object;
use kube_informer::reflector::{Config, ListRequest, WatchRequest};
use kube_informer::source::{
    KubeSource, ListPart, ListStream, ListWatch, SourceError, Want, WatchPart, WatchStream,
};
use kube_testserver::{Fault, Verb};
use parking_lot::Mutex;

use crate::{PATIENCE, informer, server, write};

fn lists_only() -> Config {
    let mut config = Config::default();
    config.initial_events = false;
    config
}

#[tokio::test(start_paused = true)]
async fn changes_do_not_make_up_for_the_end_of_the_initial_events() {
    let server = Arc::new(server().await);
    write(&server, "a", 0);
    server.inject(Fault::no_initial_events_end().on(Verb::Watch));
    let writer = Arc::clone(&server);
    let task = tokio::spawn(async move {
        for value in 1.. {
            tokio::time::sleep(Duration::from_secs(20)).await;
            write(&writer, "a", value);
        }
    });
    let informer = informer(&server);
    let began = tokio::time::Instant::now();
    informer.start();
    assert!(tokio::time::timeout(PATIENCE, informer.synced()).await.unwrap());
    let took = began.elapsed();
    task.abort();
    assert!(took < Duration::from_secs(60), "it took {took:?} to sync");
    assert!(informer.status().last_error.unwrap().1.message.contains("initial events"));
}

/// New objects look like initial ones, so only the end of the stream tells.
#[tokio::test(start_paused = true)]
async fn initial_events_that_last_as_long_as_a_watch_are_not_asked_for_again() {
    let server = Arc::new(server().await);
    server.inject(Fault::no_initial_events_end().on(Verb::Watch));
    let writer = Arc::clone(&server);
    let task = tokio::spawn(async move {
        for number in 1.. {
            tokio::time::sleep(Duration::from_secs(20)).await;
            write(&writer, &format!("a{number}"), 0);
        }
    });
    let informer = informer(&server);
    informer.start();
    assert!(tokio::time::timeout(PATIENCE, informer.synced()).await.unwrap());
    task.abort();
    let asked = server.requests().iter().filter(|one| one.query.contains("sendInitialEvents=true")).count();
    assert_eq!(asked, 1, "a list follows");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_again_more_often_than_every_second() {
    let server = server().await;
    write(&server, "a", 0);
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let informer = SharedInformer::builder(source).resync(Duration::from_millis(100)).build();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let handler = EventHandler::<ConfigMap>::new().on_resync(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    informer.add_event_handler(handler).unwrap();
    informer.start();
    informer.synced().await;
    tokio::time::sleep(Duration::from_millis(10_050)).await;
    assert_eq!(count.load(Ordering::Relaxed), 10);
}

#[tokio::test(start_paused = true)]
async fn two_programs_with_the_same_settings_do_not_ask_in_step() {
    let mut timeouts = Vec::new();
    for _ in 0..2 {
        let server = server().await;
        let factory = SharedInformerFactory::new(server.in_process_client());
        factory.of::<ConfigMap>().unwrap();
        factory.start();
        factory.wait_for_cache_sync().await.unwrap();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        factory.shutdown().await;
        let of = |query: &str| {
            query.split('&').find_map(|one| one.strip_prefix("timeoutSeconds=").map(str::to_owned))
        };
        timeouts.push(server.requests().iter().filter_map(|one| of(&one.query)).collect::<Vec<_>>());
    }
    assert!(timeouts[0].len() > 5);
    assert_ne!(timeouts[0], timeouts[1]);
}

/// How long real threads are waited for.
const REAL_PATIENCE: Duration = Duration::from_secs(120);

async fn soon(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(REAL_PATIENCE, wait).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// Handlers that hold their threads, some of them from the first call on, more than there are cores: the store and a
/// handler that came after them hear everything.
async fn handlers_that_block_delay_neither_the_store_nor_others() {
    const QUICK_AT_FIRST: usize = 10;
    const BLOCKED: usize = 40;
    let server = server().await;
    let informer = informer(&server);
    let mut held = Vec::new();
    let calls = Arc::new(AtomicUsize::new(0));
    for number in 0..BLOCKED {
        let (hold, until) = std::sync::mpsc::channel::<()>();
        held.push(hold);
        let (calls, mut heard) = (Arc::clone(&calls), 0);
        let blocks = move |_: Event<ConfigMap>| {
            heard += 1;
            if number % 2 == 0 || heard > QUICK_AT_FIRST {
                calls.fetch_add(1, Ordering::SeqCst);
                let _ = until.recv();
            }
        };
        informer.add_event_handler(blocks).unwrap();
    }
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heard);
    let quick = move |_: Event<ConfigMap>| {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    informer.add_event_handler(quick).unwrap();
    informer.start();
    assert!(informer.synced().await);
    for value in 1..=100 {
        write(&server, "a", value);
        soon("a quick handler has heard it", || heard.load(Ordering::SeqCst) == value).await;
        let data = informer.store().get("default", "a").unwrap().data.clone().unwrap();
        assert_eq!(data["value"], value.to_string());
    }
    soon("all others are held", || calls.load(Ordering::SeqCst) == BLOCKED).await;
    drop(held);
    let told = || informer.status().listeners.iter().map(|listener| listener.told).min();
    soon("all have heard it", || told() == Some(100)).await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "current_thread")]
async fn handlers_that_block_delay_nobody_on_a_runtime_with_one_thread() {
    handlers_that_block_delay_neither_the_store_nor_others().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_block_delay_nobody_on_a_runtime_with_several_threads() {
    handlers_that_block_delay_neither_the_store_nor_others().await;
}

#[test]
fn what_a_handler_holds_goes_with_the_runtime() {
    let dropped = Arc::new(AtomicBool::new(false));
    let guard = OnDrop(Arc::clone(&dropped));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let informer = runtime.block_on(async {
        let informer = SharedInformer::builder(Nowhere).config(lists_only()).build();
        let handler = move |_: Event<ConfigMap>| {
            let _ = &guard;
        };
        let registration = informer.add_event_handler(handler).unwrap();
        informer.start();
        assert!(registration.synced().await);
        informer
    });
    assert!(!dropped.load(Ordering::SeqCst));
    drop(runtime);
    assert!(dropped.load(Ordering::SeqCst));
    drop(informer);
}

/// A server without versions of lists, as some are that extend the API.
struct Nowhere;

fn object(name: &str, version: &str) -> Object<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.uid = Some(name.to_owned());
    object.metadata.resource_version = Some(version.to_owned());
    Object::new(object)
}

impl ListWatch<ConfigMap> for Nowhere {
    fn list<'a>(
        &'a self,
        _: &'a ListRequest,
        _: &'a Arc<Want<ConfigMap>>,
    ) -> BoxFuture<'a, Result<ListStream<ConfigMap>, SourceError>> {
        async {
            let parts = vec![
                Ok(ListPart::Item(object("a", "5"))),
                Ok(ListPart::Item(object("b", "6"))),
                Ok(ListPart::End(kube_wire::ListMeta::default())),
            ];
            Ok(futures::stream::iter(parts).boxed())
        }
        .boxed()
    }

    fn watch<'a>(
        &'a self,
        request: &'a WatchRequest,
        _: &'a Arc<Want<ConfigMap>>,
    ) -> BoxFuture<'a, Result<WatchStream<ConfigMap>, SourceError>> {
        assert!(!request.initial_events);
        async {
            let parts = vec![
                Ok(WatchPart::Event(kube_wire::Event::Added(object("a", "5")))),
                Ok(WatchPart::Event(kube_wire::Event::Added(object("b", "6")))),
            ];
            let wait = futures::stream::once(tokio::time::sleep(Duration::from_secs(60)))
                .filter_map(|()| std::future::ready(None));
            Ok(futures::stream::iter(parts).chain(wait).boxed())
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_version_again_is_not_a_change() {
    let informer = SharedInformer::builder(Nowhere).config(lists_only()).build();
    let log = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&log);
    let handler = move |event: Event<ConfigMap>| kept.lock().push(format!("{event:?}"));
    informer.add_event_handler(handler).unwrap();
    informer.start();
    informer.synced().await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert_eq!(log.lock().len(), 2, "nothing has ever changed: {:#?}", log.lock());
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        // Others run now, if they may.
        std::thread::yield_now();
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_handler_holds_is_gone_when_it_has_ended() {
    for _ in 0..200 {
        let informer = SharedInformer::builder(Nowhere).config(lists_only()).build();
        let dropped = Arc::new(AtomicBool::new(false));
        let guard = OnDrop(Arc::clone(&dropped));
        let handler = informer.add_event_handler(move |_: Event<ConfigMap>| {
            let _ = &guard;
        });
        let handler = handler.unwrap();
        informer.start();
        informer.synced().await;
        handler.remove();
        handler.ended().await;
        assert!(dropped.load(Ordering::SeqCst));
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_syncs_though_the_sources_change_before_the_informer_has() {
    let server = server().await;
    for (namespace, name) in [("one", "a"), ("two", "b")] {
        server
            .seed(&format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}}}}}"
            ))
            .unwrap();
    }
    let forbidden = server.inject(Fault::reply(403).namespace("two"));
    let source = |namespace: &str| -> Arc<dyn ListWatch<ConfigMap>> {
        Arc::new(KubeSource::<ConfigMap>::namespaced(server.in_process_client(), namespace, &()))
    };
    let (one, two) = (source("one"), source("two"));
    let informer = SharedInformer::across([Arc::clone(&one), Arc::clone(&two)]).unwrap().build();
    let mut events = informer.subscribe_with(ListenerOptions::new().high_water(1)).unwrap();
    informer.start();
    assert_eq!(events.next().await.unwrap().object().key(), "one/a");
    // Namespace one is left, and returned to, before everything was listed.
    informer.follow([Arc::clone(&two)]).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    informer.follow([source("one"), Arc::clone(&two)]).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    forbidden.remove();
    assert!(tokio::time::timeout(PATIENCE, informer.synced()).await.unwrap());
    while let Ok(Some(_)) = tokio::time::timeout(Duration::from_secs(100), events.next()).await {}
    let status = events.status();
    assert!(status.pending == 0 && status.synced, "{status:?}");
}

#[test]
fn starting_without_a_runtime_starts_nothing_and_says_so() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_server, informer) = runtime.block_on(async {
        let server = server().await;
        let informer = informer(&server);
        (server, informer)
    });
    informer.start();
    let status = informer.status();
    assert_eq!(status.phase, Phase::Created);
    assert!(status.last_error.unwrap().1.message.contains("outside of a tokio runtime"));
    runtime.block_on(async {
        informer.start();
        assert!(tokio::time::timeout(REAL_PATIENCE, informer.synced()).await.expect("in time"));
        informer.shutdown().await;
    });
}

/// Something before the server answers a relist with 200 and something that is not a list.
#[tokio::test(start_paused = true)]
async fn what_is_not_a_list_of_the_kind_does_not_empty_the_copy() {
    const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a","namespace":"n","resourceVersion":"3"}}]}"#;
    const EXPIRED: &str =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n";
    for body in [
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"upstream is down","code":503}"#,
        "{}",
        r#"{"error":"please log in"}"#,
        r#"{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}"#,
    ] {
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&calls);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let watch = request.uri().query().unwrap_or("").contains("watch=true");
            let text = match watch {
                true => EXPIRED,
                false if seen.fetch_add(1, Ordering::SeqCst) == 0 => LIST,
                false => body,
            };
            let answer = http::Response::builder().header("content-type", "application/json");
            let answer = answer.body(Body::from(text.as_bytes().to_vec())).unwrap();
            async { Ok::<_, std::convert::Infallible>(answer) }
        });
        let client = kube_client::Client::new(service, "default");
        let source = KubeSource::<ConfigMap>::all(client, &()).json();
        let informer = SharedInformer::builder(source).config(lists_only()).build();
        informer.start();
        assert!(informer.synced().await);
        tokio::time::sleep(Duration::from_secs(20)).await;
        let status = informer.status();
        assert!(calls.load(Ordering::SeqCst) > 1);
        assert_eq!(status.objects, 1, "emptied by {body}");
        assert!(status.last_error.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn no_namespace_is_all_namespaces_for_a_lister() {
    let server = server().await;
    write(&server, "a", 0);
    let factory = SharedInformerFactory::new(server.in_process_client());
    let lister = factory.lister::<ConfigMap>().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let all = kube_core::Selector::default();
    assert_eq!((lister.list(&all).len(), lister.namespaced("").list(&all).len()), (1, 1));
    assert!(lister.namespaced("other").list(&all).is_empty());
}

#[tokio::test(start_paused = true)]
async fn failures_inside_a_watch_reach_the_hook() {
    let server = server().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let informer = SharedInformer::builder(source).on_error(move |error| log.lock().push(error.code)).build();
    informer.start();
    assert!(informer.synced().await);
    server.inject(Fault::expired().on(Verb::Watch).times(1));
    server.stop_watches();
    let mut status = informer.watch_status();
    tokio::time::timeout(PATIENCE, status.wait_for(|status| status.lists == 2)).await.unwrap().unwrap();
    assert_eq!(*seen.lock(), [410]);
}

#[tokio::test(start_paused = true)]
async fn no_capacity_is_too_large_to_be_asked_for() {
    let server = server().await;
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let informer = SharedInformer::builder(source).queue_capacity(usize::MAX).build();
    informer.start();
    assert!(informer.synced().await);
}
