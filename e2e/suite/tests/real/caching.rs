//! A cache of many kinds.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{Api, ApiResource, DynamicObject, PostParams};
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_core::{PartialObjectMeta, Resource};
use kube_informer::cache::{Cache, CacheOptions, Query};
use kube_informer_e2e::skip;
use serde_json::json;

use crate::{config_map, namespace, quick, shared};

#[tokio::test(flavor = "multi_thread")]
async fn every_type_sees_the_same_object_through_one_watch() {
    if skip() {
        return;
    }
    let client = shared().await.client().await.unwrap();
    namespace(&client, "views").await;
    let web: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": {"a": "b"}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{
                    "name": "c", "image": "i", "args": ["-v", ""],
                    "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "initialDelaySeconds": 3},
                    "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                }], "volumes": [{"name": "v", "configMap": {"name": "m", "optional": true}}]},
            },
        },
    }))
    .unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "views");
    deployments.create(&PostParams::default(), &web).await.unwrap();
    let cache =
        Cache::with(client.clone(), CacheOptions::new().namespaces(["views"]).config(quick())).unwrap();
    cache.start().unwrap();

    let typed = cache.get::<Deployment>("views", "web").await.unwrap();
    let untyped = cache.find("deploy").await.unwrap().get("views", "web").await.unwrap();
    let metadata = cache.get::<PartialObjectMeta<Deployment>>("views", "web").await.unwrap();
    assert_eq!(cache.status().len(), 1, "one is followed");

    let mut live: DynamicObject =
        Api::namespaced_with(client.clone(), "views", &ApiResource::erase::<Deployment>(&()))
            .get("web")
            .await
            .unwrap();
    live.meta_mut().managed_fields = None;
    assert_eq!(*untyped, live, "protobuf to JSON, and JSON itself");
    assert_eq!(metadata.metadata, live.metadata);
    assert_eq!(serde_json::to_value(&*typed).unwrap(), serde_json::to_value(&live).unwrap());
    cache.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_read_though_it_may_not_have_arrived() {
    if skip() {
        return;
    }
    let client = shared().await.client().await.unwrap();
    namespace(&client, "own-writes").await;
    let cache = Cache::with(client, CacheOptions::new().namespaces(["own-writes"]).config(quick())).unwrap();
    cache.start().unwrap();
    let configs = cache.client().field_manager("e2e").kind::<ConfigMap>();
    for round in 0..30 {
        let name = format!("c{round}");
        let mut object = config_map(&name, "1", &[]);
        object.metadata.namespace = Some("own-writes".to_owned());
        let created = configs.create(&object).await.unwrap();
        let read = configs.get("own-writes", &name).await.unwrap();
        assert_eq!(read.metadata.uid, created.metadata.uid);
        let patch = Patch::Merge(json!({"data": {"value": "2"}}));
        configs.patch("own-writes", &name, &PatchParams::default(), &patch).await.unwrap();
        let all = configs.list(&Query::new().namespace("own-writes")).await.unwrap();
        assert_eq!(all.iter().find(|one| one.name() == name).unwrap().data.as_ref().unwrap()["value"], "2");
        configs.delete("own-writes", &name, &DeleteParams::default()).await.unwrap();
        assert!(configs.get("own-writes", &name).await.unwrap_err().is_not_found());
    }
    cache.shutdown().await;
}
