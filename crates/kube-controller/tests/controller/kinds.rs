//! From the events of kinds to requests.

use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use kube_controller::controller::predicate;
use kube_controller::controller::{Owner, Owners, Source, Watch};
use kube_informer::fanout::Event;
use kube_informer::object::ObjectName;
use kube_informer::{Cache, DynamicSharedInformerFactory, SharedInformerFactory};
use serde_json::json;

use super::*;

/// A Secret that these own; those with a star control it.
fn secret(name: &str, owners: &[(&str, &str)]) -> serde_json::Value {
    let owners: Vec<_> = owners
        .iter()
        .map(|(kind, owner)| {
            json!({"apiVersion": "v1", "kind": kind, "name": owner.trim_end_matches('*'), "uid": format!("uid-{owner}"),
                   "controller": owner.ends_with('*')})
        })
        .collect();
    let metadata = json!({"name": name, "namespace": "default", "ownerReferences": owners});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
}

#[tokio::test(start_paused = true)]
async fn a_controller_hears_of_its_kind_whatever_happens_to_it() {
    let server = server(&configs(&["a"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let builder = Controller::builder("configs").for_(&factory.of::<ConfigMap>().unwrap());
    let playing = Playing::new(builder.build(write_down(&log)).unwrap());
    settle().await;
    assert_eq!(log.take(), ["default/a"]);
    server.seed(&configs(&["b"])).unwrap();
    settle().await;
    assert_eq!(log.take(), ["default/b"]);
    server.mutate("v1/ConfigMap", "default", "b", |config| config["data"] = json!({"x": "y"})).unwrap();
    settle().await;
    assert_eq!(log.take(), ["default/b"]);
    server.delete("v1/ConfigMap", "default", "a").unwrap();
    settle().await;
    assert_eq!(log.take(), ["default/a"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_controlling_owner_is_asked_about_before_and_after_a_change() {
    let server = TestServer::start().await.unwrap();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let controller = Controller::builder("configs")
        .for_(&factory.of::<ConfigMap>().unwrap())
        .owns(&factory.of::<Secret>().unwrap())
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    settle().await;
    server.put(&secret("s", &[("ConfigMap", "a*"), ("ConfigMap", "b"), ("Pod", "c")])).unwrap();
    server.put(&secret("t", &[("ConfigMap", "b")])).unwrap();
    settle().await;
    assert_eq!(log.take(), ["default/a"]);
    server.put(&secret("s", &[("ConfigMap", "b*")])).unwrap();
    settle().await;
    assert_eq!(log.sorted(), ["default/a", "default/b"]);
    server.delete("v1/Secret", "default", "s").unwrap();
    settle().await;
    assert_eq!(log.take(), ["default/b"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_owner_is_asked_about_if_that_is_wanted() {
    let server = TestServer::start().await.unwrap();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let controller = Controller::builder("configs")
        .for_(&factory.of::<ConfigMap>().unwrap())
        .owns_by(&factory.of::<Secret>().unwrap(), Owners::Every)
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    settle().await;
    server.put(&secret("s", &[("ConfigMap", "a*"), ("ConfigMap", "b"), ("Node", "n")])).unwrap();
    settle().await;
    assert_eq!(log.sorted(), ["default/a", "default/b"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_owner_without_a_namespace_is_found_from_objects_that_have_one() {
    let server = TestServer::start().await.unwrap();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let controller = Controller::builder("nodes")
        .for_(&factory.of::<Node>().unwrap())
        .owns(&factory.of::<Secret>().unwrap())
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    settle().await;
    server.put(&secret("s", &[("Node", "n1*")])).unwrap();
    settle().await;
    assert_eq!(log.take(), ["n1"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_mapping_is_asked_for_both_sides_of_a_change_and_a_request_is_added_once() {
    let server = TestServer::start().await.unwrap();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let controller = ControllerBuilder::<String>::new("colours")
        .watches(&factory.of::<ConfigMap>().unwrap(), |config| {
            let colours = config.data.iter().flatten().map(|(_, colour)| colour.clone());
            colours.collect::<Vec<_>>()
        })
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    let paint = |one: &str, two: &str| {
        let data = json!({"one": one, "two": two});
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data});
        server.put(&config).unwrap();
    };
    settle().await;
    paint("red", "red");
    settle().await;
    assert_eq!(log.take(), ["red"]);
    paint("red", "blue");
    settle().await;
    assert_eq!(log.sorted(), ["blue", "red"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_add_what_it_likes() {
    let server = server(&configs(&["a"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let controller = ControllerBuilder::<String>::new("words")
        .handles(&factory.of::<ConfigMap>().unwrap(), |event, queue| {
            let word = match event {
                Event::Added { initial: true, .. } => "there",
                Event::Added { .. } => "added",
                Event::Deleted(_) => "gone",
                _ => return,
            };
            queue.add(format!("{word} {}", event.object().name()));
        })
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    settle().await;
    server.seed(&configs(&["b"])).unwrap();
    server.delete("v1/ConfigMap", "default", "a").unwrap();
    settle().await;
    assert_eq!(log.sorted(), ["added b", "gone a", "there a"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_function_that_panics_is_shown_and_the_next_event_is_heard() {
    let server = server(&configs(&["bad", "good"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let controller = ControllerBuilder::<String>::new("picky")
        .watches(&factory.of::<ConfigMap>().unwrap(), |config| {
            assert!(config.name() != "bad", "not this one");
            [config.name().to_owned()]
        })
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    settle().await;
    assert_eq!(log.take(), ["good"]);
    let source = playing.handle.status().sources[0].clone();
    assert_eq!((source.panics, source.last_panic.as_deref()), (1, Some("not this one")));
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn predicates_of_one_kind_and_of_all_kinds_keep_events_out() {
    let server = server(&configs(&["a", "b", "skip"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let configs = factory.of::<ConfigMap>().unwrap();
    let log = Log::default();
    let controller = Controller::builder("configs")
        .for_(
            Watch::new(&configs)
                .filter(predicate::resource_version_changed())
                .filter_objects(|config| config.name() != "b")
                .filter_events(|event| !event.object().name().is_empty()),
        )
        .filter_all(|event| !event.object().key().ends_with("/skip"))
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    settle().await;
    assert_eq!(log.take(), ["default/a"]);
    assert_eq!(configs.store().list().len(), 3, "the copy has them all");
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn kinds_without_a_type_and_kinds_of_a_cache_are_listened_to_as_well() {
    let server = server(&configs(&["a"])).await;
    server.put(&secret("s", &[("ConfigMap", "b*")])).unwrap();
    let dynamic = DynamicSharedInformerFactory::new(server.in_process_client());
    let resource = kube_core::GroupVersionResource::gvr("", "v1", "configmaps");
    let cache = Cache::new(server.in_process_client());
    cache.start().unwrap();
    let secrets = cache.kind::<Secret>().informer().await.unwrap();
    let log = Log::default();
    let controller = Controller::builder("dynamic")
        .for_kind(&dynamic.for_resource(&resource).unwrap(), Owner::new("", "ConfigMap", true))
        .owns(&secrets)
        .build(write_down(&log))
        .unwrap();
    let playing = Playing::new(controller);
    settle().await;
    assert_eq!(log.sorted(), ["default/a", "default/b"]);
    let names: Vec<String> = playing.handle.status().sources.into_iter().map(|source| source.name).collect();
    assert_eq!(names, ["configmaps", "secrets"]);
    playing.end().await.unwrap();
    cache.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn owners_of_another_kind_than_ones_own_can_be_asked_about() {
    let server = server(&configs(&["a"])).await;
    server.put(&secret("s", &[("Pod", "p*"), ("ConfigMap", "b")])).unwrap();
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let secrets = factory.of::<Secret>().unwrap();
    let builder = ControllerBuilder::<ObjectName>::new("pods").source(Source::owners(
        &secrets,
        Owner::new("", "Pod", true),
        Owners::Controller,
    ));
    let playing = Playing::new(builder.build(write_down(&log)).unwrap());
    settle().await;
    assert_eq!(log.take(), ["default/p"]);
    playing.end().await.unwrap();
}
