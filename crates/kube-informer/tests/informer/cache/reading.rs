//! Get and list.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_core::{DynamicObject, PartialObjectMeta};
use kube_informer::cache::{Cache, CacheError, CacheOptions, KindOptions, Missing, Query};
use kube_informer::object::Residency;
use kube_informer::selector::parse_labels;
use kube_testserver::{Fault, Verb};

use super::{all, cache, config_maps, dynamic, keys, of_config_maps, server, set, three, watches, write};
use crate::support::Strict;

#[tokio::test(start_paused = true)]
async fn a_kind_that_nobody_has_read_before_is_followed_and_read() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    assert_eq!(cache.get::<ConfigMap>("shop", "a").await.unwrap().name(), "a");
    assert_eq!(of_config_maps(&cache).await, set(["shop/a", "shop/b", "bank/c"]));
    assert_eq!(watches(&server, "configmaps"), 1);
    write(&server, "shop", "d", "web");
    let kind = cache.kind::<ConfigMap>();
    let mut status = kind.informer().await.unwrap().watch_status();
    status.wait_for(|status| status.objects == 4).await.unwrap();
    assert_eq!(cache.get::<ConfigMap>("shop", "d").await.unwrap().name(), "d");
}

#[tokio::test(start_paused = true)]
async fn one_watch_and_one_copy_serve_every_type() {
    let server = server().await;
    three(&server);
    for residency in [Residency::Packed, Residency::Decoded, Residency::default()] {
        server.clear_requests();
        let cache = cache(&server, CacheOptions::new().residency(residency));
        let typed = cache.get::<ConfigMap>("shop", "a").await.unwrap();
        let untyped = dynamic(&cache).get("shop", "a").await.unwrap();
        let metadata = cache.kind_of::<PartialObjectMeta>(&config_maps()).get("shop", "a").await.unwrap();
        let strict = cache.get::<Strict>("shop", "a").await.unwrap();
        assert_eq!(typed.data.as_ref().unwrap()["value"], "1");
        assert_eq!(untyped.data["data"]["value"], "1");
        assert_eq!(untyped.types.as_ref().unwrap().kind, "ConfigMap");
        assert_eq!(metadata.types.as_ref().unwrap().api_version, "v1");
        assert_eq!(metadata.metadata.labels.as_ref().unwrap()["app"], "web");
        assert_eq!(strict.data.value, 1);
        assert_eq!(untyped.resource_version(), typed.resource_version());
        assert_eq!(untyped.labels().get("app"), Some("web"));
        assert_eq!(watches(&server, "configmaps"), 1);
        assert_eq!(cache.status().len(), 1);
        assert!(typed.is_same(&cache.get::<ConfigMap>("shop", "a").await.unwrap()));
        cache.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_held_stays_decoded_and_is_shared() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().residency(Residency::Packed));
    let one = cache.get::<ConfigMap>("shop", "a").await.unwrap();
    let two = cache.get::<ConfigMap>("shop", "a").await.unwrap();
    assert!(std::ptr::eq(&*one, &*two), "the same value");
    drop((one, two));
    assert!(!cache.get::<ConfigMap>("shop", "a").await.unwrap().is_decoded(), "it went with its last holder");
}

#[tokio::test(start_paused = true)]
async fn only_metadata_is_asked_for_until_somebody_wants_more() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let metadata = cache.get::<PartialObjectMeta<ConfigMap>>("shop", "a").await.unwrap();
    assert_eq!(metadata.metadata.name.as_deref(), Some("a"));
    let informer = cache.kind::<PartialObjectMeta<ConfigMap>>().informer().await.unwrap();
    let mut events = informer.subscribe().unwrap();
    assert_eq!(watches(&server, "configmaps"), 1);
    let typed = cache.get::<ConfigMap>("shop", "a").await.unwrap();
    assert_eq!(typed.data.as_ref().unwrap()["value"], "1");
    assert_eq!(watches(&server, "configmaps"), 2);
    assert_eq!(cache.status().len(), 1, "one is followed");
    assert!(!informer.is_stopped());
    // Whoever listens hears nothing of it, and of what follows.
    write(&server, "shop", "d", "web");
    for _ in 0..3 {
        assert!(matches!(next(&mut events).await, kube_informer::fanout::Event::Added { initial: true, .. }));
    }
    let event = next(&mut events).await;
    assert!(matches!(&event, kube_informer::fanout::Event::Added { initial: false, .. }), "{event:?}");
    assert_eq!(event.object().key(), "shop/d");
}

async fn next<S: futures::Stream + Unpin>(events: &mut S) -> S::Item {
    tokio::time::timeout(crate::PATIENCE, futures::StreamExt::next(events)).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn lists_have_the_namespace_the_labels_and_the_indexes_that_are_asked_for() {
    let server = server().await;
    three(&server);
    write(&server, "bank", "d", "db");
    let cache = cache(&server, CacheOptions::new());
    let kind = cache.kind::<ConfigMap>();
    kind.add_index("app", |config: &ConfigMap| config.metadata.labels.as_ref()?.get("app").cloned())
        .await
        .unwrap();
    kind.add_index("letters", |config: &ConfigMap| {
        let name = config.metadata.name.clone().unwrap();
        vec![name.clone(), format!("{name}{name}")]
    })
    .await
    .unwrap();
    let list = async |query: Query| keys(cache.list::<ConfigMap>(&query).await.unwrap());
    let web = || parse_labels("app=web").unwrap();
    assert_eq!(list(Query::new().namespace("shop")).await, set(["shop/a", "shop/b"]));
    assert_eq!(list(Query::new().labels(web())).await, set(["shop/a", "bank/c"]));
    assert_eq!(list(Query::new().labels(web()).namespace("bank")).await, set(["bank/c"]));
    assert_eq!(list(Query::new().index("app", "db")).await, set(["shop/b", "bank/d"]));
    assert_eq!(list(Query::new().index("app", "db").namespace("bank")).await, set(["bank/d"]));
    assert_eq!(list(Query::new().index("letters", "cc")).await, set(["bank/c"]));
    assert_eq!(list(Query::new().index("app", "web").index("letters", "cc")).await, set(["bank/c"]));
    assert_eq!(list(Query::new().index("letters", "cc").index("app", "db")).await, set([]));
    assert_eq!(list(Query::new().index("app", "none")).await, set([]));
    assert_eq!(list(Query::new().limit(2)).await.len(), 2);
    assert_eq!(list(Query::new().limit(5).labels(web())).await.len(), 2);
    assert_eq!(list(Query::new().limit(1).labels(web())).await.len(), 1);
    assert_eq!(keys(dynamic(&cache).list(&Query::new().index("app", "db")).await.unwrap()).len(), 2);
    let error = cache.list::<ConfigMap>(&Query::new().index("colour", "red")).await.unwrap_err();
    assert_eq!(error.to_string(), "configmaps has no index with the name \"colour\"; add it with add_index");
}

#[tokio::test(start_paused = true)]
async fn an_index_may_be_added_before_the_start_and_once_for_each_name() {
    let server = server().await;
    three(&server);
    let cache = Cache::new(server.in_process_client());
    let app = |config: &ConfigMap| config.metadata.labels.as_ref()?.get("app").cloned();
    cache.kind::<ConfigMap>().add_index("app", app).await.unwrap();
    let again = cache.kind::<ConfigMap>().add_index("app", app).await.unwrap_err();
    assert!(again.to_string().contains("already an index with the name \"app\""), "{again}");
    assert_eq!(server.requests().len(), 0, "nothing is asked before the start");
    cache.start().unwrap();
    let web = cache.list::<ConfigMap>(&Query::new().index("app", "web")).await.unwrap();
    assert_eq!(keys(web), set(["shop/a", "bank/c"]));
    // It stays when the kind goes and comes back.
    assert!(cache.kind::<ConfigMap>().remove().await);
    let db = cache.list::<ConfigMap>(&Query::new().index("app", "db")).await.unwrap();
    assert_eq!(keys(db), set(["shop/b"]));
}

#[tokio::test(start_paused = true)]
async fn errors_are_told_apart() {
    let server = server().await;
    three(&server);
    let cache = Cache::new(server.in_process_client());
    assert_eq!(cache.get::<ConfigMap>("shop", "a").await.unwrap_err(), CacheError::NotStarted);
    assert_eq!(cache.list::<ConfigMap>(&Query::new()).await.unwrap_err(), CacheError::NotStarted);
    assert_eq!(cache.synced().await.unwrap_err(), CacheError::NotStarted);
    cache.start().unwrap();
    cache.start().expect("twice is as good as once");
    let none = cache.get::<ConfigMap>("shop", "z").await.unwrap_err();
    assert!(none.is_not_found());
    assert_eq!(none.to_string(), "configmaps \"shop/z\" not found");
    cache.shutdown().await;
    assert_eq!(cache.get::<ConfigMap>("shop", "a").await.unwrap_err(), CacheError::ShutDown);
    assert_eq!(cache.get::<Secret>("shop", "a").await.unwrap_err(), CacheError::ShutDown);
    assert_eq!(cache.start().unwrap_err(), CacheError::ShutDown);
}

#[tokio::test(start_paused = true)]
async fn a_read_does_not_wait_for_ever_and_says_what_is_wrong() {
    let server = server().await;
    three(&server);
    server.inject(Fault::no_reply().resource("secrets"));
    server.inject(Fault::reply(503).resource("namespaces"));
    let cache = cache(&server, CacheOptions::new().sync_timeout(Duration::from_secs(5)));
    let started = tokio::time::Instant::now();
    let silent = cache.get::<Secret>("shop", "a").await.unwrap_err();
    assert_eq!(silent.to_string(), "secrets did not arrive in 5 s");
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    let busy = cache.get::<Namespace>("", "shop").await.unwrap_err();
    assert!(matches!(&busy, CacheError::TimedOut { cause: Some(cause), .. } if cause.code == 503), "{busy}");
    assert_eq!(of_config_maps(&cache).await.len(), 3, "others are not held up");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_sync_is_an_error_with_the_cause_at_once() {
    let server = server().await;
    server.inject(Fault::reply(403).resource("secrets"));
    let cache = cache(&server, CacheOptions::new());
    let started = tokio::time::Instant::now();
    let error = cache.get::<Secret>("shop", "a").await.unwrap_err();
    assert!(
        matches!(&error, CacheError::CannotSync { resource, cause } if resource == "secrets" && cause.code == 403)
    );
    assert!(started.elapsed() < Duration::from_secs(1));
    let again = cache.synced().await.unwrap_err();
    assert_eq!(again, error);
    server.clear_faults();
    server.seed("{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}").unwrap();
    let mut status = cache.kind::<Secret>().informer_now().await.unwrap().watch_status();
    status.wait_for(|status| status.synced).await.unwrap();
    assert!(cache.get::<Secret>("shop", "a").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_read_of_what_nobody_follows_may_fail_or_ask_the_server() {
    let server = server().await;
    three(&server);
    let cache = cache(
        &server,
        CacheOptions::new()
            .missing(Missing::Fail)
            .kind::<Secret>(KindOptions::new().missing(Missing::Live))
            .kind::<Namespace>(KindOptions::new().missing(Missing::Start)),
    );
    let error = cache.get::<ConfigMap>("shop", "a").await.unwrap_err();
    assert_eq!(error, CacheError::NotCached { resource: "configmaps".to_owned() });
    assert_eq!(all::<ConfigMap>(&cache).await.unwrap_err(), error);
    // Whoever asks for the informer has it followed, and reads wait for it.
    let informer = cache.kind::<ConfigMap>().informer_now().await.unwrap();
    assert!(!informer.has_synced());
    assert_eq!(of_config_maps(&cache).await.len(), 3);
    assert!(cache.get::<Namespace>("ignored", "shop").await.is_ok());

    server
        .seed("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop, labels: {a: b}}}")
        .unwrap();
    assert_eq!(cache.get::<Secret>("shop", "s").await.unwrap().name(), "s");
    assert!(cache.get::<Secret>("shop", "t").await.unwrap_err().is_not_found());
    assert_eq!(all::<Secret>(&cache).await.unwrap(), set(["shop/s"]));
    let labelled = Query::new().namespace("shop").labels(parse_labels("a=c").unwrap());
    assert!(cache.list::<Secret>(&labelled).await.unwrap().is_empty());
    assert!(cache.list::<Secret>(&Query::new().index("x", "y")).await.is_err());
    assert_eq!(watches(&server, "secrets"), 0);
    server.inject(Fault::reply(500).on(Verb::Get).resource("secrets"));
    let failed = cache.get::<Secret>("shop", "s").await.unwrap_err();
    assert!(matches!(&failed, CacheError::Server { cause, .. } if cause.code == 500), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit_one_type_is_there_for_others() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let strict = cache.kind::<Strict>();
    let informer = strict.informer().await.unwrap();
    let mut events = informer.subscribe().unwrap();
    for _ in 0..3 {
        next(&mut events).await;
    }
    let set_value = |value: &'static str| {
        server.mutate("v1/ConfigMap", "shop", "a", |object| object["data"]["value"] = value.into()).unwrap();
    };
    set_value("no number");
    let event = next(&mut events).await;
    assert!(matches!(&event, kube_informer::fanout::Event::Deleted(gone) if gone.final_state_unknown()));
    let error = strict.get("shop", "a").await.unwrap_err();
    assert!(matches!(&error, CacheError::Unfit { key, .. } if key == "shop/a"), "{error}");
    assert_eq!(strict.list(&Query::new()).await.unwrap().len(), 2);
    assert_eq!(informer.unfit()[0].0, "shop/a");
    assert_eq!(
        cache.get::<ConfigMap>("shop", "a").await.unwrap().data.as_ref().unwrap()["value"],
        "no number"
    );
    set_value("7");
    let event = next(&mut events).await;
    assert!(matches!(&event, kube_informer::fanout::Event::Added { initial: false, .. }), "{event:?}");
    assert_eq!(strict.get("shop", "a").await.unwrap().data.value, 7);
    assert!(informer.unfit().is_empty());
}

#[tokio::test(start_paused = true)]
async fn kinds_are_found_by_the_names_that_people_use() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let found = cache.find("cm").await.unwrap();
    assert_eq!(found.resource(), "configmaps");
    assert_eq!(found.get("shop", "a").await.unwrap().types.as_ref().unwrap().kind, "ConfigMap");
    assert_eq!(cache.find("Namespace").await.unwrap().get("ignored", "shop").await.unwrap().name(), "shop");
    let unknown = cache.find("confgmaps").await.unwrap_err();
    assert!(unknown.to_string().contains("did you mean configmaps?"), "{unknown}");
    let list = kube_core::ApiResource::from_gvk(&kube_core::GroupVersionKind::gvk("", "v1", "ConfigMapList"));
    let error = cache.kind_of::<DynamicObject>(&list).get("shop", "a").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMapList is a list of objects, not a kind of them; ask for ConfigMap"
    );
}
