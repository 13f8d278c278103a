//! The contract of a shared informer, clause by clause, against the embedded server.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod accessors;
mod bad_input;
mod by_resource;
mod cache;
mod controller;
mod crowd;
mod derived;
mod discovery;
mod endings;
mod endless;
mod factory;
mod handlers;
mod hard_cases;
mod metrics;
mod panics;
mod redaction;
mod regressions;
mod residency;
mod restored;
mod scopes;
mod threads;
mod too_large;
mod untyped;
mod waiting;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::fanout::{Event, Handle, ListenerOptions, Registration};
use kube_informer::informer::{InformerError, Phase, SharedInformer};
use kube_informer::object::Residency;
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_testserver::{Fault, TestServer, Verb};
use kube_wire::Limits;
use parking_lot::Mutex;
use support::Strict;
use tokio_util::sync::CancellationToken;

/// Nothing here takes longer, in paused time.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

async fn server() -> TestServer {
    TestServer::builder().start().await.unwrap()
}

fn informer(server: &TestServer) -> SharedInformer<ConfigMap> {
    SharedInformer::new(KubeSource::all(server.in_process_client(), &()))
}

fn write(server: &TestServer, name: &str, value: usize) {
    let object = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{value: '{value}'}}}}"
    );
    server.seed(&object).unwrap();
}

fn delete(server: &TestServer, name: &str) {
    server.delete("v1/ConfigMap", "default", name).unwrap();
}

fn churn(server: &TestServer, seed: usize, writes: usize) {
    let mut random = seed;
    for value in 0..writes {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let name = format!("c{}", (random >> 33) % 12);
        if value % 5 == 4 && server.object("v1/ConfigMap", "default", &name).unwrap().is_some() {
            delete(server, &name);
        } else {
            write(server, &name, seed * 1000 + value);
        }
    }
}

/// Key and version of everything on the server.
fn on_server(server: &TestServer) -> BTreeMap<String, String> {
    let text =
        |object: &serde_json::Value, field: &str| object["metadata"][field].as_str().unwrap().to_owned();
    let objects = server.objects("v1/ConfigMap").unwrap();
    objects
        .iter()
        .map(|o| (format!("{}/{}", text(o, "namespace"), text(o, "name")), text(o, "resourceVersion")))
        .collect()
}

fn in_store(informer: &SharedInformer<ConfigMap>) -> BTreeMap<String, String> {
    let objects = informer.store().list();
    objects.iter().map(|object| (object.key().to_owned(), object.resource_version().to_owned())).collect()
}

/// Waits until the copy equals the server.
async fn caught_up(informer: &SharedInformer<ConfigMap>, server: &TestServer) {
    let mut status = informer.watch_status();
    let wait = status.wait_for(|_| in_store(informer) == on_server(server));
    tokio::time::timeout(PATIENCE, wait).await.expect("it catches up").unwrap();
}

/// What a listener heard, checked as it comes: no object is added twice, changed or deleted without having been
/// added, or told with another `old` than the one that was told last.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>, Arc<Mutex<BTreeMap<String, String>>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    fn known(&self) -> BTreeMap<String, String> {
        self.1.lock().clone()
    }

    fn hear(&self, event: &Event<ConfigMap>) {
        let mut known = self.1.lock();
        let key = event.object().key().to_owned();
        let now = event.object().resource_version().to_owned();
        let line = match event {
            Event::Added { initial, .. } => {
                assert_eq!(known.insert(key.clone(), now.clone()), None, "{key} was added twice");
                format!("{} {key}", if *initial { "there" } else { "added" })
            }
            Event::Updated { old, .. } => {
                let before = known.insert(key.clone(), now.clone());
                assert_eq!(before.as_deref(), Some(old.resource_version()), "{key} had another old");
                format!("updated {key}")
            }
            Event::Deleted(_) => {
                assert!(known.remove(&key).is_some(), "{key} was deleted without having been there");
                format!("deleted {key}")
            }
            _ => panic!("{event:?}"),
        };
        self.0.lock().push(line);
    }

    fn handler(&self) -> impl Handle<ConfigMap> + use<> {
        let log = self.clone();
        move |event: Event<ConfigMap>| log.hear(&event)
    }
}

/// Waits until a listener knows what the store has.
async fn heard_all(log: &Log, informer: &SharedInformer<ConfigMap>) {
    tokio::time::timeout(PATIENCE, async {
        while log.known() != in_store(informer) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await
    .expect("it hears everything");
}

/// Everything that can go wrong with a watch, and with a list. What is about writes alone is not here.
fn every_fault() -> Vec<(Verb, Fault)> {
    let both = || {
        vec![
            Fault::cut_after(300),
            Fault::hang_after(500),
            Fault::no_reply(),
            Fault::delay(Duration::from_secs(20)),
            Fault::too_many_requests(Duration::from_secs(5)),
            Fault::reply(500),
            Fault::reply(403),
            Fault::expired(),
        ]
    };
    let watches = [
        Fault::expired_in_stream(3),
        Fault::error_in_stream(500, 2),
        Fault::truncated_frame(2),
        Fault::garbage_frame(2),
        Fault::oversized_frame(1 << 20, 2),
        Fault::close_at_once(),
        Fault::no_initial_events_end(),
    ];
    let watches = both().into_iter().chain(watches).map(|fault| (Verb::Watch, fault));
    let lists = both().into_iter().chain([Fault::stale_read(5)]).map(|fault| (Verb::List, fault));
    watches.chain(lists).collect()
}

/// A handler that takes its time: it hears of what happened long ago.
fn slow(log: &Log, informer: &SharedInformer<ConfigMap>, stop: &CancellationToken) {
    let (log, stop) = (log.clone(), stop.clone());
    let mut events = informer.subscribe_with(ListenerOptions::new().high_water(2)).unwrap();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                event = events.next() => match event {
                    Some(event) => log.hear(&event),
                    None => return,
                },
            }
            tokio::time::sleep(Duration::from_secs(7)).await;
        }
    });
}

#[tokio::test(start_paused = true)]
async fn the_copy_and_every_log_explain_the_server_after_every_fault() {
    for (verb, fault) in every_fault() {
        let server = server().await;
        // The server of the fault before is gone by now.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        churn(&server, 1, 30);
        let injected = server.inject(fault.clone().on(verb).resource("configmaps").times(3));
        let mut config = Config::default();
        config.initial_events = verb == Verb::Watch;
        // Smaller than what the fault that is about it sends.
        let mut limits = Limits::default();
        limits.frame_bytes = 512 << 10;
        let source = KubeSource::all(server.in_process_client(), &()).limits(limits);
        let informer = SharedInformer::builder(source).config(config).build();
        let (plain, taking, late, removed) = (Log::default(), Log::default(), Log::default(), Log::default());
        let all = informer.add_event_handler(plain.handler()).unwrap();
        let stop = CancellationToken::new();
        slow(&taking, &informer, &stop);
        let leaving = informer.add_event_handler(removed.handler()).unwrap();
        informer.start();
        let (mut heard, mut joined) = (0, None);
        for round in 2..6 {
            churn(&server, round, 30);
            server.stop_watches();
            caught_up(&informer, &server).await;
            if round == 3 {
                leaving.remove();
                leaving.ended().await;
                heard = removed.lines().len();
                joined = Some(informer.add_event_handler(late.handler()).unwrap());
            }
        }
        for log in [&plain, &taking, &late] {
            heard_all(log, &informer).await;
        }
        // What they hear is checked where they hear it, and a handler's panic is caught.
        for registration in [&all, &leaving, joined.as_ref().unwrap()] {
            assert_eq!(registration.status().panics, 0, "a log makes no sense after {fault:?}");
        }
        assert_eq!(removed.lines().len(), heard, "nothing is heard after the removal");
        assert!(injected.hits() > 0, "{fault:?} never struck");
        stop.cancel();
        informer.shutdown().await;
        drop(informer);
        server.clear_faults();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let left = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        assert_eq!(left, tasks, "tasks are left after {fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_store_is_never_behind_what_a_handler_is_told() {
    let server = server().await;
    let informer = informer(&server);
    let (store, behind) = (informer.store().clone(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&behind);
    let handler = move |event: Event<ConfigMap>| {
        let told: u64 = event.object().resource_version().parse().unwrap();
        let stored = store.get("default", event.object().name());
        let there = stored.map_or(0, |object| object.resource_version().parse().unwrap());
        if !matches!(event, Event::Deleted(_)) && there != 0 && there < told {
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    informer.add_event_handler(handler).unwrap();
    informer.start();
    churn(&server, 1, 300);
    caught_up(&informer, &server).await;
    assert_eq!(behind.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_hears_what_is_there_and_then_everything() {
    let server = server().await;
    write(&server, "a", 1);
    let informer = informer(&server);
    let early = Log::default();
    informer.add_event_handler(early.handler()).unwrap();
    informer.start();
    assert!(informer.synced().await);
    write(&server, "b", 2);
    caught_up(&informer, &server).await;
    let late = Log::default();
    let registration = informer.add_event_handler(late.handler()).unwrap();
    assert!(registration.synced().await);
    write(&server, "a", 3);
    delete(&server, "b");
    caught_up(&informer, &server).await;
    heard_all(&early, &informer).await;
    heard_all(&late, &informer).await;
    assert_eq!(
        early.lines(),
        ["there default/a", "added default/b", "updated default/a", "deleted default/b"]
    );
    let mut first = late.lines();
    let rest = first.split_off(2);
    first.sort();
    assert_eq!(first, ["there default/a", "there default/b"]);
    assert_eq!(rest, ["updated default/a", "deleted default/b"]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_blocks_or_panics_delays_nobody() {
    let server = server().await;
    let informer = informer(&server);
    let quick = Log::default();
    let stuck: Registration<ConfigMap> =
        informer.add_event_handler(|_: Event<ConfigMap>| panic!("on purpose")).unwrap();
    let mut unread = informer.subscribe_with(ListenerOptions::new().high_water(5)).unwrap();
    informer.add_event_handler(quick.handler()).unwrap();
    informer.start();
    churn(&server, 1, 200);
    caught_up(&informer, &server).await;
    heard_all(&quick, &informer).await;
    let synced = tokio::time::timeout(PATIENCE, stuck.synced()).await;
    assert!(informer.has_synced() && synced.expect("it syncs though it panics"));
    let status = informer.status();
    assert!(status.listeners[0].panics > 0 && status.listeners[1].coalescing, "{status:?}");
    let mut states = BTreeMap::new();
    while unread.status().pending > 0 {
        match unread.next().await.unwrap() {
            Event::Deleted(gone) => states.remove(gone.object().key()),
            event => {
                states.insert(event.object().key().to_owned(), event.object().resource_version().to_owned())
            }
        };
    }
    assert_eq!(states, in_store(&informer), "what it missed, it missed in between");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_quarantined_and_comes_back() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 2);
    let informer = SharedInformer::<Strict>::new(KubeSource::all(server.in_process_client(), &()));
    informer.start();
    assert!(informer.synced().await);
    let set = |value: &'static str| {
        server
            .mutate("v1/ConfigMap", "default", "a", |object| object["data"]["value"] = value.into())
            .unwrap();
    };
    let stored = || informer.store().get("default", "a").map(|object| object.data.value);
    let mut status = informer.watch_status();
    set("no number");
    status.wait_for(|status| status.quarantined.contains_key("default/a")).await.unwrap();
    assert_eq!(stored(), Some(1), "the last good state is kept");
    server.compact();
    server.stop_watches();
    server.inject(Fault::expired().on(Verb::Watch).times(1));
    status.wait_for(|status| status.lists == 2).await.unwrap();
    assert_eq!(stored(), Some(1), "also over a new list");
    assert!(informer.status().quarantined.contains_key("default/a"));
    set("7");
    status.wait_for(|status| status.quarantined.is_empty()).await.unwrap();
    assert_eq!(stored(), Some(7));
    set("bad again");
    status.wait_for(|status| !status.quarantined.is_empty()).await.unwrap();
    delete(&server, "a");
    status.wait_for(|status| status.quarantined.is_empty()).await.unwrap();
    assert_eq!(stored(), None, "what is gone is gone");
}

#[tokio::test(start_paused = true)]
async fn trouble_is_in_the_status_while_it_lasts() {
    let server = server().await;
    let fault = server.inject(Fault::reply(403).resource("configmaps"));
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(server.in_process_client(), &()))
        .name("configs")
        .on_error(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build();
    assert_eq!(informer.status().phase, Phase::Created);
    informer.start();
    let mut status = informer.watch_status();
    status
        .wait_for(|status| status.trouble.as_ref().is_some_and(|trouble| trouble.times >= 3))
        .await
        .unwrap();
    let trouble = informer.status().trouble.unwrap();
    assert_eq!((trouble.error.code, trouble.error.reason.as_str()), (403, "Forbidden"));
    assert!(!informer.has_synced());
    fault.remove();
    status.wait_for(|status| status.synced && status.trouble.is_none()).await.unwrap();
    let errors = informer.status().errors;
    assert_eq!(usize::try_from(errors).unwrap(), told.load(Ordering::Relaxed), "the hook sees everything");
}

/// A ConfigMap that counts how many of its kind are alive.
#[derive(Debug, serde::Deserialize)]
struct Counted {
    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    #[serde(skip)]
    _alive: Alive,
}

stands_for_config_maps!(Counted);

static ALIVE: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Alive;

impl Default for Alive {
    fn default() -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Alive
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_shut_down_informer_leaves_no_task_and_no_object_behind() {
    let server = server().await;
    write(&server, "a", 1);
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for residency in [Residency::Decoded, Residency::default()] {
        let source = KubeSource::<Counted>::all(server.in_process_client(), &());
        let informer = SharedInformer::builder(source).residency(residency).build();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let handler = move |event: Event<Counted>| {
            assert!(event.object().metadata.name.is_some());
            count.fetch_add(1, Ordering::Relaxed);
        };
        let registration = informer.add_event_handler(handler).unwrap();
        let unread = informer.subscribe().unwrap();
        informer.start();
        informer.start();
        assert!(registration.synced().await);
        assert!(ALIVE.load(Ordering::Relaxed) > 0);
        tokio::join!(informer.shutdown(), informer.shutdown());
        write(&server, "a", 2);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(unread.status().pending, 0);
        assert!(informer.is_stopped() && informer.status().phase == Phase::Stopped);
        let refused = informer.add_event_handler(|_: Event<Counted>| {}).unwrap_err();
        assert!(matches!(refused, InformerError::Stopped { .. }));
        assert!(
            informer.subscribe().is_err()
                && informer.add_index("x", |_: &Counted| Some(String::new())).is_err()
        );
    }
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_nobody_holds_stops_by_itself() {
    let server = server().await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let informer = informer(&server);
    let registration = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    let mut subscription = informer.subscribe().unwrap();
    informer.start();
    assert!(informer.synced().await);
    drop(informer);
    registration.ended().await;
    assert!(subscription.next().await.is_none());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_stopped_before_its_start_never_starts() {
    let server = server().await;
    let informer = informer(&server);
    informer.stop();
    informer.start();
    assert!(!informer.synced().await);
    informer.shutdown().await;
    assert!(server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_transform_runs_once_for_each_object_and_before_anybody_sees_it() {
    let server = server().await;
    for number in 0..5 {
        write(&server, &format!("c{number}"), number);
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(server.in_process_client(), &()))
        .transform(move |mut object| {
            count.fetch_add(1, Ordering::Relaxed);
            object.data = None;
            object
        })
        .build();
    informer.start();
    assert!(informer.synced().await);
    assert_eq!(calls.load(Ordering::Relaxed), 5);
    assert!(informer.store().list().iter().all(|object| object.data.is_none()));
}

#[tokio::test(start_paused = true)]
async fn an_object_for_which_a_transform_panics_is_quarantined() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(server.in_process_client(), &()))
        .transform(|object| {
            assert!(object.metadata.name.as_deref() != Some("a"), "on purpose");
            object
        })
        .build();
    informer.start();
    assert!(informer.synced().await);
    let quarantined = informer.status().quarantined;
    assert!(quarantined["default/a"].contains("on purpose"), "{quarantined:?}");
    assert!(informer.store().get("default", "b").is_some());
    write(&server, "b", 2);
    caught_up_but_for(&informer, &server, "default/a").await;
}

/// Waits until the copy equals the server, one object aside.
async fn caught_up_but_for(informer: &SharedInformer<ConfigMap>, server: &TestServer, key: &str) {
    let mut status = informer.watch_status();
    let wanted = || {
        let mut objects = on_server(server);
        objects.remove(key);
        objects
    };
    let wait = status.wait_for(|_| in_store(informer) == wanted());
    tokio::time::timeout(PATIENCE, wait).await.expect("it catches up").unwrap();
}

#[tokio::test(start_paused = true)]
async fn trouble_is_over_when_a_watch_is_open_again_though_nothing_happens() {
    let server = server().await;
    let informer = informer(&server);
    informer.start();
    assert!(informer.synced().await);
    let fault = server.inject(Fault::reply(503).on(Verb::Watch));
    server.stop_watches();
    let mut status = informer.watch_status();
    status.wait_for(|status| status.trouble.is_some()).await.unwrap();
    fault.remove();
    status.wait_for(|status| status.trouble.is_none()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_resync_tells_everything_again_and_says_that_it_is_one() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 2);
    let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(server.in_process_client(), &()))
        .resync(Duration::from_secs(30))
        .build();
    let mut often = informer.subscribe().unwrap();
    let never = informer.subscribe_with(ListenerOptions::new().resync(Duration::ZERO)).unwrap();
    informer.start();
    assert!(informer.synced().await);
    let requests = server.requests().len();
    tokio::time::sleep(Duration::from_secs(95)).await;
    assert_eq!((often.status().pending, never.status().pending), (2 + 3 * 2, 2));
    for _ in 0..2 {
        assert!(matches!(often.next().await.unwrap(), Event::Added { initial: true, .. }));
    }
    let again = often.next().await.unwrap();
    let Event::Updated { old, new, resync: true } = &again else { panic!("{again:?}") };
    assert!(old.is_same(new));
    assert_eq!(server.requests().len(), requests, "a resync does not ask the server");
}
