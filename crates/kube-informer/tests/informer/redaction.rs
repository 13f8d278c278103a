//! No value of an object is in an error, in the status, on a page or in a metric.

use std::collections::BTreeMap;
use std::error::Error;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::params::{Patch, PatchParams};
use kube_core::{GroupVersionResource, Resource};
use kube_informer::cache::{Cache, CacheError, CacheOptions, Missing, Query};
use kube_informer::fanout::Event;
use kube_informer::source::KubeSource;
use kube_informer::{Metrics, SharedInformer, SharedInformerFactory};
use kube_testserver::TestServer;
use prometheus_client::registry::Registry;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::server;

/// What must not be seen anywhere.
const SECRET: &str = "hunter2";

/// Numbers, where a ConfigMap has texts.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
struct Numbers {
    metadata: ObjectMeta,
    #[serde(default)]
    data: BTreeMap<String, u32>,
}

stands_for_config_maps!(Numbers);

/// A type whose own message quotes what it found.
#[derive(Clone, Debug, Deserialize)]
struct Quoting {
    metadata: ObjectMeta,
    #[serde(default)]
    #[expect(dead_code, reason = "nothing is ever in it")]
    data: BTreeMap<String, Quoted>,
}

stands_for_config_maps!(Quoting);

#[derive(Clone, Debug)]
struct Quoted;

impl<'de> Deserialize<'de> for Quoted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Err(serde::de::Error::custom(format_args!("what is {text}?")))
    }
}

/// A type that knows some words.
#[derive(Clone, Debug, Deserialize)]
struct Words {
    metadata: ObjectMeta,
    #[serde(default)]
    #[expect(dead_code, reason = "nothing is ever in it")]
    data: BTreeMap<String, Word>,
}

stands_for_config_maps!(Words);

#[derive(Clone, Debug, Deserialize)]
enum Word {
    Known,
}

/// A type whose way to decode panics with what it found.
#[derive(Clone, Debug, Deserialize)]
struct Panicking {
    metadata: ObjectMeta,
    #[serde(default)]
    #[expect(dead_code, reason = "nothing is ever in it")]
    data: BTreeMap<String, Panics>,
}

stands_for_config_maps!(Panicking);

#[derive(Clone, Debug)]
struct Panics;

impl<'de> Deserialize<'de> for Panics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        panic!("what is {text}?")
    }
}

fn write_secret(server: &TestServer, name: &str, value: &str) {
    let metadata = format!("{{name: {name}}}");
    server
        .seed(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}, data: {{password: {value}}}}}"
        ))
        .unwrap();
}

/// Both ways in which a text may stand in JSON, and one that comes later.
async fn with_secrets() -> TestServer {
    let server = server().await;
    write_secret(&server, "plain", &format!("'{SECRET}'"));
    write_secret(&server, "escaped", &format!("\"\\\"{SECRET}\\n\""));
    server
}

fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        said += &format!("{error} {error:?}\n");
        next = error.source();
    }
    said
}

/// Follows as a type that does not fit, and returns everything that can be read about it.
async fn everything_said_of<K>(json: bool) -> String
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Send + Sync + 'static,
{
    let server = with_secrets().await;
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let source = KubeSource::<K>::all(server.in_process_client(), &());
    let source = if json { source.json() } else { source };
    let informer = SharedInformer::builder(source).metrics(&metrics).build();
    let mut status = informer.watch_status();
    informer.start();
    status.wait_for(|status| status.quarantined.len() == 2).await.unwrap();
    write_secret(&server, "late", &format!("'{SECRET}'"));
    status.wait_for(|status| status.quarantined.len() == 3).await.unwrap();
    let mut page = String::new();
    prometheus_client::encoding::text::encode(&mut page, &registry).unwrap();
    let status = informer.status();
    let shown: String = metrics.informers().iter().map(|shown| format!("{shown:?}")).collect();
    let said = format!("{status:?}\n{informer:?}\n{shown}\n{page}\n{:?}", status.quarantined);
    assert!(!said.contains(SECRET), "{:#?}", status.quarantined);
    informer.shutdown().await;
    status.quarantined["default/plain"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_quarantined_object_is_told_with_its_place_and_type_and_without_its_values() {
    for json in [true, false] {
        let why = everything_said_of::<Numbers>(json).await;
        assert!(why.starts_with("invalid type: string, expected u32 in data.password"), "{why}");
        let why = everything_said_of::<Words>(json).await;
        assert!(why.starts_with("unknown variant, expected `Known` in data.password"), "{why}");
        let why = everything_said_of::<Quoting>(json).await;
        assert!(why.ends_with(" in data.password") || why.contains(" in data.password at line"), "{why}");
        everything_said_of::<Panicking>(json).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_of_an_untyped_informer_says_no_values() {
    let server = with_secrets().await;
    let factory = SharedInformerFactory::builder(server.in_process_client()).build();
    let resource = GroupVersionResource::gvr("", "v1", "configmaps");
    let informer = factory.for_resource(&resource).unwrap();
    let typed = factory.of::<Numbers>().unwrap();
    factory.start();
    let mut status = typed.watch_status();
    status.wait_for(|status| status.quarantined.len() == 2).await.unwrap();
    let said = format!("{:?} {:?} {:?}", typed.status(), informer.status(), informer.lister());
    assert!(!said.contains(SECRET), "{said}");
    assert!(said.contains("data.password"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn errors_of_a_cache_say_no_values() {
    let server = with_secrets().await;
    let cache = Cache::with(server.in_process_client(), CacheOptions::new()).unwrap();
    cache.start().unwrap();
    let error = cache.get::<Numbers>("default", "plain").await.unwrap_err();
    assert!(matches!(error, CacheError::Unfit { .. }), "{error}");
    assert!(!chain(&error).contains(SECRET), "{}", chain(&error));
    // Of the server, which is asked where nothing is cached.
    let live = CacheOptions::new().missing(Missing::Live);
    let live = Cache::with(server.in_process_client(), live).unwrap();
    live.start().unwrap();
    let error = live.get::<Numbers>("default", "plain").await.unwrap_err();
    assert!(!chain(&error).contains(SECRET), "{}", chain(&error));
    let error = live.list::<Numbers>(&Query::new()).await.unwrap_err();
    assert!(!chain(&error).contains(SECRET), "{}", chain(&error));
    // Of a write, whose answer is decoded.
    let patch = Patch::Merge(serde_json::json!({"metadata": {"labels": {"a": "b"}}}));
    let numbers = cache.client().kind::<Numbers>();
    let error = numbers.patch("default", "plain", &PatchParams::default(), &patch).await.unwrap_err();
    assert!(!chain(&error).contains(SECRET), "{}", chain(&error));
}

#[tokio::test(start_paused = true)]
async fn panics_of_functions_that_saw_a_value_do_not_say_it() {
    let server = with_secrets().await;
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let value = |object: &ConfigMap| object.data.as_ref().unwrap()["password"].clone();
    let informer = SharedInformer::builder(source)
        .transform(move |object| match object.metadata.name.as_deref() {
            Some("plain") => panic!("{}", value(&object)),
            _ => object,
        })
        .build();
    let handler =
        informer.add_event_handler(move |event: Event<ConfigMap>| panic!("{}", value(event.object())));
    let handler = handler.unwrap();
    informer.start();
    assert!(handler.synced().await);
    let status = informer.status();
    assert_eq!((status.quarantined.len(), status.listeners[0].panics), (1, 1));
    let said = format!("{status:?} {:?} {handler:?}", handler.status());
    assert!(!said.contains(SECRET), "{said}");
}
