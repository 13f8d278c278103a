//! Namespaces, selectors and kinds that come and go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_informer::cache::{CacheError, CacheOptions, KindOptions, ObjectOptions, Query};
use kube_informer::fanout::Event;
use kube_testserver::TestServer;
use parking_lot::Mutex;

use super::{cache, keys, of_config_maps, server, set, three, watches, write};

/// What is there, as a handler hears it.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<BTreeSet<String>>>);

impl Heard {
    fn handler<K: Send + Sync + 'static>(&self) -> impl FnMut(Event<K>) + Send + use<K> {
        let heard = self.clone();
        move |event| {
            let key = event.object().key().to_owned();
            let mut known = heard.0.lock();
            match event {
                Event::Added { .. } => assert!(known.insert(key), "twice"),
                Event::Updated { .. } => assert!(known.contains(&key), "never added"),
                Event::Deleted(_) => assert!(known.remove(&key), "never added"),
                _ => panic!("something new"),
            }
        }
    }

    async fn becomes(&self, wanted: BTreeSet<String>) {
        tokio::time::timeout(crate::PATIENCE, async {
            while *self.0.lock() != wanted {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("{:?} is not {wanted:?}", self.0.lock()));
    }
}

#[tokio::test(start_paused = true)]
async fn namespaces_can_be_changed_and_listeners_hear_what_that_means() {
    let server = server().await;
    three(&server);
    write(&server, "post", "d", "db");
    let cache = cache(&server, CacheOptions::new().namespaces(["shop"]));
    let heard = Heard::default();
    let informer = cache.kind::<ConfigMap>().informer().await.unwrap();
    let registration = informer.add_event_handler(heard.handler()).unwrap();
    heard.becomes(set(["shop/a", "shop/b"])).await;

    cache.change(|options| options.namespaces(["shop", "bank"])).unwrap();
    assert_eq!(of_config_maps(&cache).await, set(["shop/a", "shop/b", "bank/c"]));
    heard.becomes(set(["shop/a", "shop/b", "bank/c"])).await;
    assert_eq!(watches(&server, "configmaps"), 2, "what stays is not asked for again");
    write(&server, "bank", "e", "web");
    heard.becomes(set(["shop/a", "shop/b", "bank/c", "bank/e"])).await;

    cache.change(|options| options.namespaces(["bank"])).unwrap();
    assert_eq!(of_config_maps(&cache).await, set(["bank/c", "bank/e"]));
    heard.becomes(set(["bank/c", "bank/e"])).await;
    assert!(cache.get::<ConfigMap>("shop", "a").await.is_err());

    cache.change(CacheOptions::all_namespaces).unwrap();
    let everything = set(["shop/a", "shop/b", "bank/c", "bank/e", "post/d"]);
    assert_eq!(of_config_maps(&cache).await, everything);
    heard.becomes(everything).await;

    cache.change(|options| options.objects(ObjectOptions::new().labels("app=web"))).unwrap();
    assert_eq!(of_config_maps(&cache).await, set(["shop/a", "bank/c", "bank/e"]));
    heard.becomes(set(["shop/a", "bank/c", "bank/e"])).await;
    cache
        .change(|options| {
            let all_but = KindOptions::new().namespace("", ObjectOptions::new().labels("app=db"));
            options.kind::<ConfigMap>(all_but.namespace("bank", ObjectOptions::new().labels("")))
        })
        .unwrap();
    assert_eq!(of_config_maps(&cache).await, set(["shop/b", "bank/c", "bank/e", "post/d"]));
    heard.becomes(set(["shop/b", "bank/c", "bank/e", "post/d"])).await;
    assert_eq!(registration.status().panics, 0);
    let refused = cache.change(|options| options.objects(ObjectOptions::new().labels("a=b=c")));
    assert!(matches!(refused, Err(CacheError::Selector(_))));
    assert_eq!(of_config_maps(&cache).await.len(), 4, "nothing has changed");
}

#[tokio::test(start_paused = true)]
async fn a_transform_can_be_changed() {
    let server = server().await;
    three(&server);
    let mark = |text: &'static str| {
        ObjectOptions::new().transform(move |mut config: ConfigMap| {
            config.data.get_or_insert_default().insert("mark".into(), text.into());
            config
        })
    };
    let cache = cache(&server, CacheOptions::new().objects(mark("one")));
    let marked =
        async || cache.get::<ConfigMap>("shop", "a").await.unwrap().data.as_ref().unwrap()["mark"].clone();
    assert_eq!(marked().await, "one");
    cache.change(|options| options.objects(mark("two"))).unwrap();
    assert_eq!(marked().await, "two");
}

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

fn widgets() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

fn widget(server: &TestServer, name: &str) {
    server
        .seed(&format!(
            "{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: {name}, namespace: shop}}}}"
        ))
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_goes_with_its_definition_and_comes_back_with_listeners_and_indexes() {
    let server = server().await;
    server.seed(WIDGETS).unwrap();
    widget(&server, "a");
    widget(&server, "b");
    let cache = cache(&server, CacheOptions::new());
    let kind = cache.kind_of::<DynamicObject>(&widgets());
    kind.add_index("name", |object: &DynamicObject| object.metadata.name.clone()).await.unwrap();
    let heard = Heard::default();
    let informer = kind.informer().await.unwrap();
    let registration = informer.add_event_handler(heard.handler()).unwrap();
    heard.becomes(set(["shop/a", "shop/b"])).await;

    // Nobody sees its objects go.
    let watched = server.inject(kube_testserver::Fault::no_reply().resource("widgets"));
    server.stop_watches();
    server.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", "", "widgets.example.com").unwrap();
    watched.remove();
    server.clear_faults();
    heard.becomes(set([])).await;
    let error = kind.get("shop", "a").await.unwrap_err();
    assert!(matches!(&error, CacheError::CannotSync { cause, .. } if cause.code == 404), "{error}");

    server.seed(WIDGETS).unwrap();
    widget(&server, "c");
    heard.becomes(set(["shop/c"])).await;
    assert_eq!(keys(kind.list(&Query::new().index("name", "c")).await.unwrap()), set(["shop/c"]));
    assert!(!informer.is_stopped());
    assert_eq!(registration.status().panics, 0);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_nobody_needs_is_stopped_if_that_is_asked_for() {
    let server = server().await;
    three(&server);
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let cache = cache(&server, CacheOptions::new().idle(Duration::from_secs(60)));
    cache.kind::<ConfigMap>().add_index("name", |c: &ConfigMap| c.metadata.name.clone()).await.unwrap();
    cache.get::<ConfigMap>("shop", "a").await.unwrap();
    cache.list::<Secret>(&Query::new()).await.unwrap();
    let held = cache.kind::<Secret>().informer().await.unwrap();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(30)).await;
        cache.get::<ConfigMap>("shop", "a").await.unwrap();
    }
    assert_eq!(cache.status().len(), 2, "one is read, and one is held");
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert_eq!(cache.status().len(), 1);
    assert!(!held.is_stopped());
    let found = cache.list::<ConfigMap>(&Query::new().index("name", "a")).await.unwrap();
    assert_eq!(keys(found), set(["shop/a"]), "it comes back when it is read, with its indexes");
    let handler = held.add_event_handler(|_: Event<Secret>| {}).unwrap();
    drop(held);
    tokio::time::sleep(Duration::from_secs(500)).await;
    let left: Vec<String> = cache.status().into_iter().map(|(resource, _)| resource.resource).collect();
    assert_eq!(left, ["secrets"], "somebody listens");
    handler.remove();
    tokio::time::sleep(Duration::from_secs(500)).await;
    assert!(cache.status().is_empty());
    cache.shutdown().await;
    drop(cache);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(tokio::runtime::Handle::current().metrics().num_alive_tasks() <= before);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_was_removed_is_followed_anew_when_it_is_asked_for() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let kind = cache.kind::<ConfigMap>();
    assert!(!kind.remove().await, "nobody follows it");
    let heard = Heard::default();
    let informer = kind.informer().await.unwrap();
    informer.add_event_handler(heard.handler()).unwrap();
    heard.becomes(set(["shop/a", "shop/b", "bank/c"])).await;
    assert!(kind.remove().await);
    assert!(informer.is_stopped() && informer.add_event_handler(|_: Event<ConfigMap>| {}).is_err());
    write(&server, "shop", "d", "web");
    assert_eq!(of_config_maps(&cache).await.len(), 4);
    assert_eq!(heard.0.lock().len(), 3, "its listeners went with it");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_cache_leaves_no_task_behind() {
    let server = server().await;
    three(&server);
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let cache = cache(&server, CacheOptions::new().idle(Duration::from_secs(60)));
    cache.get::<ConfigMap>("shop", "a").await.unwrap();
    drop(cache);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn informers_end_with_the_last_handle_to_their_cache() {
    let server = server().await;
    three(&server);
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let cache = cache(&server, CacheOptions::new());
    let kind = cache.kind::<ConfigMap>();
    let informer = kind.informer().await.unwrap();
    let mut events = informer.subscribe().unwrap();
    let handler = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    handler.synced().await;
    drop(cache);
    assert!(!informer.is_stopped(), "a kind is a handle to its cache too");
    drop(kind);
    assert!(informer.is_stopped() && informer.add_event_handler(|_: Event<ConfigMap>| {}).is_err());
    handler.ended().await;
    let ended = async { while futures::StreamExt::next(&mut events).await.is_some() {} };
    tokio::time::timeout(crate::PATIENCE, ended).await.expect("the stream ends");
    // It holds the client, which has a task of its own.
    drop(informer);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
}
