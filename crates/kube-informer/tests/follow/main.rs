//! A reflector against the embedded server, on good days and bad ones. Time is paused: waits cost nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod requests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::queue::{Consumer, Delta, queue};
use kube_informer::reflector::{Config, Note, Reflector};
use kube_informer::source::KubeSource;
use kube_testserver::{Fault, Rule, TestServer, TestServerBuilder, Verb};
use support::Strict;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Nothing here takes longer, in paused time.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// A copy that is kept current by what comes out of the queue.
struct Follower {
    consumer: Consumer<ConfigMap>,
    objects: BTreeMap<String, String>,
    /// One word for each delta, data left out.
    log: Vec<&'static str>,
    undecodable: Vec<String>,
    errors: Arc<AtomicUsize>,
    _stop: DropGuard,
}

impl Follower {
    fn start(server: &TestServer, config: Config) -> Self {
        Self::with_source(KubeSource::all(server.in_process_client(), &()), config)
    }

    fn with_source(source: KubeSource<ConfigMap>, config: Config) -> Self {
        let (producer, consumer) = queue(16);
        let stop = CancellationToken::new();
        let errors = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&errors);
        let reflector = Reflector::new(source, config, 1).on_note(move |note| {
            if let Note::Failed { .. } = note {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        tokio::spawn(reflector.run(producer, stop.clone()));
        Self {
            consumer,
            objects: BTreeMap::new(),
            log: Vec::new(),
            undecodable: Vec::new(),
            errors,
            _stop: stop.drop_guard(),
        }
    }

    /// Takes the next batch into the copy.
    async fn step(&mut self) {
        let batch = tokio::time::timeout(PATIENCE, self.consumer.pop_batch(100)).await;
        for delta in batch.expect("something happens").expect("the reflector runs") {
            self.apply(delta);
        }
    }

    fn apply(&mut self, delta: Delta<ConfigMap>) {
        let word = match delta {
            Delta::Replaced { objects, undecodable, .. } => {
                self.objects = objects.iter().map(|object| entry(object)).collect();
                self.undecodable = undecodable.iter().map(ToString::to_string).collect();
                "replaced"
            }
            Delta::Added(object) => {
                self.objects.extend([entry(&object)]);
                "added"
            }
            Delta::Updated(object) => {
                self.objects.extend([entry(&object)]);
                "updated"
            }
            Delta::Deleted(object) => {
                self.objects.remove(&entry(&object).0);
                "deleted"
            }
            Delta::Bookmark { .. } => "bookmark",
            Delta::Undecodable { error, .. } => {
                self.undecodable.push(error.to_string());
                "undecodable"
            }
            other => panic!("{other:?}"),
        };
        self.log.push(word);
    }

    /// Goes on until the copy equals what the server has.
    async fn until_equal(&mut self, server: &TestServer) {
        while self.objects != contents(server) {
            self.step().await;
        }
    }

    fn count(&self, word: &str) -> usize {
        self.log.iter().filter(|found| **found == word).count()
    }
}

fn entry(object: &ConfigMap) -> (String, String) {
    let meta = &object.metadata;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let value = object.data.as_ref().and_then(|data| data.get("value")).cloned().unwrap_or_default();
    (
        format!("{}/{}", text(&meta.namespace), text(&meta.name)),
        format!("{value}@{}", text(&meta.resource_version)),
    )
}

fn contents(server: &TestServer) -> BTreeMap<String, String> {
    let objects = server.objects("v1/ConfigMap").unwrap();
    objects.into_iter().map(|object| entry(&serde_json::from_value(object).unwrap())).collect()
}

fn write(server: &TestServer, name: usize, value: usize) {
    server
        .seed(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{name}}}, data: {{value: '{value}'}}}}"
        ))
        .unwrap();
}

/// Writes, changes and deletes, in an order that looks random and is not.
fn churn(server: &TestServer, writes: usize) {
    let mut random = 12345_usize;
    for value in 0..writes {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let name = (random >> 33) % 20;
        if value % 5 == 4 && server.object("v1/ConfigMap", "default", &format!("c{name}")).unwrap().is_some()
        {
            server.delete("v1/ConfigMap", "default", &format!("c{name}")).unwrap();
        } else {
            write(server, name, value);
        }
    }
}

async fn server(builder: TestServerBuilder) -> TestServer {
    builder.bookmark_interval(Duration::from_secs(60)).start().await.unwrap()
}

fn lists_only() -> Config {
    let mut config = Config::default();
    config.initial_events = false;
    config
}

#[tokio::test(start_paused = true)]
async fn the_copy_follows_by_initial_events_and_by_lists() {
    for config in [Config::default(), lists_only()] {
        let server = server(TestServer::builder()).await;
        churn(&server, 50);
        let mut follower = Follower::start(&server, config);
        follower.until_equal(&server).await;
        assert_eq!(follower.log, ["replaced"], "what was there comes in one piece");
        churn(&server, 200);
        follower.until_equal(&server).await;
        assert_eq!(follower.count("replaced"), 1);
        assert_eq!(follower.errors.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_put_together_to_one_whole() {
    let server = server(TestServer::builder().watch_cache(false)).await;
    for name in 0..25 {
        write(&server, name, name);
    }
    let mut config = lists_only();
    config.page_size = Some(10);
    let mut follower = Follower::start(&server, config);
    follower.until_equal(&server).await;
    assert_eq!((follower.log.as_slice(), follower.objects.len()), (&["replaced"][..], 25));
    let pages = server.requests().iter().filter(|request| request.verb == Some(Verb::List)).count();
    assert_eq!(pages, 3);
}

#[tokio::test(start_paused = true)]
async fn the_copy_equals_the_server_after_every_fault() {
    let either = [Verb::List, Verb::Watch];
    let faults = [
        (&either[..], Fault::cut_after(300)),
        (&either, Fault::hang_after(500)),
        (&either, Fault::no_reply()),
        (&either, Fault::delay(Duration::from_secs(20))),
        (&either, Fault::too_many_requests(Duration::from_secs(5))),
        (&either, Fault::reply(500)),
        (&either, Fault::reply(503)),
        (&either, Fault::reply(403)),
        (&either, Fault::expired()),
        (&[Verb::List], Fault::stale_read(10)),
        (&[Verb::Watch], Fault::expired_in_stream(3)),
        (&[Verb::Watch], Fault::error_in_stream(500, 2)),
        (&[Verb::Watch], Fault::error_in_stream(429, 2)),
        (&[Verb::Watch], Fault::truncated_frame(2)),
        (&[Verb::Watch], Fault::garbage_frame(2)),
        (&[Verb::Watch], Fault::oversized_frame(1 << 20, 2)),
        (&[Verb::Watch], Fault::close_at_once()),
        (&[Verb::Watch], Fault::no_initial_events_end()),
    ];
    for config in [Config::default(), lists_only()] {
        for (verbs, fault) in &faults {
            for verb in *verbs {
                let server = server(TestServer::builder()).await;
                churn(&server, 40);
                let injected = server.inject(fault.clone().on(*verb).resource("configmaps").times(3));
                let mut follower = Follower::start(&server, config.clone());
                for _ in 0..5 {
                    churn(&server, 40);
                    server.stop_watches();
                    follower.until_equal(&server).await;
                }
                // With initial events nobody has to list.
                let possible = *verb == Verb::Watch || !config.initial_events;
                assert!(injected.hits() > 0 || !possible, "{fault:?} never struck");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_compacted_history_leads_to_a_new_list() {
    let server = server(TestServer::builder()).await;
    let mut follower = Follower::start(&server, Config::default());
    write(&server, 1, 1);
    follower.until_equal(&server).await;
    server.inject(Fault::delay(Duration::from_secs(1)).on(Verb::Watch).times(1));
    server.stop_watches();
    write(&server, 2, 2);
    server.delete("v1/ConfigMap", "default", "c1").unwrap();
    server.compact();
    follower.until_equal(&server).await;
    assert_eq!(follower.count("replaced"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_initial_events_is_followed_by_lists() {
    let server = server(TestServer::builder().watch_list(false)).await;
    churn(&server, 30);
    let mut follower = Follower::start(&server, Config::default());
    follower.until_equal(&server).await;
    churn(&server, 30);
    follower.until_equal(&server).await;
    let asked =
        server.requests().iter().filter(|request| request.parameter("sendInitialEvents").is_some()).count();
    assert_eq!(asked, 1);
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_comes_back_is_noticed() {
    let server = server(TestServer::builder()).await;
    server.access().add_user("t", "alice", ["devs"]);
    server.access().set_rules([Rule::deny()]);
    write(&server, 1, 1);
    let client = server.in_process_client_with_token("t");
    let mut follower = Follower::with_source(KubeSource::all(client, &()), Config::default());
    while follower.errors.load(Ordering::Relaxed) < 5 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.access().set_rules([Rule::allow().user("alice")]);
    follower.until_equal(&server).await;
}

#[tokio::test(start_paused = true)]
async fn selectors_and_namespaces_narrow_what_is_followed() {
    let server = server(TestServer::builder()).await;
    for (namespace, name, label) in [("a", "x", "web"), ("a", "w", "db"), ("b", "z", "web")] {
        let yaml = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}, labels: {{app: {label}}}}}}}"
        );
        server.seed(&yaml).unwrap();
    }
    let client = server.in_process_client();
    for (source, expected) in [
        (KubeSource::all(client.clone(), &()).labels("app=web"), vec!["a/x", "b/z"]),
        (KubeSource::namespaced(client.clone(), "a", &()), vec!["a/w", "a/x"]),
        (KubeSource::namespaced(client.clone(), "a", &()).fields("metadata.name=w"), vec!["a/w"]),
        (
            KubeSource::all(client, &()).tweak(|tweak| {
                tweak.parameters.push(("watch".to_owned(), "false".to_owned()));
                tweak.label_selector = "app=db".to_owned();
            }),
            vec!["a/w"],
        ),
    ] {
        let mut follower = Follower::with_source(source, Config::default());
        follower.step().await;
        assert_eq!(follower.objects.keys().collect::<Vec<_>>(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_decoded_is_named_and_the_rest_goes_on() {
    let server = server(TestServer::builder()).await;
    server
        .seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {value: no number}}")
        .unwrap();
    write(&server, 1, 1);
    let (producer, mut consumer) = queue(16);
    let stop = CancellationToken::new();
    let source = KubeSource::<Strict>::all(server.in_process_client(), &());
    tokio::spawn(Reflector::new(source, Config::default(), 1).run(producer, stop.clone()));
    let first = consumer.pop_batch(1).await.unwrap().remove(0);
    let Delta::Replaced { objects, undecodable, .. } = first else { panic!("{first:?}") };
    assert_eq!(objects.iter().map(|object| object.data.value).collect::<Vec<_>>(), [1]);
    assert_eq!(undecodable[0].key.as_ref().unwrap().name, "bad");
    server.mutate("v1/ConfigMap", "default", "bad", |object| object["data"]["value"] = "x".into()).unwrap();
    let next = consumer.pop_batch(1).await.unwrap().remove(0);
    assert!(matches!(next, Delta::Undecodable { .. }), "{next:?}");
    server.mutate("v1/ConfigMap", "default", "bad", |object| object["data"]["value"] = "7".into()).unwrap();
    let next = consumer.pop_batch(1).await.unwrap().remove(0);
    assert!(matches!(next, Delta::Updated(_)), "{next:?}");
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_stopped_reflector_ends_whatever_it_is_doing() {
    for fault in [None, Some(Fault::no_reply()), Some(Fault::reply(500)), Some(Fault::hang_after(10))] {
        let server = server(TestServer::builder()).await;
        if let Some(fault) = fault {
            server.inject(fault);
        }
        let (producer, _consumer) = queue::<ConfigMap>(1);
        let stop = CancellationToken::new();
        let source = KubeSource::all(server.in_process_client(), &());
        let task = tokio::spawn(Reflector::new(source, Config::default(), 1).run(producer, stop.clone()));
        tokio::time::sleep(Duration::from_secs(5)).await;
        stop.cancel();
        tokio::time::timeout(Duration::from_millis(1), task).await.expect("it ends at once").unwrap();
    }
}

#[tokio::test]
async fn it_follows_over_real_connections_that_break() {
    let server = TestServer::builder().seed(5).start().await.unwrap();
    server.inject(Fault::cut_after(4000).on(Verb::Watch).with_probability(0.5).times(20));
    let source = KubeSource::all(server.client().unwrap(), &());
    let mut config = Config::default();
    config.backoff_initial = Duration::from_millis(1);
    config.backoff_max = Duration::from_millis(5);
    let mut follower = Follower::with_source(source, config);
    for _ in 0..20 {
        churn(&server, 50);
        follower.until_equal(&server).await;
    }
}
