//! What has gone wrong once.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube_informer::cache::{Cache, CacheError, CacheOptions, KindOptions, Missing, ObjectOptions, Query};
use kube_informer::fanout::Event;
use kube_testserver::{Fault, TestServer, Verb};
use parking_lot::Mutex;
use serde_json::json;

use super::{cache, config_maps, keys, server, set, three, watches, write};

fn nodes() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"))
}

fn node(server: &TestServer) {
    server.seed("{apiVersion: v1, kind: Node, metadata: {name: n1}}").unwrap();
}

fn config(name: &str, app: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "shop", "labels": {"app": app}}}))
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn change_of_namespaces_leaves_untyped_cluster_scoped_kinds_alone() {
    let server = server().await;
    node(&server);
    let cache = cache(&server, CacheOptions::new());
    let untyped = cache.kind_of::<DynamicObject>(&nodes());
    assert_eq!(untyped.list(&Query::new()).await.unwrap().len(), 1);
    cache.change(|options| options.namespaces(["shop"])).unwrap();
    let after = untyped.list(&Query::new()).await;
    assert_eq!(after.map(|list| list.len()), Ok(1));
}

#[tokio::test(start_paused = true)]
async fn typed_list_does_not_depend_on_who_read_the_kind_first() {
    let server = server().await;
    node(&server);
    let first = cache(&server, CacheOptions::new());
    assert_eq!(first.list::<Node>(&Query::new().namespace("x")).await.unwrap().len(), 1, "typed first");
    let second = cache(&server, CacheOptions::new());
    second.kind_of::<DynamicObject>(&nodes()).list(&Query::new()).await.unwrap();
    assert_eq!(second.list::<Node>(&Query::new().namespace("x")).await.unwrap().len(), 1, "untyped first");
}

#[tokio::test(start_paused = true)]
async fn a_pinned_namespace_leaves_cluster_scoped_kinds_alone() {
    let server = server().await;
    node(&server);
    three(&server);
    let cache =
        cache(&server, CacheOptions::new().objects(ObjectOptions::new().fields("metadata.namespace=shop")));
    assert_eq!(cache.list::<ConfigMap>(&Query::new()).await.unwrap().len(), 2);
    let found = cache.list::<Node>(&Query::new()).await;
    let paths: Vec<_> =
        server.requests().iter().map(|r| r.path.clone()).filter(|p| p.contains("nodes")).collect();
    assert!(found.is_ok(), "{found:?} {paths:?}");
}

fn mark() -> ObjectOptions {
    ObjectOptions::new().transform(|mut config: ConfigMap| {
        config.data.get_or_insert_default().insert("mark".into(), "1".into());
        config
    })
}

#[tokio::test(start_paused = true)]
async fn a_transform_can_be_taken_away() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().objects(mark()));
    assert!(cache.get::<ConfigMap>("shop", "a").await.unwrap().data.as_ref().unwrap().contains_key("mark"));
    cache.change(|options| options.objects(ObjectOptions::new().no_transform())).unwrap();
    assert!(!cache.get::<ConfigMap>("shop", "a").await.unwrap().data.as_ref().unwrap().contains_key("mark"));
}

#[tokio::test(start_paused = true)]
async fn namespaces_change_from_one_with_a_transform_to_all_without() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().namespace("shop", mark()));
    assert!(cache.get::<ConfigMap>("shop", "a").await.unwrap().data.as_ref().unwrap().contains_key("mark"));
    cache.change(CacheOptions::all_namespaces).unwrap();
    assert!(!cache.get::<ConfigMap>("shop", "a").await.unwrap().data.as_ref().unwrap().contains_key("mark"));
}

#[tokio::test(start_paused = true)]
async fn a_typed_handler_after_metadata_hears_whole_objects() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    cache.get::<PartialObjectMeta<ConfigMap>>("shop", "a").await.unwrap();
    let heard: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
    let log = Arc::clone(&heard);
    let informer = cache.kind::<ConfigMap>().informer_now().await.unwrap();
    let handler = informer
        .add_event_handler(move |event: Event<ConfigMap>| {
            log.lock().push((event.object().key().to_owned(), event.object().data.is_some()));
        })
        .unwrap();
    handler.synced().await;
    cache.kind::<ConfigMap>().informer().await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let heard = heard.lock();
    let last = |key: &str| heard.iter().rev().find(|(of, _)| of == key).map(|(_, whole)| *whole);
    assert_eq!(last("shop/a"), Some(true), "{heard:?}");
}

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";
fn widgets() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}
fn widget(server: &TestServer, namespace: &str, name: &str) {
    let text = format!(
        "{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: {name}, namespace: {namespace}}}}}"
    );
    server.seed(&text).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_definition_comes_back_in_several_namespaces() {
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    let names: Vec<String> = (0..4).map(|n| format!("ns{n}")).collect();
    names.iter().for_each(|name| widget(&server, name, "a"));
    let cache = cache(&server, CacheOptions::new().namespaces(names.clone()));
    let kind = cache.kind_of::<DynamicObject>(&widgets());
    assert_eq!(kind.list(&Query::new()).await.unwrap().len(), 4);
    server.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", "", "widgets.example.com").unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(kind.list(&Query::new()).await.is_err());
    server.seed(WIDGETS).unwrap();
    names.iter().for_each(|name| widget(&server, name, "b"));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let found = keys(kind.list(&Query::new()).await.unwrap());
    assert_eq!(found, set(["ns0/b", "ns1/b", "ns2/b", "ns3/b"]));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_died_does_not_keep_others_from_being_changed() {
    let server = server().await;
    three(&server);
    server.seed("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: bank}}").unwrap();
    let cache = cache(&server, CacheOptions::new());
    cache.list::<Secret>(&Query::new()).await.unwrap();
    cache.list::<ConfigMap>(&Query::new()).await.unwrap();
    cache
        .kind::<ConfigMap>()
        .add_index("bad", |c: &ConfigMap| -> Option<String> {
            assert!(c.metadata.name.as_deref() != Some("boom"), "an index function panics");
            None
        })
        .await
        .unwrap();
    write(&server, "shop", "boom", "x");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let changed = cache.change(|options| options.namespaces(["shop"]));
    let secrets = cache.list::<Secret>(&Query::new()).await.unwrap().len();
    assert_eq!((changed.is_ok(), secrets), (true, 0), "{changed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_of_a_delete_is_not_waited_for() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
    configs.delete("shop", "a", &dry).await.unwrap();
    assert!(server.object("v1/ConfigMap", "shop", "a").unwrap().is_some());
    let read = configs.get("shop", "a").await;
    assert!(read.is_ok(), "{read:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_made_and_deleted_stays_deleted() {
    let server = server().await;
    three(&server);
    let cache = Cache::new(server.client().unwrap());
    cache.start().unwrap();
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let mut came_back = 0;
    for round in 0..300 {
        let name = format!("x{round}");
        configs.create(&config(&name, "web")).await.unwrap();
        configs.delete("shop", &name, &DeleteParams::default()).await.unwrap();
        for _ in 0..300 {
            if configs.get("shop", &name).await.is_ok() {
                came_back += 1;
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(came_back, 0, "read after its delete, of 300");
}

#[tokio::test(start_paused = true)]
async fn what_was_made_and_deleted_is_not_seen_before_it_has_arrived() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let stalled = server.inject(Fault::no_reply().on(Verb::Watch));
    server.stop_watches();
    configs.create(&config("x", "web")).await.unwrap();
    configs.delete("shop", "x", &DeleteParams::default()).await.unwrap();
    let seen = configs.has_seen_writes();
    stalled.remove();
    assert!(!seen, "the copy has heard of neither write, so the ADDED of the object is still to come");
}

#[tokio::test(start_paused = true)]
async fn writing_does_not_start_a_kind_that_is_read_live() {
    let server = server().await;
    let live = KindOptions::new().missing(Missing::Live);
    let cache = cache(&server, CacheOptions::new().kind::<ConfigMap>(live));
    let configs = cache.client().kind::<ConfigMap>();
    configs.create(&config("x", "web")).await.unwrap();
    configs.get("shop", "x").await.unwrap();
    assert_eq!(watches(&server, "configmaps"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_typed_transform_does_not_cost_metadata_readers_their_objects() {
    #[derive(serde::Serialize, serde::Deserialize, Clone, Debug)]
    struct Spec {
        size: i32,
    }
    #[derive(serde::Serialize, serde::Deserialize, Clone, Debug)]
    struct Widget {
        metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
        spec: Spec,
    }
    impl kube_core::Resource for Widget {
        type DynamicType = ();
        type Scope = kube_core::NamespaceResourceScope;
        fn kind(_: &()) -> std::borrow::Cow<'_, str> {
            "Widget".into()
        }
        fn group(_: &()) -> std::borrow::Cow<'_, str> {
            "example.com".into()
        }
        fn version(_: &()) -> std::borrow::Cow<'_, str> {
            "v1".into()
        }
        fn plural(_: &()) -> std::borrow::Cow<'_, str> {
            "widgets".into()
        }
        fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
            &self.metadata
        }
        fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
            &mut self.metadata
        }
    }
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    server.seed("{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: shop}, spec: {size: 1}}").unwrap();
    let options = KindOptions::new().objects(ObjectOptions::new().transform(|widget: Widget| widget));
    let cache = cache(&server, CacheOptions::new().kind::<Widget>(options));
    let found = cache.list::<PartialObjectMeta<Widget>>(&Query::new()).await.unwrap().len();
    assert_eq!(found, 1, "{:?}", cache.status()[0].1.quarantined);
}

#[tokio::test]
async fn an_index_that_could_not_be_added_can_be_added_later() {
    let first_server = server().await;
    let (port, client) = (first_server.address().port(), first_server.client().unwrap());
    drop(first_server);
    let cache = Cache::with(client, CacheOptions::new().namespaces(["shop"])).unwrap();
    cache.start().unwrap();
    let kind = cache.kind_of::<DynamicObject>(&config_maps());
    let first = kind.add_index("name", |object: &DynamicObject| object.metadata.name.clone()).await;
    assert!(first.is_err(), "discovery has failed");
    let _server = TestServer::builder().port(port).start().await.unwrap();
    let second = kind.add_index("name", |object: &DynamicObject| object.metadata.name.clone()).await;
    assert!(second.is_ok(), "{first:?} {second:?}");
}

#[tokio::test(start_paused = true)]
async fn a_handler_syncs_when_what_could_not_is_wanted_no_more() {
    let server = server().await;
    three(&server);
    server.inject(Fault::reply(403).namespace("bank").resource("configmaps"));
    let cache = cache(&server, CacheOptions::new().namespaces(["shop", "bank"]));
    let informer = cache.kind::<ConfigMap>().informer_now().await.unwrap();
    let handler = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    cache.change(|options| options.namespaces(["shop"])).unwrap();
    assert_eq!(cache.list::<ConfigMap>(&Query::new()).await.unwrap().len(), 2);
    assert!(informer.has_synced());
    let synced = tokio::time::timeout(Duration::from_secs(3600), handler.synced()).await;
    assert!(synced.is_ok(), "the informer has synced, its handler never does");
}

#[tokio::test(start_paused = true)]
async fn untyped_cluster_scoped_writes_are_awaited_in_a_cache_of_a_namespace() {
    let server = server().await;
    node(&server);
    let cache = cache(&server, CacheOptions::new().namespaces(["shop"]));
    let untyped = cache.client().kind_of::<DynamicObject>(&nodes());
    untyped.get("", "n1").await.unwrap();
    server.inject(Fault::no_reply().on(Verb::Watch));
    server.stop_watches();
    untyped.create(&DynamicObject::new("m", &nodes())).await.unwrap();
    assert!(!untyped.has_seen_writes());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_takes_an_object_out_of_the_selector_is_read() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().objects(ObjectOptions::new().labels("app=web")));
    let configs = cache.client().kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    let patch = Patch::Merge(json!({"metadata": {"labels": {"app": "db"}}}));
    configs.patch("shop", "a", &PatchParams::default(), &patch).await.unwrap();
    let read = configs.get("shop", "a").await;
    assert!(read.is_err(), "the state before the write is read: {:?}", read.unwrap().metadata.labels);
}

#[test]
fn the_options_may_be_made_with_the_cache_at_hand() {
    let (sender, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let server = server().await;
            let cache = cache(&server, CacheOptions::new());
            cache
                .change(|options| {
                    drop(cache.kind::<ConfigMap>());
                    options
                })
                .unwrap();
        });
        let _ = sender.send(());
    });
    assert!(done.recv_timeout(Duration::from_secs(10)).is_ok(), "deadlock");
}

#[tokio::test(start_paused = true)]
async fn live_reads_are_like_others() {
    let server = server().await;
    three(&server);
    let live = cache(&server, CacheOptions::new().missing(Missing::Live));
    let kind = live.kind_of::<DynamicObject>(&config_maps());
    let mut wrong = Vec::new();
    if kind.list(&Query::new()).await.unwrap()[0].types.is_none() {
        wrong.push("items of a list have no kind".to_owned());
    }
    if !live.list::<ConfigMap>(&Query::new().limit(0)).await.unwrap().is_empty() {
        wrong.push("limit 0 is no limit".to_owned());
    }
    for name in ["", "a/../b", "a?x=y", "../../bank/configmaps/c"] {
        let got = kind.get("shop", name).await;
        if let Ok(got) = &got {
            wrong.push(format!("{name:?} found {:?} {:?}", got.key(), got.types));
        } else if !got.as_ref().unwrap_err().is_not_found() {
            wrong.push(format!("{name:?}: {}", got.unwrap_err()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn namespaces_of_an_untyped_cluster_scoped_kind_are_refused() {
    let server = server().await;
    node(&server);
    let options =
        CacheOptions::new().kind_of::<DynamicObject>(&nodes(), KindOptions::new().namespaces(["shop"]));
    let Ok(cache) = Cache::with(server.in_process_client(), options) else { return };
    cache.start().unwrap();
    let read = cache.kind_of::<DynamicObject>(&nodes()).list(&Query::new()).await;
    assert!(read.is_err(), "read without a word: {}", read.unwrap().len());
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_kind_that_is_removed_is_told_so() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    for fault in [Fault::no_reply(), Fault::reply(503)] {
        server.inject(fault.resource("configmaps"));
        let reader = cache.clone();
        let read = tokio::spawn(async move { reader.get::<ConfigMap>("shop", "a").await });
        tokio::time::sleep(Duration::from_secs(3)).await;
        server.clear_faults();
        cache.kind::<ConfigMap>().remove().await;
        let read = read.await.unwrap();
        assert_eq!(read.unwrap_err(), CacheError::Removed { resource: "configmaps".to_owned() });
        assert!(cache.get::<ConfigMap>("shop", "a").await.is_ok(), "and asks again");
        cache.kind::<ConfigMap>().remove().await;
    }
}

#[tokio::test(start_paused = true)]
async fn idle_does_not_turn_a_followed_kind_into_one_that_is_not_cached() {
    let server = server().await;
    three(&server);
    let options = CacheOptions::new().missing(Missing::Fail).idle(Duration::from_secs(60));
    let cache = cache(&server, options);
    cache.kind::<ConfigMap>().informer().await.unwrap();
    assert!(cache.get::<ConfigMap>("shop", "a").await.is_ok());
    tokio::time::sleep(Duration::from_secs(300)).await;
    let read = cache.get::<ConfigMap>("shop", "a").await;
    assert!(read.is_ok(), "{}", read.unwrap_err());
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_of_a_transform_that_changed() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let heard: Arc<Mutex<Vec<bool>>> = Arc::default();
    let log = Arc::clone(&heard);
    let informer = cache.kind::<ConfigMap>().informer().await.unwrap();
    let _handler = informer
        .add_event_handler(move |event: Event<ConfigMap>| {
            if event.object().key() == "shop/a" {
                log.lock().push(event.object().data.as_ref().is_some_and(|d| d.contains_key("mark")));
            }
        })
        .unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    cache.change(|options| options.objects(mark())).unwrap();
    cache.get::<ConfigMap>("shop", "a").await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let heard = heard.lock().clone();
    assert_eq!(heard.last(), Some(&true), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_index_function_panicked_is_read_as_it_is() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    cache
        .kind::<ConfigMap>()
        .add_index("bad", |c: &ConfigMap| -> Option<String> {
            assert!(c.metadata.name.as_deref() != Some("boom"), "an index function panics");
            None
        })
        .await
        .unwrap();
    cache.list::<ConfigMap>(&Query::new()).await.unwrap();
    write(&server, "shop", "boom", "x");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let read = cache.list::<ConfigMap>(&Query::new()).await.unwrap();
    assert!(keys(read).contains("shop/boom"), "the copy is current");
}

#[tokio::test(start_paused = true)]
async fn an_untyped_handler_after_metadata_hears_whole_objects() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    cache.get::<PartialObjectMeta<ConfigMap>>("shop", "a").await.unwrap();
    let heard: Arc<Mutex<Vec<bool>>> = Arc::default();
    let log = Arc::clone(&heard);
    let informer = super::dynamic(&cache).informer_now().await.unwrap();
    let _handler = informer
        .add_event_handler(move |event: Event<DynamicObject>| {
            if event.object().key() == "shop/a" {
                log.lock().push(event.object().data["data"].is_object());
            }
        })
        .unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let heard = heard.lock().clone();
    assert_eq!(heard.last(), Some(&true), "{heard:?}");
}
