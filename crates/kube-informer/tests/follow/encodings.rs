//! In which encoding objects are asked for, and what is done with whatever comes.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::Client;
use kube_client::api::{DynamicObject, PartialObjectMeta};
use kube_core::{ApiResource, GroupVersionKind, Resource};
use kube_informer::SharedInformer;
use kube_informer::object::Residency;
use kube_informer::source::KubeSource;
use kube_testserver::{Fault, RequestRecord, TestServer, Verb};
use serde::de::DeserializeOwned;

use super::{Config, Follower, churn, lists_only, server, write};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Lists and watches that were answered with objects: in what, and in which words they were asked for.
fn answers(server: &TestServer) -> Vec<(Verb, String, String)> {
    let objects = |request: &RequestRecord| request.code == Some(200);
    let requests = server.requests().into_iter().filter(objects);
    requests.map(|request| (request.verb.unwrap(), request.answer_type, request.accept)).collect()
}

async fn synced<K>(source: KubeSource<K>) -> SharedInformer<K>
where
    K: Resource + Clone + DeserializeOwned + Send + Sync + std::fmt::Debug + 'static,
{
    let informer = SharedInformer::new(source);
    informer.start();
    assert!(informer.synced().await);
    informer
}

const DEFINITION: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
    metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, \
    names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, \
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";

fn widgets(server: &TestServer) -> ApiResource {
    server.seed(DEFINITION).unwrap();
    server.seed("{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {size: 7}}").unwrap();
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_come_in_protobuf() {
    let server = server(TestServer::builder()).await;
    churn(&server, 30);
    for config in [Config::default(), lists_only()] {
        let mut follower = Follower::start(&server, config);
        follower.until_equal(&server).await;
        // So that there is a watch after the list, too.
        churn(&server, 30);
        follower.until_equal(&server).await;
    }
    let answers = answers(&server);
    let watch = (Verb::Watch, format!("{PROTOBUF};stream=watch"));
    let list = (Verb::List, PROTOBUF.to_owned());
    let types: Vec<_> = answers.into_iter().map(|(verb, answer, _)| (verb, answer)).collect();
    assert_eq!(types, [watch.clone(), list, watch]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_protobuf_is_asked_in_json_from_then_on() {
    for config in [Config::default(), lists_only()] {
        let server = server(TestServer::builder()).await;
        churn(&server, 30);
        let refusal = server.inject(Fault::reply(406).times(1));
        let mut follower = Follower::start(&server, config);
        follower.until_equal(&server).await;
        assert_eq!(follower.errors.load(std::sync::atomic::Ordering::Relaxed), 0, "nothing went wrong");
        churn(&server, 30);
        server.stop_watches();
        follower.until_equal(&server).await;
        assert_eq!(refusal.hits(), 1);
        let answers = answers(&server);
        assert!(answers.len() >= 2, "{answers:?}");
        for (_, answer, accept) in answers {
            assert_eq!((answer.as_str(), accept.as_str()), ("application/json", "application/json"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_nothing_but_json_is_understood() {
    for config in [Config::default(), lists_only()] {
        let server = server(TestServer::builder().protobuf(false)).await;
        churn(&server, 30);
        let mut follower = Follower::start(&server, config);
        follower.until_equal(&server).await;
        churn(&server, 30);
        follower.until_equal(&server).await;
        let answers = answers(&server);
        assert!(answers.iter().all(|(_, answer, _)| answer == "application/json"), "{answers:?}");
        assert!(answers[0].2.starts_with(PROTOBUF), "it is asked every time: {answers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn objects_of_both_encodings_are_the_same_however_they_rest() {
    for residency in [Residency::Decoded, Residency::Packed] {
        let server = server(TestServer::builder()).await;
        churn(&server, 30);
        let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
        let json = KubeSource::<ConfigMap>::all(server.in_process_client(), &()).json();
        let contents = async |source| {
            let informer = SharedInformer::builder(source).residency(residency).build();
            informer.start();
            assert!(informer.synced().await);
            let objects = informer.store().list();
            let mut objects: Vec<ConfigMap> = objects.iter().map(|object| ConfigMap::clone(object)).collect();
            objects.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
            objects
        };
        let (protobuf, json) = (contents(source).await, contents(json).await);
        assert!(!json.is_empty());
        assert_eq!(protobuf, json);
    }
}

#[tokio::test(start_paused = true)]
async fn custom_resources_come_in_json() {
    let server = server(TestServer::builder()).await;
    let kind = widgets(&server);
    let informer = synced(KubeSource::<DynamicObject>::all(server.in_process_client(), &kind)).await;
    assert_eq!(informer.store().get("default", "a").unwrap().data["spec"]["size"], 7);
    let expected = (Verb::Watch, "application/json".to_owned(), "application/json".to_owned());
    assert_eq!(answers(&server), [expected]);
}

async fn metadata(client: Client, kind: &ApiResource) -> SharedInformer<PartialObjectMeta> {
    let mut config = Config::default();
    config.initial_events = false;
    let source = KubeSource::<PartialObjectMeta>::all(client, kind);
    let informer = SharedInformer::builder(source).config(config).build();
    informer.start();
    assert!(informer.synced().await);
    informer
}

#[tokio::test(start_paused = true)]
async fn metadata_of_every_kind_comes_in_protobuf() {
    let server = server(TestServer::builder()).await;
    write(&server, 1, 1);
    let (custom, built_in) = (widgets(&server), ApiResource::erase::<ConfigMap>(&()));
    for (kind, name) in [(&built_in, "c1"), (&custom, "a")] {
        let informer = metadata(server.in_process_client(), kind).await;
        let found = informer.store().get("default", name).unwrap().metadata.clone();
        assert!(found.uid.is_some() && found.creation_timestamp.is_some(), "{found:?}");
        let object = server.object(&format!("{}/{}", kind.api_version, kind.kind), "default", name).unwrap();
        let mut expected = object.unwrap()["metadata"].clone();
        expected.as_object_mut().unwrap().remove("managedFields");
        assert_eq!(serde_json::to_value(found).unwrap(), expected);
        let mut status = informer.watch_status();
        server
            .mutate(&format!("{}/{}", kind.api_version, kind.kind), "default", name, |object| {
                object["metadata"]["labels"]["new"] = "yes".into();
            })
            .unwrap();
        let labelled = || informer.store().get("default", name).unwrap().metadata.labels.is_some();
        status.wait_for(|_| labelled()).await.unwrap();
    }
    let answers = answers(&server);
    assert_eq!(answers.len(), 4, "a list and a watch each: {answers:?}");
    assert!(answers.iter().all(|(_, answer, _)| answer.starts_with(PROTOBUF)), "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn metadata_comes_in_json_where_there_is_nothing_better() {
    let json_only = server(TestServer::builder().protobuf(false)).await;
    let refusing = server(TestServer::builder()).await;
    refusing.inject(Fault::reply(406).times(1));
    for server in [json_only, refusing] {
        write(&server, 1, 1);
        let kind = ApiResource::erase::<ConfigMap>(&());
        let informer = metadata(server.in_process_client(), &kind).await;
        assert!(informer.store().get("default", "c1").is_some());
        let answers = answers(&server);
        assert!(answers.iter().all(|(_, answer, _)| answer == "application/json"), "{answers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn pods_are_the_same_in_both_encodings() {
    let server = server(TestServer::builder()).await;
    let pod: Pod = serde_json::from_str(include_str!("../../../kube-testserver/data/pod.json")).unwrap();
    server.put(&pod).unwrap();
    let source = || KubeSource::<Pod>::all(server.in_process_client(), &()).keep_managed_fields(true);
    let (protobuf, json) = (synced(source()).await, synced(source().json()).await);
    let one = |informer: &SharedInformer<Pod>| Pod::clone(&informer.store().list()[0]);
    assert_eq!(one(&protobuf), one(&json));
    assert!(one(&json).spec.unwrap().containers[0].resources.is_some());
    let bytes = |informer: &SharedInformer<Pod>| informer.status().received_bytes;
    assert!(bytes(&protobuf) < bytes(&json), "{} {}", bytes(&protobuf), bytes(&json));
}
