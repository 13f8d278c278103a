//! A copy follows a server that has much to say: many objects, large ones, some that make no sense, all at once.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube_informer::SharedInformer;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{Options, in_store, on_server, skip};
use parking_lot::Mutex;
use serde_json::json;

use crate::heard::listen;
use crate::servers::{Which, client, on_both_servers};
use crate::{caught_up, config_map, create, namespace, quick, start, synced, until};

on_both_servers! {
    lists_in_the_middle_of_churn_lose_and_repeat_nothing,
    objects_as_large_as_the_server_takes_arrive_whole,
    a_namespace_that_is_deleted_takes_its_objects_with_it,
    an_object_that_no_longer_decodes_is_named_and_comes_back,
}

/// Objects of the large test, and how often each of some of them changes meanwhile.
const MANY: usize = 50_000;

/// Requests that are under way at the same time.
const AT_ONCE: usize = 32;

async fn touch(configs: &Api<ConfigMap>, name: &str, value: usize) {
    let patch = json!({"data": {"value": value.to_string()}});
    configs.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_thousand_objects_are_followed_while_they_change() {
    if skip() {
        return;
    }
    let server = start(Options::new()).await;
    let client = server.client().await.unwrap();
    let configs = namespace(&client, "many").await;
    let informer = SharedInformer::new(KubeSource::namespaced(client, "many", &()));
    let early = listen(&informer);
    informer.start();
    synced(&informer).await;
    let late = Arc::new(Mutex::new(None));
    stream::iter(0..MANY)
        .for_each_concurrent(AT_ONCE, |number| {
            let (configs, informer, late) = (&configs, &informer, Arc::clone(&late));
            async move {
                let name = format!("c{number}");
                configs.create(&PostParams::default(), &config_map(&name, "0", &[])).await.unwrap();
                match number % 10 {
                    3 => touch(configs, &name, number).await,
                    7 => drop(configs.delete(&name, &DeleteParams::default()).await.unwrap()),
                    _ => {}
                }
                if number == MANY / 2 {
                    *late.lock() = Some(listen(informer));
                }
            }
        })
        .await;
    caught_up(&informer, &configs).await;
    let late = late.lock().take().unwrap();
    for heard in [early, late] {
        assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    }
    assert_eq!(informer.store().list().len(), MANY / 10 * 9);
    assert_eq!(informer.status().lists, 1, "the watch never fell behind");
    informer.shutdown().await;
}

async fn lists_in_the_middle_of_churn_lose_and_repeat_nothing(which: Which) {
    let server = which.without_watch_cache().await;
    let configs = namespace(&server.client().await, "churn").await;
    let (proxy, through) = server.proxy().await;
    let source = KubeSource::namespaced(client(through), "churn", &());
    let informer = SharedInformer::builder(source).config(quick()).build();
    let heard = listen(&informer);
    informer.start();
    synced(&informer).await;
    for round in 0..6 {
        stream::iter(0..400)
            .for_each_concurrent(AT_ONCE, |number| {
                let configs = &configs;
                async move {
                    let name = format!("c{}", number % 100);
                    match configs.get_opt(&name).await.unwrap() {
                        None => {
                            drop(configs.create(&PostParams::default(), &config_map(&name, "0", &[])).await);
                        }
                        Some(_) if number % 7 == round => {
                            drop(configs.delete(&name, &DeleteParams::default()).await);
                        }
                        Some(_) => {
                            let patch = json!({"data": {"value": format!("{round}-{number}")}});
                            drop(configs.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await);
                        }
                    }
                }
            })
            .await;
        proxy.freeze();
        // The last one is kept by a compaction, so several have to be missed.
        for number in 0..3 {
            create(&configs, &format!("unseen-{round}-{number}"), "1").await;
        }
        server.compact().await;
        proxy.cut();
        proxy.thaw();
    }
    caught_up(&informer, &configs).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    assert!(informer.status().lists > 1, "{:?}", informer.status().relists);
    informer.shutdown().await;
}

async fn objects_as_large_as_the_server_takes_arrive_whole(which: Which) {
    let server = which.shared().await;
    let client = server.client().await;
    let configs = namespace(&client, "large").await;
    let text = |letter: &str| letter.repeat(1_000_000);
    for name in ["one", "two", "three"] {
        create(&configs, name, &text("a")).await;
    }
    let informer = SharedInformer::new(KubeSource::namespaced(client, "large", &()));
    let heard = listen(&informer);
    informer.start();
    synced(&informer).await;
    crate::replace(&configs, "two", &text("b")).await;
    crate::delete(&configs, "three").await;
    create(&configs, "four", &text("c")).await;
    caught_up(&informer, &configs).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    for (name, letter) in [("one", "a"), ("two", "b"), ("four", "c")] {
        let object = informer.store().get("large", name).unwrap();
        assert!(object.data.as_ref().unwrap()["value"] == text(letter), "{name}");
    }
    assert_eq!(informer.store().list().len(), 3);
    informer.shutdown().await;
}

async fn a_namespace_that_is_deleted_takes_its_objects_with_it(which: Which) {
    let server = which.with_namespace_deletion().await;
    let client = server.client().await;
    let (goes, stays) = (namespace(&client, "goes").await, namespace(&client, "stays").await);
    for number in 0..20 {
        create(&goes, &format!("c{number}"), "1").await;
        create(&stays, &format!("c{number}"), "1").await;
    }
    let informer = SharedInformer::new(KubeSource::<ConfigMap>::all(client.clone(), &()));
    let heard = listen(&informer);
    informer.start();
    synced(&informer).await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.delete("goes", &DeleteParams::default()).await.unwrap();
    until(&informer, "its objects are gone", |_| informer.store().namespaced("goes").is_empty()).await;
    assert_eq!(informer.store().namespaced("stays").len(), 20);
    assert_eq!(in_store(&informer), on_server(&Api::<ConfigMap>::all(client)).await.unwrap());
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    informer.shutdown().await;
}

/// A ConfigMap whose `value` must be a number.
#[derive(Clone, Debug, serde::Deserialize)]
struct Strict {
    metadata: ObjectMeta,
    data: Numbers,
}

#[derive(Clone, Debug, serde::Deserialize)]
struct Numbers {
    #[serde(deserialize_with = "number")]
    value: u32,
}

fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let text: String = serde::Deserialize::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

impl kube_core::Resource for Strict {
    type DynamicType = ();
    type Scope = kube_core::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'_, str> {
        "ConfigMap".into()
    }

    fn group((): &()) -> std::borrow::Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'_, str> {
        "configmaps".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

async fn an_object_that_no_longer_decodes_is_named_and_comes_back(which: Which) {
    let server = which.shared().await;
    let client = server.client().await;
    let configs = namespace(&client, "strict").await;
    create(&configs, "good", "1").await;
    create(&configs, "bad", "none").await;
    let informer = SharedInformer::new(KubeSource::<Strict>::namespaced(client.clone(), "strict", &()));
    let heard = listen(&informer);
    informer.start();
    synced(&informer).await;
    let value = |name: &str| informer.store().get("strict", name).map(|object| object.data.value);
    assert_eq!((value("good"), value("bad")), (Some(1), None));
    let why = informer.status().quarantined["strict/bad"].clone();
    assert!(why.contains("data.value"), "{why}");
    assert!(!why.contains("none"), "the value is not told: {why}");
    crate::replace(&configs, "good", "broken").await;
    until(&informer, "both are named", |status| status.quarantined.len() == 2).await;
    assert_eq!(value("good"), Some(1), "the last good state is kept");
    for name in ["good", "bad"] {
        crate::replace(&configs, name, "7").await;
    }
    until(&informer, "both are back", |status| status.quarantined.is_empty()).await;
    assert_eq!((value("good"), value("bad")), (Some(7), Some(7)));
    caught_up(&informer, &Api::<Strict>::namespaced(client, "strict")).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    informer.shutdown().await;
}
