//! Kinds that come and go.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube_core::GroupVersionKind;
use kube_informer::SharedInformer;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{in_store, on_server, skip};
use serde_json::json;

use crate::heard::listen;
use crate::{PATIENCE, quick, shared, synced, trouble, until};

const DEFINITION: &str = "widgets.e2e.example.com";

/// Installs the definition with these versions; the last is the one that is stored.
async fn install(client: &Client, versions: &[&str]) {
    let versions: Vec<_> = versions
        .iter()
        .map(|name| {
            json!({
                "name": name,
                "served": true,
                "storage": Some(name) == versions.last(),
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": { "type": "object", "properties": { "size": { "type": "integer" } } } },
                } },
            })
        })
        .collect();
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": DEFINITION },
        "spec": {
            "group": "e2e.example.com",
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
async fn create(widgets: &Api<DynamicObject>, kind: &ApiResource, size: u32) {
    let widget = DynamicObject::new("w", kind).data(json!({ "spec": { "size": size } }));
    let created = async {
        while let Err(error) = widgets.create(&PostParams::default(), &widget).await {
            // Not served yet, or its storage is being made.
            assert!(
                matches!(&error, kube_client::Error::Api(status) if matches!(status.code, 404 | 429)),
                "{error}"
            );
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, created).await.expect("it can be made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_is_deleted_and_installed_again_with_another_version_is_followed_again() {
    if skip() {
        return;
    }
    let client = shared().await.client().await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("e2e.example.com", "v1", "Widget"));
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &kind);
    let source = KubeSource::<DynamicObject>::all(client.clone(), &kind);
    let informer = SharedInformer::builder(source).config(quick()).build();
    let heard = listen(&informer);
    informer.start();
    until(&informer, "there is no such kind", |status| trouble(status) == Some(404)).await;

    install(&client, &["v1"]).await;
    synced(&informer).await;
    create(&widgets, &kind, 1).await;
    until(&informer, "the object is there", |status| status.objects == 1).await;

    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.delete(DEFINITION, &DeleteParams::default()).await.unwrap();
    until(&informer, "the object went with its kind", |status| status.objects == 0).await;
    until(&informer, "there is no such kind any more", |status| trouble(status) == Some(404)).await;

    // It comes back with another version, in which its objects are stored and written.
    install(&client, &["v1", "v2"]).await;
    let newer = ApiResource::from_gvk(&GroupVersionKind::gvk("e2e.example.com", "v2", "Widget"));
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &newer);
    create(&widgets, &newer, 2).await;
    until(&informer, "the new object is there", |status| status.objects == 1).await;
    let widget = informer.store().get("default", "w").unwrap();
    assert_eq!(widget.data["spec"]["size"], 2);
    until(&informer, "the trouble is over", |status| status.trouble.is_none()).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    assert_eq!(in_store(&informer), on_server(&widgets).await.unwrap());
    informer.shutdown().await;
}
