//! What comes in protobuf is what comes in JSON, for everything that a server has.

use std::collections::BTreeMap;

use kube_client::Client;
use kube_client::api::{Api, DynamicObject, PartialObjectMeta, PostParams};
use kube_core::ApiResource;
use kube_informer::SharedInformer;
use kube_informer::discovery::Resources;
use kube_informer::object::Residency;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{Options, skip};
use serde_json::{Value, json};

use crate::heard::listen;
use crate::{caught_up, start, synced};

/// Objects with fields that the two encodings write in very different ways.
const OBJECTS: [&str; 6] = [
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"all","annotations":{"text":"é\n\u0001"}},
        "data":{"empty":"","a":"b"},"binaryData":{"bytes":"AAEC/w=="},"immutable":false}"#,
    r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"all"},"type":"Opaque","data":{"k":"AAEC/w=="}}"#,
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"all"},"spec":{"replicas":0,
        "strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":0}},"selector":{"matchLabels":{"app":"a"}},
        "template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i",
        "resources":{"limits":{"cpu":"1500m","memory":"1Gi"}},"livenessProbe":{"httpGet":{"path":"/","port":"web"}},
        "env":[{"name":"E","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}],
        "volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Mi"}}]}}}}"#,
    r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"all"},"spec":{"ports":[{"port":80,"targetPort":"web"}]}}"#,
    r#"{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"all"},"spec":{"podSelector":{},
        "ingress":[{"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]}]}}"#,
    r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"all"},"spec":{"maxReplicas":3,
        "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"all"},"behavior":{"scaleDown":{"tolerance":"0"}},
        "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}"#,
];

pub(crate) async fn seed(client: &Client, resources: &Resources) {
    for text in OBJECTS {
        let object: DynamicObject = serde_json::from_str(text).unwrap();
        let kind = object.types.as_ref().unwrap().kind.clone();
        let resource = &resources.resolve(&kind).unwrap().resource;
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", resource);
        api.create(&PostParams::default(), &object).await.unwrap();
    }
}

/// All objects of an informer as JSON, without the type, which lists do not have; and how many bytes they came in.
async fn contents(
    source: KubeSource<DynamicObject>,
    api: &Api<DynamicObject>,
) -> (BTreeMap<String, Value>, u64) {
    let informer = SharedInformer::builder(source).residency(Residency::Packed).build();
    let heard = listen(&informer);
    informer.start();
    synced(&informer).await;
    caught_up(&informer, api).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    let status = informer.status();
    assert!(status.quarantined.is_empty(), "{:?}", status.quarantined);
    let value = |object: &DynamicObject| {
        let mut value = json!({"metadata": object.metadata, "data": object.data});
        drop_nulls(&mut value);
        value
    };
    let objects = informer.store().list();
    let contents = objects.iter().map(|object| (object.key().to_owned(), value(object))).collect();
    informer.shutdown().await;
    (contents, status.received_bytes)
}

/// JSON says `null` for times that are not set; protobuf says nothing.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_resource_is_the_same_in_protobuf_and_in_json() {
    if skip() {
        return;
    }
    let server = start(Options::new().rbac()).await;
    let client = server.client().await.unwrap();
    let resources = Resources::fetch(&client).await.unwrap();
    seed(&client, &resources).await;
    let (mut objects, mut kinds, mut bytes) = (0, 0, [0, 0]);
    for resource in resources.iter() {
        // Leases change all the time.
        if resource.resource.plural == "leases" || !resource.can_be_followed() {
            continue;
        }
        let source = || KubeSource::<DynamicObject>::all(client.clone(), &resource.resource);
        let api = Api::all_with(client.clone(), &resource.resource);
        let ((best, fewer), (json, more)) =
            (contents(source(), &api).await, contents(source().json(), &api).await);
        bytes = [bytes[0] + fewer, bytes[1] + more];
        for (key, object) in &json {
            assert_eq!(best.get(key), Some(object), "{} {key}", resource.resource.plural);
        }
        assert_eq!(best.len(), json.len(), "{}", resource.resource.plural);
        objects += best.len();
        kinds += usize::from(!best.is_empty());
    }
    assert!(objects > 100 && kinds > 15, "{objects} objects of {kinds} kinds are too few to be sure");
    assert!(bytes[0] * 10 < bytes[1] * 9, "protobuf is smaller: {bytes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_alone_is_the_same_in_protobuf_and_in_json() {
    if skip() {
        return;
    }
    let server = start(Options::new().rbac()).await;
    let client = server.client().await.unwrap();
    seed(&client, &Resources::fetch(&client).await.unwrap()).await;
    let deployments = ApiResource::erase::<k8s_openapi::api::apps::v1::Deployment>(&());
    let source = || KubeSource::<PartialObjectMeta>::all(client.clone(), &deployments);
    let mut both = Vec::new();
    for source in [source(), source().json()] {
        let informer = SharedInformer::new(source);
        let heard = listen(&informer);
        informer.start();
        synced(&informer).await;
        caught_up(&informer, &Api::all_with(client.clone(), &deployments)).await;
        assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
        both.push(informer.store().get("default", "all").unwrap().metadata.clone());
        assert!(informer.status().received_bytes < 4_000, "nothing but metadata");
    }
    assert_eq!(both[0], both[1]);
}
