//! Factories for kinds without a type, for metadata alone, and lists of everything.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::{ApiResource, DynamicObject, GroupVersionResource, Selector};
use kube_informer::SharedInformer;
use kube_informer::factory::{DynamicSharedInformerFactory, FactoryError, MetadataSharedInformerFactory};
use kube_informer::fanout::Event;
use kube_informer::object::Residency;
use kube_informer::source::{KubeSource, Listed, list_all};
use kube_testserver::{Fault, TestServer, Verb};

use crate::support::Strict;
use crate::{PATIENCE, server, write};

fn configs() -> GroupVersionResource {
    GroupVersionResource::gvr("", "v1", "configmaps")
}

fn seed(server: &TestServer, namespace: &str, name: &str, app: &str) {
    let metadata = format!("{{name: '{name}', namespace: {namespace}, labels: {{app: {app}}}}}");
    server
        .seed(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}, data: {{a: b}}}}"))
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dynamic_factory_follows_any_resource_and_shares_its_informers() {
    let server = server().await;
    let factory = DynamicSharedInformerFactory::new(server.in_process_client());
    let (one, two) = (factory.for_resource(&configs()).unwrap(), factory.for_resource(&configs()).unwrap());
    let mut events = one.subscribe().unwrap();
    factory.start();
    factory.wait_for_cache_sync().await.unwrap();
    seed(&server, "a", "x", "web");
    let Event::Added { object, .. } = events.next().await.unwrap() else { panic!() };
    assert_eq!((object.key(), &object.data["data"]["a"]), ("a/x", &"b".into()));
    server.mutate("v1/ConfigMap", "a", "x", |object| object["data"]["a"] = "c".into()).unwrap();
    let Event::Updated { old, new, .. } = events.next().await.unwrap() else { panic!() };
    assert_eq!((&old.data["data"]["a"], &new.data["data"]["a"]), (&"b".into(), &"c".into()));
    server.delete("v1/ConfigMap", "a", "x").unwrap();
    let Event::Deleted(gone) = events.next().await.unwrap() else { panic!() };
    assert_eq!(gone.object().key(), "a/x");
    assert!(two.store().list().is_empty());
    let watches = server.requests().iter().filter(|request| request.verb == Some(Verb::Watch)).count();
    assert_eq!(watches, 1, "they are one informer");
    assert!(factory.shutdown_of(&configs()).await && one.is_stopped());
    factory.shutdown().await;
    assert_eq!(factory.for_resource(&configs()).unwrap_err(), FactoryError::ShutDown);
}

#[tokio::test(start_paused = true)]
async fn namespaces_and_selectors_narrow_a_dynamic_factory() {
    let server = server().await;
    for (namespace, name, app) in [("a", "x", "web"), ("a", "y", "db"), ("b", "x", "web"), ("c", "x", "web")]
    {
        seed(&server, namespace, name, app);
    }
    let keys = async |namespaces: &[&str], labels: &'static str, fields: &'static str| {
        let factory = DynamicSharedInformerFactory::builder(server.in_process_client())
            .namespaces(namespaces.iter().copied())
            .tweak(move |tweak| {
                tweak.label_selector = labels.to_owned();
                tweak.field_selector = fields.to_owned();
            })
            .build();
        let lister = factory.lister(&configs()).unwrap();
        factory.start();
        factory.wait_for_cache_sync().await.unwrap();
        let objects = lister.list(&Selector::default());
        let mut keys: Vec<String> = objects.iter().map(|object| object.key().to_owned()).collect();
        keys.sort();
        factory.shutdown().await;
        keys
    };
    assert_eq!(keys(&["a"], "", "").await, ["a/x", "a/y"]);
    assert_eq!(keys(&["a", "b"], "app=web", "").await, ["a/x", "b/x"]);
    assert_eq!(keys(&["a", "b"], "", "metadata.name=y").await, ["a/y"]);
}

#[tokio::test(start_paused = true)]
async fn a_metadata_factory_asks_for_metadata_alone() {
    let server = server().await;
    seed(&server, "a", "x", "web");
    let factory = MetadataSharedInformerFactory::builder(server.in_process_client())
        .default_resync(Duration::from_secs(30))
        .build();
    let informer = factory.for_resource(&configs()).unwrap();
    let mut events = informer.subscribe().unwrap();
    factory.start();
    let report = factory.wait_for_cache_sync().await.unwrap();
    assert_eq!((report[0].resource.as_str(), report[0].objects), ("configmaps", 1));
    let Event::Added { object, .. } = events.next().await.unwrap() else { panic!() };
    assert_eq!((object.key(), object.labels().get("app")), ("a/x", Some("web")));
    let all_ask = |wanted: &str| server.requests().iter().all(|request| request.accept.contains(wanted));
    assert!(all_ask("as=PartialObjectMetadata"), "the server sends nothing else");
    seed(&server, "a", "y", "db");
    assert!(matches!(events.next().await.unwrap(), Event::Added { .. }));
    server.delete("v1/ConfigMap", "a", "y").unwrap();
    assert!(matches!(events.next().await.unwrap(), Event::Deleted(_)));
    assert!(matches!(events.next().await.unwrap(), Event::Updated { resync: true, .. }));
}

#[tokio::test(start_paused = true)]
async fn who_loses_patience_can_see_what_was_waited_for() {
    let server = server().await;
    server.inject(Fault::reply(503).resource("configmaps"));
    let factory = DynamicSharedInformerFactory::new(server.in_process_client());
    factory.for_resource(&configs()).unwrap();
    factory.for_resource(&GroupVersionResource::gvr("", "v1", "secrets")).unwrap();
    factory.start();
    let waited = tokio::time::timeout(Duration::from_secs(60), factory.wait_for_cache_sync()).await;
    assert!(waited.is_err());
    let left = factory.not_synced();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!((left[0].resource.as_str(), left[0].cause.as_ref().unwrap().code), ("configmaps", 503));
}

async fn listed(server: &TestServer, page: Option<u32>) -> (Vec<String>, usize) {
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let (mut names, mut again) = (Vec::new(), 0);
    let mut all = list_all(source, page);
    while let Some(one) = tokio::time::timeout(PATIENCE, all.next()).await.unwrap() {
        match one.unwrap() {
            Listed::Object(object) => names.push(object.name().to_owned()),
            Listed::Again => {
                again += 1;
                names.clear();
            }
            Listed::End { resource_version } => assert!(!resource_version.is_empty()),
            other => panic!("{other:?}"),
        }
    }
    (names, again)
}

#[tokio::test(start_paused = true)]
async fn a_list_of_everything_comes_in_pages_and_in_one_piece_when_they_expire() {
    let server = server().await;
    assert_eq!(listed(&server, None).await, (vec![], 0));
    for number in 0..7 {
        write(&server, &format!("c{number}"), number);
    }
    let all: Vec<String> = (0..7).map(|number| format!("c{number}")).collect();
    for page in [None, Some(1), Some(3), Some(7), Some(100)] {
        assert_eq!(listed(&server, page).await, (all.clone(), 0), "{page:?}");
    }
    server.inject(Fault::expired().on(Verb::List).skip(1).times(1));
    assert_eq!(listed(&server, Some(3)).await, (all, 1));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_everything_ends_with_the_first_error_and_names_what_it_cannot_decode() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    server.mutate("v1/ConfigMap", "default", "a", |object| object["data"]["value"] = "x".into()).unwrap();
    let source = KubeSource::<Strict>::all(server.in_process_client(), &());
    let parts: Vec<_> = list_all(source, None).collect().await;
    assert!(matches!(&parts[0], Ok(Listed::Undecodable(error)) if error.to_string().contains("default/a")));
    assert!(matches!(&parts[1], Ok(Listed::Object(_))) && matches!(&parts[2], Ok(Listed::End { .. })));
    server.inject(Fault::reply(403).on(Verb::List));
    let source = KubeSource::<DynamicObject>::all(
        server.in_process_client(),
        &kube_core::ApiResource::erase::<ConfigMap>(&()),
    );
    let parts: Vec<_> = list_all(source, None).collect().await;
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].as_ref().unwrap_err().code, 403);
}

#[tokio::test(start_paused = true)]
async fn an_object_without_a_type_says_what_it_is_in_every_encoding_and_residency() {
    let server = server().await;
    write(&server, "a", 1);
    let kind = ApiResource::erase::<ConfigMap>(&());
    for residency in [Residency::Decoded, Residency::Packed] {
        for json in [true, false] {
            let source = KubeSource::<DynamicObject>::all(server.in_process_client(), &kind);
            let source = if json { source.json() } else { source };
            let informer = SharedInformer::builder(source).residency(residency).build();
            informer.start();
            assert!(informer.synced().await);
            let object = informer.store().get("default", "a").unwrap();
            let types = object.types.as_ref().unwrap();
            assert_eq!((types.api_version.as_str(), types.kind.as_str()), ("v1", "ConfigMap"));
        }
    }
}
