//! Servers that were restored from a backup: their resource versions begin again, and stand for other content.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::GroupVersionResource;
use kube_core::params::{Patch, PatchParams};
use kube_informer::SharedInformerFactory;
use kube_informer::cache::CacheOptions;
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
