//! Kinds that come and go.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube_core::GroupVersionKind;
use kube_informer::SharedInformer;
use kube_informer::cache::{Cache, CacheError, CacheOptions, Query};
use kube_informer::informer::Phase;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{in_store, on_server};
use serde_json::json;

use crate::heard::{Heard, listen};
use crate::servers::{Which, on_both_servers};
use crate::{PATIENCE, quick, synced, trouble, until};

on_both_servers! {
    a_definition_that_is_deleted_and_installed_again_with_another_version_is_followed_again,
    a_kind_of_a_cache_rests_while_its_definition_is_gone_and_comes_back_with_it,
}

const GROUP: &str = "e2e.example.com";

/// The kind of widgets of a group, in a version.
pub(crate) fn widget(group: &str, version: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, "Widget"))
}

/// Installs the definition of widgets with these versions; the last is the one that is stored.
pub(crate) async fn install(client: &Client, group: &str, versions: &[&str]) {
    let versions: Vec<_> = versions
        .iter()
        .map(|name| {
            json!({
                "name": name,
                "served": true,
                "storage": Some(name) == versions.last(),
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                } },
            })
        })
        .collect();
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": versions,
        },
    }))
    .unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    // Right after it was deleted, the old one may still be going.
    let installed = async {
        while let Err(error) = definitions.create(&PostParams::default(), &definition).await {
            assert!(matches!(&error, kube_client::Error::Api(status) if status.code == 409), "{error}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, installed).await.expect("it can be installed");
}

/// Makes an object as soon as its kind is served.
pub(crate) async fn create(widgets: &Api<DynamicObject>, widget: &DynamicObject) -> DynamicObject {
    let created = async {
        loop {
            match widgets.create(&PostParams::default(), widget).await {
                Ok(created) => return created,
                // Not served yet, or its storage is being made.
                Err(kube_client::Error::Api(status)) if matches!(status.code, 404 | 429) => {}
                Err(error) => panic!("{error}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, created).await.expect("it can be made")
}

fn of_size(kind: &ApiResource, size: u32) -> DynamicObject {
    DynamicObject::new("w", kind).data(json!({ "spec": { "size": size } }))
}

async fn a_definition_that_is_deleted_and_installed_again_with_another_version_is_followed_again(
    which: Which,
) {
    let server = which.shared().await;
    let client = server.client().await;
    let kind = widget(GROUP, "v1");
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &kind);
    let source = KubeSource::<DynamicObject>::all(client.clone(), &kind);
    let informer = SharedInformer::builder(source).config(quick()).build();
    let heard = listen(&informer);
    informer.start();
    until(&informer, "there is no such kind", |status| trouble(status) == Some(404)).await;

    install(&client, GROUP, &["v1"]).await;
    synced(&informer).await;
    create(&widgets, &of_size(&kind, 1)).await;
    until(&informer, "the object is there", |status| status.objects == 1).await;

    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.delete(&format!("widgets.{GROUP}"), &DeleteParams::default()).await.unwrap();
    until(&informer, "the object went with its kind", |status| status.objects == 0).await;
    until(&informer, "there is no such kind any more", |status| trouble(status) == Some(404)).await;

    // It comes back with another version, in which its objects are stored and written.
    install(&client, GROUP, &["v1", "v2"]).await;
    let newer = widget(GROUP, "v2");
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &newer);
    create(&widgets, &of_size(&newer, 2)).await;
    until(&informer, "the new object is there", |status| status.objects == 1).await;
    let there = informer.store().get("default", "w").unwrap();
    assert_eq!(there.data["spec"]["size"], 2);
    until(&informer, "the trouble is over", |status| status.trouble.is_none()).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    assert_eq!(in_store(&informer), on_server(&widgets).await.unwrap());
    informer.shutdown().await;
}

async fn a_kind_of_a_cache_rests_while_its_definition_is_gone_and_comes_back_with_it(which: Which) {
    const GROUP: &str = "resting.example.com";
    let server = which.shared().await;
    let client = server.client().await;
    let kind = widget(GROUP, "v1");
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &kind);
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let cache = Cache::with(client.clone(), CacheOptions::new().config(quick())).unwrap();
    cache.start().unwrap();
    let cached = cache.kind_of::<DynamicObject>(&kind);
    let size = |one: &DynamicObject| Some(one.data["spec"]["size"].to_string());
    cached.add_index("size", size).await.unwrap();
    let informer = cached.informer_now().await.unwrap();
    let heard = Heard::default();
    informer.add_event_handler(heard.handler()).unwrap();
    let mut status = informer.watch_status();
    // The first time it has never been there.
    for size in 1..=3 {
        let rests = status.wait_for(|status| status.phase == Phase::Resting && status.objects == 0);
        let errors = tokio::time::timeout(PATIENCE, rests).await.expect("it goes on to ask").unwrap().errors;
        let error = cached.list(&Query::new()).await.unwrap_err();
        assert!(matches!(&error, CacheError::CannotSync { cause, .. } if cause.code == 404), "{error}");
        // Six times as long as it waits at most between two requests.
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        assert_eq!(informer.status().errors, errors, "nobody asks");

        install(&client, GROUP, &["v1"]).await;
        create(&widgets, &of_size(&kind, size)).await;
        let back = status.wait_for(|status| status.objects == 1 && status.trouble.is_none());
        tokio::time::timeout(PATIENCE, back).await.expect("it does not come back").unwrap();
        let found = cached.list(&Query::new().index("size", size.to_string())).await.unwrap();
        assert_eq!(found.len(), 1);
        let there = on_server(&widgets).await.unwrap();
        assert_eq!(heard.all(|| there.clone()).await, Vec::<String>::new());
        definitions.delete(&format!("widgets.{GROUP}"), &DeleteParams::default()).await.unwrap();
    }
    assert_eq!(heard.all(Default::default).await, Vec::<String>::new(), "it went with its definition");
    cache.shutdown().await;
}
