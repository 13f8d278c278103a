//! Reading one's own writes.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_core::DynamicObject;
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_informer::cache::{CacheError, CacheOptions, ObjectOptions, Query, WRITE_TIMEOUT};
use kube_testserver::{Fault, Verb};
use serde_json::json;

use super::{cache, config_maps, server, three};

fn config(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}}, "data": {"value": value},
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_was_written_is_read() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().field_manager("me").kind::<ConfigMap>();
    assert!(configs.get("shop", "a").await.is_ok());
    for round in 0..20 {
        let name = format!("n{round}");
        let mut object = configs.create(&config(&name, "1")).await.unwrap();
        let read = configs.get("shop", &name).await.unwrap();
        assert_eq!(Some(read.resource_version()), object.metadata.resource_version.as_deref());
        object.data.as_mut().unwrap().insert("value".into(), "2".into());
        configs.replace(&object).await.unwrap();
        assert_eq!(configs.get("shop", &name).await.unwrap().data.as_ref().unwrap()["value"], "2");
        let patch = Patch::Merge(json!({"data": {"value": "3"}}));
        configs.patch("shop", &name, &PatchParams::default(), &patch).await.unwrap();
        let listed = configs.list(&Query::new().namespace("shop")).await.unwrap();
        let listed = listed.iter().find(|object| object.name() == name).unwrap();
        assert_eq!(listed.data.as_ref().unwrap()["value"], "3");
        configs.delete("shop", &name, &DeleteParams::default()).await.unwrap();
        assert!(configs.get("shop", &name).await.unwrap_err().is_not_found());
        assert!(configs.has_seen_writes());
    }
    let conflict = configs.create(&config("a", "1")).await.unwrap_err();
    assert!(matches!(&conflict, CacheError::Server { cause, .. } if cause.code == 409), "{conflict}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_made_anew_under_its_name_is_not_taken_for_the_old_one() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    let first = configs.create(&config("x", "1")).await.unwrap();
    configs.get("shop", "x").await.unwrap();
    configs.delete("shop", "x", &DeleteParams::default()).await.unwrap();
    let second = configs.create(&config("x", "2")).await.unwrap();
    let read = configs.get("shop", "x").await.unwrap();
    assert_ne!(first.metadata.uid, second.metadata.uid);
    assert_eq!(Some(read.uid()), second.metadata.uid.as_deref());
}

#[tokio::test(start_paused = true)]
async fn an_object_with_finalizers_is_read_as_being_deleted() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    let mut object = config("x", "1");
    object.metadata.finalizers = Some(vec!["example.com/wait".to_owned()]);
    configs.create(&object).await.unwrap();
    configs.delete("shop", "x", &DeleteParams::default()).await.unwrap();
    assert!(configs.get("shop", "x").await.unwrap().metadata.deletion_timestamp.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_does_not_arrive_is_an_error_after_a_while() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let client = cache.client().patience(Duration::from_secs(3));
    let configs = client.kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    server.inject(Fault::no_reply().on(Verb::Watch));
    server.stop_watches();
    let written = configs.create(&config("x", "1")).await.unwrap();
    assert!(!configs.has_seen_writes());
    let started = tokio::time::Instant::now();
    let error = configs.get("shop", "x").await.unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_secs(3));
    let version = written.metadata.resource_version.unwrap();
    assert!(error.to_string().contains(&format!("at version {version} did not arrive in 3 s")), "{error}");
    assert!(configs.get("shop", "a").await.is_ok(), "what nobody wrote is not waited for");
    assert!(configs.list(&Query::new().namespace("bank")).await.is_ok(), "nor another namespace");
    assert!(configs.list(&Query::new()).await.is_err());
    let impatient = client.patience(Duration::ZERO).kind::<ConfigMap>();
    assert!(impatient.get("shop", "x").await.unwrap_err().is_not_found());
    server.clear_faults();
    let mut status = cache.kind::<ConfigMap>().informer().await.unwrap().watch_status();
    status.wait_for(|status| status.objects == 4).await.unwrap();
    assert!(configs.get("shop", "x").await.is_ok() && configs.has_seen_writes());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_has_yet_to_arrive_is_part_of_the_wait_for_a_write() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    let written = configs.create(&config("x", "1")).await.unwrap();
    server.inject(Fault::no_reply().resource("configmaps"));
    for one_object in [true, false] {
        let started = tokio::time::Instant::now();
        let error = match one_object {
            true => configs.get("shop", "x").await.unwrap_err(),
            false => configs.list(&Query::new()).await.unwrap_err(),
        };
        assert_eq!(started.elapsed(), WRITE_TIMEOUT, "{error}");
        let CacheError::WriteNotSeen { wanted, after, seen, .. } = &error else { panic!("{error}") };
        let version = written.metadata.resource_version.clone().unwrap();
        assert_eq!((wanted, *after, seen), (&format!("at version {version}"), WRITE_TIMEOUT, &None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_arrives_late_and_without_the_write_leaves_less_time_for_it() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().namespaces(["shop", "bank"]));
    let configs = cache.client().kind::<ConfigMap>();
    configs.create(&config("x", "1")).await.unwrap();
    // There are lists only: one comes late, and the other is old.
    server.inject(Fault::reply(400).on(Verb::Watch).times(2));
    server.inject(Fault::no_reply().on(Verb::Watch).skip(2));
    server.inject(Fault::delay(Duration::from_secs(6)).on(Verb::List).namespace("bank"));
    server.inject(Fault::stale_read(1).on(Verb::List).namespace("shop"));
    let started = tokio::time::Instant::now();
    let error = configs.list(&Query::new()).await.unwrap_err();
    assert!(matches!(&error, CacheError::WriteNotSeen { seen: Some(_), .. }), "{error}");
    assert_eq!(started.elapsed(), WRITE_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_all_waits_no_longer_because_only_the_namespace_of_the_write_is_there() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new().namespaces(["shop", "bank"]));
    let configs = cache.client().kind::<ConfigMap>();
    configs.create(&config("x", "1")).await.unwrap();
    server.inject(Fault::no_reply().namespace("bank"));
    let started = tokio::time::Instant::now();
    let error = configs.list(&Query::new()).await.unwrap_err();
    assert!(matches!(&error, CacheError::TimedOut { .. }), "{error}");
    assert_eq!(started.elapsed(), WRITE_TIMEOUT);
    assert!(configs.get("shop", "x").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_write_hears_at_once_that_the_kind_cannot_be_had() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().kind::<ConfigMap>();
    configs.create(&config("x", "1")).await.unwrap();
    server.inject(Fault::reply(403).on(Verb::Watch));
    server.inject(Fault::reply(403).on(Verb::List));
    let started = tokio::time::Instant::now();
    let error = configs.get("shop", "x").await.unwrap_err();
    assert!(matches!(&error, CacheError::CannotSync { cause, .. } if cause.code == 403), "{error}");
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_shorter_time_for_kinds_to_arrive_is_kept_to_by_those_who_wait_for_a_write() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new().sync_timeout(Duration::from_secs(4)));
    let configs = cache.client().kind::<ConfigMap>();
    configs.create(&config("x", "1")).await.unwrap();
    server.inject(Fault::no_reply().resource("configmaps"));
    let started = tokio::time::Instant::now();
    let error = configs.get("shop", "x").await.unwrap_err();
    assert!(matches!(error, CacheError::TimedOut { .. }), "{error}");
    assert_eq!(started.elapsed(), Duration::from_secs(4));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_does_not_arrive_is_named() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let configs = cache.client().patience(Duration::from_secs(3)).kind::<ConfigMap>();
    configs.get("shop", "a").await.unwrap();
    server.inject(Fault::no_reply().on(Verb::Watch));
    server.stop_watches();
    configs.delete("shop", "b", &DeleteParams::default()).await.unwrap();
    let error = configs.get("shop", "b").await.unwrap_err().to_string();
    let wanted = "what was written to configmaps by deleting shop/b did not arrive in 3 s; the copy is at ";
    assert!(error.starts_with(wanted), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_the_cache_leaves_out_is_not_waited_for() {
    let server = server().await;
    let options = CacheOptions::new().objects(ObjectOptions::new().labels("app=db"));
    let cache = cache(&server, options);
    let configs = cache.client().kind::<ConfigMap>();
    let started = tokio::time::Instant::now();
    configs.create(&config("x", "1")).await.unwrap();
    assert!(configs.has_seen_writes());
    assert!(configs.get("shop", "x").await.unwrap_err().is_not_found());
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn kinds_without_types_and_without_namespaces_are_written_too() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let client = cache.client();
    let untyped = client.kind_of::<DynamicObject>(&config_maps());
    let object = DynamicObject::new("x", &config_maps()).within("shop").data(json!({"data": {"value": "1"}}));
    untyped.create(&object).await.unwrap();
    assert_eq!(untyped.get("shop", "x").await.unwrap().data["data"]["value"], "1");
    // What one of them wrote, the other waits for.
    assert_eq!(client.kind::<ConfigMap>().get("shop", "x").await.unwrap().name(), "x");
    let names = client.kind::<Namespace>();
    let space: Namespace = serde_json::from_value(json!({"metadata": {"name": "new"}})).unwrap();
    names.create(&space).await.unwrap();
    assert_eq!(names.get("", "new").await.unwrap().name(), "new");
    names.delete("", "new", &DeleteParams::default()).await.unwrap();
    let gone = names.get("", "new").await;
    assert!(gone.is_err() || gone.unwrap().metadata.deletion_timestamp.is_some());
}
