//! What Prometheus is told about informers.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_informer::fanout::{Event, ListenerOptions};
use kube_informer::source::KubeSource;
use kube_informer::{Metrics, SharedInformer, SharedInformerFactory};
use kube_testserver::{Fault, TestServer, Verb};
use prometheus_client::registry::Registry;

use crate::support::Strict;
use crate::{server, write};

fn page(registry: &Registry) -> String {
    let mut page = String::new();
    prometheus_client::encoding::text::encode(&mut page, registry).unwrap();
    page
}

/// The value of a series; none if there is none.
fn value(page: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let is_it = |line: &&str| {
        line.split(['{', ' ']).next() == Some(name) && labels.iter().all(|label| line.contains(label))
    };
    page.lines().find(is_it).and_then(|line| line.rsplit(' ').next()?.parse().ok())
}

fn informer(server: &TestServer, metrics: &Metrics, name: &str) -> SharedInformer<ConfigMap> {
    let source = KubeSource::all(server.in_process_client(), &());
    SharedInformer::builder(source).name(name).metrics(metrics).build()
}

#[tokio::test(start_paused = true)]
async fn what_an_informer_does_can_be_read_under_the_names_of_client_go_and_more() {
    let server = server().await;
    write(&server, "a", 1);
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let informer = informer(&server, &metrics, "configs");
    let slow = ListenerOptions::new().name("slow").high_water(2);
    let unread = informer.subscribe_with(slow).unwrap();
    let quick = ListenerOptions::new().name("quick");
    informer.add_event_handler_with(|_: Event<ConfigMap>| {}, quick).unwrap();
    let before = page(&registry);
    assert_eq!(value(&before, "informer_synced", &[r#"name="configs""#]), Some(0.0));
    informer.start();
    assert!(informer.synced().await);
    let mut status = informer.watch_status();
    tokio::time::sleep(Duration::from_secs(10)).await;
    for round in 0..5 {
        write(&server, "b", round);
    }
    status.wait_for(|status| status.changes == 5).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.inject(Fault::expired().on(Verb::Watch).times(1));
    server.stop_watches();
    status.wait_for(|status| status.lists == 2).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;

    let page = page(&registry);
    let labels = r#"name="configs",group="",version="v1",resource="configmaps""#;
    let is = |name: &str, more: &str| value(&page, name, &[labels, more]);
    assert_eq!(is("informer_queued_items", ""), Some(0.0));
    let version: f64 = informer.status().resource_version.parse().unwrap();
    assert_eq!(is("informer_store_resource_version", ""), Some(version));
    assert!(is("informer_processing_latency_seconds_count", "").unwrap() >= 3.0, "{page}");
    assert!(page.contains(r#"le="0.001""#) && page.contains(r#"le="10.0""#), "{page}");
    assert_eq!((is("informer_objects", ""), is("informer_synced", "")), (Some(2.0), Some(1.0)));
    assert!(is("informer_packed_bytes", "").unwrap() > 100.0);
    assert_eq!(is("informer_received_bytes_total", ""), Some(informer.status().received_bytes as f64));
    assert_eq!(is("informer_seconds_since_last_byte", ""), Some(3.0));
    assert_eq!(is("informer_changes_total", ""), Some(5.0));
    assert!(is("informer_errors_total", "").unwrap() >= 1.0);
    assert_eq!(is("informer_relists_total", r#"reason="expired""#), Some(1.0));
    assert_eq!(is("informer_quarantined_objects", ""), Some(0.0));
    let slow = r#"handler="slow""#;
    assert_eq!(is("informer_handler_pending_events", slow), Some(2.0), "one for each object");
    assert!(is("informer_handler_oldest_pending_seconds", slow).unwrap() >= 15.0, "{page}");
    assert_eq!(is("informer_handler_coalesced_events_total", slow), Some(4.0));
    assert_eq!(is("informer_handler_events_total", r#"handler="quick""#), Some(6.0));
    assert_eq!(is("informer_handler_panics_total", slow), Some(0.0));
    drop(unread);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_stopped_or_dropped_leaves_no_series_behind() {
    let server = server().await;
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let (one, two) = (informer(&server, &metrics, "configs"), informer(&server, &metrics, "configs"));
    one.start();
    two.start();
    assert!(one.synced().await && two.synced().await);
    let shown = page(&registry);
    assert_eq!(value(&shown, "informer_synced", &[r#"name="configs""#]), Some(1.0));
    assert_eq!(value(&shown, "informer_synced", &[r#"name="configs-2""#]), Some(1.0));
    one.shutdown().await;
    assert!(!page(&registry).contains(r#"name="configs""#), "it is still held, but does nothing");
    drop((one, two));
    assert!(!page(&registry).contains("name="), "{}", page(&registry));
    let again = informer(&server, &metrics, "configs");
    assert!(page(&registry).contains(r#"name="configs""#), "the name is free again");
    drop(again);
}

#[tokio::test(start_paused = true)]
async fn a_factory_shows_all_its_informers_and_what_cannot_be_decoded() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    server.mutate("v1/ConfigMap", "default", "a", |object| object["data"]["value"] = "x".into()).unwrap();
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let factory =
        SharedInformerFactory::builder(server.in_process_client()).name("mine").metrics(&metrics).build();
    factory.of::<Secret>().unwrap();
    factory.of::<Strict>().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    let page = page(&registry);
    assert_eq!(value(&page, "informer_synced", &[r#"name="mine/secrets""#]), Some(1.0));
    assert_eq!(value(&page, "informer_quarantined_objects", &[r#"name="mine/configmaps""#]), Some(1.0));
}
