//! Functions of the program that panic: what they were called for goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::fanout::Event;
use kube_informer::informer::{Phase, SharedInformer};
use kube_informer::metrics::Metrics;
use kube_informer::reflector::{ListRequest, WatchRequest};
use kube_informer::source::{KubeSource, ListStream, ListWatch, SourceError, Want, WatchStream};
use kube_testserver::TestServer;
use prometheus_client::registry::Registry;

use crate::{caught_up, server, write};

/// Requests for all objects so far: lists, and watches that begin with everything. A list of one object is a probe.
fn lists(server: &TestServer) -> usize {
    let is_list = |one: &&kube_testserver::RequestRecord| {
        let is_watch = one.parameter("watch").is_some();
        let is_probe = one.parameter("limit").as_deref() == Some("1");
        (!is_watch && !is_probe) || one.parameter("sendInitialEvents").is_some()
    };
    server.requests().iter().filter(is_list).count()
}

/// An informer with a transform that panics the first `times` times that it sees an object.
fn panicking(server: &TestServer, name: &'static str, times: usize) -> SharedInformer<ConfigMap> {
    let left = AtomicUsize::new(times);
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    SharedInformer::builder(source)
        .seed(7)
        .transform(move |object: ConfigMap| {
            let is_it = object.metadata.name.as_deref() == Some(name);
            let panics =
                || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            assert!(!is_it || panics().is_err(), "on purpose");
            object
        })
        .build()
}

#[tokio::test(start_paused = true)]
async fn an_object_for_which_the_transform_panicked_is_tried_again_while_the_watch_is_open() {
    for at_first in [true, false] {
        let server = server().await;
        write(&server, "b", 1);
        let informer = panicking(&server, "a", 1);
        if at_first {
            write(&server, "a", 1);
        }
        informer.start();
        assert!(informer.synced().await);
        if !at_first {
            write(&server, "a", 1);
        }
        let mut status = informer.watch_status();
        status.wait_for(|status| status.quarantined.len() == 1).await.unwrap();
        let back = status.wait_for(|status| status.quarantined.is_empty());
        let back = tokio::time::timeout(Duration::from_secs(120), back).await;
        back.expect("it comes back though nothing has changed").unwrap();
        caught_up(&informer, &server).await;
        let asked = lists(&server);
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(lists(&server), asked, "there is nothing to try again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_always_panics_is_tried_again_ever_more_rarely_and_counted() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    let informer = panicking(&server, "a", usize::MAX);
    informer.start();
    assert!(informer.synced().await);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let first = lists(&server);
    assert!((5..=15).contains(&first), "{first} in the first hour");
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    let day = lists(&server) - first;
    assert!((20..=60).contains(&day), "{day} in a day");
    let status = informer.status();
    assert!(status.quarantined.contains_key("default/a") && status.trouble.is_none(), "{status:?}");
    let counted: u64 =
        status.relists.iter().filter(|(why, _)| why.as_str() == "panicked").map(|(_, count)| *count).sum();
    assert_eq!(counted, (first + day - 1) as u64, "{:?}", status.relists);
    // All others are followed.
    write(&server, "c", 1);
    let mut status = informer.watch_status();
    let there = status.wait_for(|status| status.objects == 2);
    tokio::time::timeout(Duration::from_secs(60), there).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit_its_type_is_not_asked_for_again() {
    let server = server().await;
    write(&server, "a", 1);
    server.mutate("v1/ConfigMap", "default", "a", |object| object["data"]["value"] = "x".into()).unwrap();
    let informer =
        SharedInformer::<crate::support::Strict>::new(KubeSource::all(server.in_process_client(), &()));
    informer.start();
    assert!(informer.synced().await);
    let asked = lists(&server);
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    assert_eq!(lists(&server), asked);
}

/// By the value, but one.
fn clumsy(object: &ConfigMap) -> Option<String> {
    let value = object.data.as_ref()?.get("value")?;
    assert!(value != "13", "what is {value}?");
    Some(value.clone())
}

#[tokio::test(start_paused = true)]
async fn an_index_function_that_panics_leaves_the_object_out_and_stops_nothing() {
    let server = server().await;
    for (name, value) in [("a", 1), ("b", 13), ("c", 1)] {
        write(&server, name, value);
    }
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let informer = SharedInformer::builder(source).metrics(&metrics).build();
    let before = informer.add_index("before", clumsy).unwrap();
    informer.start();
    assert!(informer.synced().await);
    let after = informer.add_index("after", clumsy).unwrap();
    let names = |index: &kube_informer::store::Index<ConfigMap>, value: &str| {
        let mut names: Vec<String> = index.get(value).iter().map(|object| object.name().to_owned()).collect();
        names.sort();
        names
    };
    for index in [&before, &after] {
        assert_eq!(names(index, "1"), ["a", "c"]);
        assert_eq!(index.values(), ["1"]);
    }
    assert_eq!(informer.store().list().len(), 3, "it is there, by its key");
    write(&server, "a", 13);
    write(&server, "b", 1);
    caught_up(&informer, &server).await;
    for index in [&before, &after] {
        assert_eq!(names(index, "1"), ["b", "c"], "one has come, and one has gone");
    }
    let status = informer.status();
    assert_eq!(status.phase, Phase::Running);
    let told: Vec<_> = status.indexes.iter().map(|index| (index.name.as_str(), index.panics)).collect();
    assert_eq!(told, [("before", 2), ("after", 2)]);
    assert!(!format!("{:?}", status.indexes).contains("13"), "no value is told");
    let mut page = String::new();
    prometheus_client::encoding::text::encode(&mut page, &registry).unwrap();
    let series = page.lines().filter(|line| line.starts_with("informer_index_panics_total{"));
    let counts: Vec<_> = series.map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert_eq!(counts, ["2", "2"], "{page}");
    assert!(page.contains(r#"index="after""#), "{page}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_source_stops_the_informer_and_says_why() {
    struct Broken;
    impl ListWatch<ConfigMap> for Broken {
        fn list<'a>(
            &'a self,
            _: &'a ListRequest,
            _: &'a Arc<Want<ConfigMap>>,
        ) -> BoxFuture<'a, Result<ListStream<ConfigMap>, SourceError>> {
            panic!("on purpose")
        }

        fn watch<'a>(
            &'a self,
            _: &'a WatchRequest,
            _: &'a Arc<Want<ConfigMap>>,
        ) -> BoxFuture<'a, Result<WatchStream<ConfigMap>, SourceError>> {
            panic!("on purpose")
        }
    }
    let informer = SharedInformer::<ConfigMap>::new(Broken);
    let registration = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    informer.start();
    assert!(!informer.synced().await);
    let trouble = informer.status().trouble.unwrap();
    assert!(trouble.error.message.contains("on purpose"), "{}", trouble.error);
    registration.ended().await;
    assert!(informer.is_stopped() && informer.status().phase == Phase::Stopped);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_hook_that_panics_stops_nothing() {
    let server = server().await;
    let fault = server.inject(kube_testserver::Fault::reply(500));
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let informer = SharedInformer::builder(source)
        .on_error(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        })
        .build();
    informer.start();
    tokio::time::sleep(Duration::from_secs(60)).await;
    fault.remove();
    let synced = tokio::time::timeout(Duration::from_secs(3600), informer.synced()).await;
    assert!(synced.expect("it goes on"));
    assert!(calls.load(Ordering::Relaxed) > 2);
    let (_, last) = informer.status().last_error.expect("it is told");
    assert!(last.message.contains("hook"), "{last}");
}
