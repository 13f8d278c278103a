//! Servers that were restored from a backup: their resource versions begin again, and stand for other content.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::GroupVersionResource;
use kube_core::params::{Patch, PatchParams};
use kube_informer::SharedInformerFactory;
use kube_informer::cache::{Cache, CacheError, CacheOptions};
use kube_informer::fanout::Event;
use kube_informer::informer::SharedInformer;
use kube_informer::object::Residency;
use kube_informer::reflector::Reason;
use kube_informer::source::KubeSource;
use kube_informer::store::{EpochEnded, Store, Version};
use kube_testserver::{Backup, Fault, TestServer, Verb};
use serde_json::json;

use super::{PATIENCE, caught_up, in_store, on_server, write};

/// `a` and `b`, which the backup has.
async fn backed_up(watch_list: bool) -> (TestServer, Backup) {
    let server = TestServer::builder().watch_list(watch_list).start().await.unwrap();
    write(&server, "a", 1);
    write(&server, "b", 1);
    let backup = server.backup();
    (server, backup)
}

/// Goes back to a backup, and writes `a` at the same version as before, with other content.
fn restore(server: &TestServer, backup: &Backup) {
    let version = |name: &str| on_server(server).get(&format!("default/{name}")).cloned();
    let before = version("a");
    server.restore(backup, 0);
    write(server, "a", 1_000);
    assert_eq!(version("a"), before, "other content at the same version");
}

fn value(store: &Store<ConfigMap>, name: &str) -> Option<String> {
    store.get("default", name).map(|object| object.data.as_ref().unwrap()["value"].clone())
}

/// Waits until a store has the content that was written after the restore.
async fn has_restored(store: &Store<ConfigMap>) {
    let wait = async {
        while value(store, "a").as_deref() != Some("1000") {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("the restored content comes");
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_content_of_a_restored_server_replaces_what_had_its_versions_before() {
    for (watch_list, storage) in [
        (true, Residency::default()),
        (true, Residency::Decoded),
        (false, Residency::default()),
        (false, Residency::Packed),
    ] {
        let (server, backup) = backed_up(watch_list).await;
        let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
        let informer = SharedInformer::builder(source).residency(storage).build();
        let (told, hear) = std::sync::mpsc::channel();
        let handler = move |event: Event<ConfigMap>| {
            if let Event::Updated { old, new, resync: false } = event {
                let value = |object: &ConfigMap| object.data.as_ref().unwrap()["value"].clone();
                drop(told.send((new.name().to_owned(), value(&old), value(&new))));
            }
        };
        informer.add_event_handler(handler).unwrap();
        informer.start();
        assert!(informer.synced().await);
        write(&server, "a", 2);
        write(&server, "c", 2);
        write(&server, "d", 2);
        caught_up(&informer, &server).await;
        let before = informer.store().resource_version().unwrap();
        let waiting = {
            let store = informer.store().clone();
            tokio::spawn(async move { store.wait_until(&version("1000")).await })
        };

        restore(&server, &backup);
        has_restored(informer.store()).await;
        caught_up(&informer, &server).await;
        assert_eq!(in_store(&informer).keys().collect::<Vec<_>>(), ["default/a", "default/b"]);
        assert_eq!(waiting.await.unwrap(), Err(EpochEnded { waited_for: version("1000") }));
        let status = informer.status();
        assert_eq!((status.epoch, informer.store().epoch()), (1, 1));
        assert_eq!(status.relists.get(&Reason::VersionWentBack), Some(&1), "{:?}", status.relists);
        assert_eq!(status.trouble, None);
        assert!(informer.store().resource_version().unwrap() < before);
        let later = tokio::time::timeout(Duration::from_secs(60), informer.store().wait_until(&before)).await;
        assert!(later.is_err(), "that version of this epoch has not been seen");
        informer.shutdown().await;
        let heard: Vec<_> = hear.try_iter().filter(|(name, ..)| name == "a").collect();
        let update = |old: &str, new: &str| ("a".to_owned(), old.to_owned(), new.to_owned());
        assert_eq!(heard, [update("1", "2"), update("2", "1000")]);
    }
}

#[tokio::test(start_paused = true)]
async fn versions_that_were_bumped_go_on() {
    let (server, backup) = backed_up(true).await;
    let informer = SharedInformer::new(KubeSource::<ConfigMap>::all(server.in_process_client(), &()));
    informer.start();
    assert!(informer.synced().await);
    write(&server, "a", 2);
    write(&server, "c", 2);
    caught_up(&informer, &server).await;
    server.restore(&backup, 1_000_000);
    write(&server, "a", 1_000);
    has_restored(informer.store()).await;
    caught_up(&informer, &server).await;
    let status = informer.status();
    assert_eq!((status.epoch, status.relists.get(&Reason::Expired)), (0, Some(&1)), "{:?}", status.relists);
    assert_eq!(value(informer.store(), "b").as_deref(), Some("1"));
    assert_eq!(value(informer.store(), "c"), None);
}

#[tokio::test(start_paused = true)]
async fn a_typed_view_of_an_untyped_informer_has_the_content_of_the_restored_server() {
    let (server, backup) = backed_up(true).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let generic = factory.for_resource(&GroupVersionResource::gvr("", "v1", "configmaps")).unwrap();
    let typed = factory.of::<ConfigMap>().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    write(&server, "a", 2);
    write(&server, "c", 2);
    caught_up(&typed, &server).await;
    restore(&server, &backup);
    has_restored(typed.store()).await;
    caught_up(&typed, &server).await;
    assert_eq!((generic.status().epoch, typed.status().epoch), (1, 1));
    write(&server, "c", 3);
    caught_up(&typed, &server).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_written_before_the_restore_is_not_waited_for() {
    let (server, backup) = backed_up(true).await;
    let cache = super::cache::cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("default", "a").await.unwrap();
    write(&server, "c", 1);
    write(&server, "c", 2);
    tokio::time::sleep(Duration::from_secs(180)).await;
    // The copy does not hear of the write before the restore.
    server.inject(Fault::delay(Duration::from_secs(30)).on(Verb::Watch));
    server.stop_watches();
    let patch = Patch::Merge(json!({"data": {"value": "lost"}}));
    for _ in 0..3 {
        configs.patch("default", "a", &PatchParams::default(), &patch).await.unwrap();
    }
    assert!(!configs.has_seen_writes());
    server.restore(&backup, 0);
    server.clear_faults();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(configs.get("default", "a").await.unwrap().data.as_ref().unwrap()["value"], "1");
    assert!(configs.has_seen_writes());
}

/// A cache that hears of nothing for half a minute, on a server that was restored: `a` has a lower version than in the copy.
async fn restored_unheard() -> (TestServer, Cache) {
    let (server, backup) = backed_up(true).await;
    let cache = super::cache::cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("default", "a").await.unwrap();
    for _ in 0..5 {
        configs.patch("default", "a", &PatchParams::default(), &data("before")).await.unwrap();
        write(&server, "a", 5);
    }
    configs.get("default", "a").await.unwrap();
    server.inject(Fault::delay(Duration::from_secs(30)).on(Verb::Watch));
    server.inject(Fault::delay(Duration::from_secs(30)).on(Verb::List));
    server.stop_watches();
    server.restore(&backup, 0);
    (server, cache)
}

fn data(value: &str) -> Patch<serde_json::Value> {
    Patch::Merge(json!({"data": {"value": value}}))
}

fn is_not_seen<T>(read: &Result<T, CacheError>) -> bool {
    matches!(read, Err(CacheError::WriteNotSeen { .. }))
}

#[tokio::test(start_paused = true)]
async fn what_was_written_after_the_restore_is_read_and_not_what_the_copy_had_before() {
    let (_server, cache) = restored_unheard().await;
    let configs = cache.client().kind::<ConfigMap>();
    let epoch = async || cache.kind::<ConfigMap>().informer().await.unwrap().status().epoch;
    configs.patch("default", "a", &PatchParams::default(), &data("after")).await.unwrap();
    assert!(!configs.has_seen_writes(), "the copy has a higher version of another epoch");
    assert!(is_not_seen(&configs.get("default", "a").await));
    assert_eq!(epoch().await, 0);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(configs.get("default", "a").await.unwrap().data.as_ref().unwrap()["value"], "after");
    assert!(configs.has_seen_writes());
    assert_eq!(epoch().await, 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_created_after_the_restore_is_read_though_the_copy_had_reached_its_version() {
    let (_server, cache) = restored_unheard().await;
    let configs = cache.client().kind::<ConfigMap>();
    let mut object = ConfigMap::default();
    (object.metadata.name, object.metadata.namespace) = (Some("new".to_owned()), Some("default".to_owned()));
    configs.create(&object).await.unwrap();
    assert!(!configs.has_seen_writes());
    assert!(is_not_seen(&configs.get("default", "new").await));
    tokio::time::sleep(Duration::from_secs(60)).await;
    configs.get("default", "new").await.unwrap();
    assert!(configs.has_seen_writes());
}

#[tokio::test(start_paused = true)]
async fn an_epoch_that_a_write_has_proven_begins_also_if_the_server_has_passed_the_copy() {
    let (server, cache) = restored_unheard().await;
    let configs = cache.client().kind::<ConfigMap>();
    configs.patch("default", "a", &PatchParams::default(), &data("after")).await.unwrap();
    for value in 0..50 {
        write(&server, "b", value);
    }
    // At a version that the copy could have come to.
    configs.patch("default", "a", &PatchParams::default(), &data("later")).await.unwrap();
    assert!(is_not_seen(&configs.get("default", "a").await));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let read = configs.get("default", "a").await.unwrap();
    assert_eq!(read.data.as_ref().unwrap()["value"], "later");
    assert!(configs.has_seen_writes());
    let status = cache.kind::<ConfigMap>().informer().await.unwrap().status();
    assert_eq!((status.epoch, status.trouble), (1, None));
    // The copy is followed as before.
    write(&server, "b", 51);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(cache.get::<ConfigMap>("default", "b").await.unwrap().data.as_ref().unwrap()["value"], "51");
}

#[tokio::test(start_paused = true)]
async fn an_epoch_that_is_due_is_not_forgotten_when_something_else_is_followed() {
    let (server, cache) = restored_unheard().await;
    let configs = cache.client().kind::<ConfigMap>();
    configs.patch("default", "a", &PatchParams::default(), &data("after")).await.unwrap();
    for value in 0..50 {
        write(&server, "b", value);
    }
    cache.change(|options| options.namespaces(["default", "other"])).unwrap();
    assert!(is_not_seen(&configs.get("default", "a").await));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(configs.get("default", "a").await.unwrap().data.as_ref().unwrap()["value"], "after");
    assert!(configs.has_seen_writes());
}

#[tokio::test(start_paused = true)]
async fn writes_that_change_nothing_and_writes_of_others_prove_no_restore() {
    let server = TestServer::start().await.unwrap();
    write(&server, "a", 1);
    write(&server, "b", 1);
    let cache = super::cache::cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("default", "a").await.unwrap();
    for value in 2..20 {
        write(&server, "b", value);
        tokio::time::sleep(Duration::from_secs(1)).await;
        // Not changed, at a version that the copy has long passed.
        configs.patch("default", "a", &PatchParams::default(), &data("1")).await.unwrap();
        // The copy has a later write of another client before the answer to this one comes.
        server.inject(Fault::hang_after(0).on(Verb::Update).times(1));
        let mut object = ConfigMap::clone(&configs.get("default", "b").await.unwrap());
        object.metadata.resource_version = None;
        let replaced = tokio::time::timeout(Duration::from_secs(3), configs.replace(&object));
        let later = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            write(&server, "b", 100 + value);
        };
        assert!(tokio::join!(replaced, later).0.is_err(), "it is uncertain");
        configs.get("default", "b").await.unwrap();
    }
    assert!(configs.has_seen_writes());
    let status = cache.kind::<ConfigMap>().informer().await.unwrap().status();
    assert_eq!((status.epoch, status.lists), (0, 1));
}
