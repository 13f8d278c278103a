//! A cache of many kinds.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{Api, ApiResource, DynamicObject, PostParams};
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_core::{PartialObjectMeta, Resource};
use kube_informer::cache::{Cache, CacheOptions, Query};
use kube_informer_e2e::{on_server, versions};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::heard::Heard;
use crate::servers::{Which, on_both_servers};
use crate::{PATIENCE, config_map, namespace, quick};

on_both_servers! {
    every_type_sees_the_same_object_through_one_watch,
    what_was_written_is_read_though_it_may_not_have_arrived,
    what_was_written_in_one_of_several_namespaces_is_read,
}

/// Waits until what a cache has of a kind in a namespace equals a fresh list, and those who listen have heard of all of it,
/// in an order that makes sense.
async fn agrees<K>(cache: &Cache, api: &Api<K>, namespace: &str, heard: &[Heard])
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let there = on_server(api).await.unwrap();
    let query = Query::new().namespace(namespace);
    let copy = async || versions(cache.list::<K>(&query).await.unwrap().iter().map(|object| &**object));
    let equal = async {
        while copy().await != there {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let equal = tokio::time::timeout(PATIENCE, equal).await.is_ok();
    assert!(equal, "the copy has {:?}, the server has {there:?}", copy().await);
    for heard in heard {
        assert_eq!(heard.all(|| there.clone()).await, Vec::<String>::new());
    }
}

async fn every_type_sees_the_same_object_through_one_watch(which: Which) {
    let server = which.shared().await;
    let client = server.client().await;
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
    // The embedded server does not write an empty one, as Go does.
    let status = Patch::Merge(json!({"status": {"observedGeneration": 1}}));
    deployments.patch_status("web", &PatchParams::default(), &status).await.unwrap();
    let cache =
        Cache::with(client.clone(), CacheOptions::new().namespaces(["views"]).config(quick())).unwrap();
    cache.start().unwrap();
    let heard = [(); 3].map(|()| Heard::default());
    let untyped = cache.find("deploy").await.unwrap();
    cache.kind::<Deployment>().informer().await.unwrap().add_event_handler(heard[0].handler()).unwrap();
    untyped.informer().await.unwrap().add_event_handler(heard[1].handler()).unwrap();
    let metadata = cache.kind::<PartialObjectMeta<Deployment>>().informer().await.unwrap();
    metadata.add_event_handler(heard[2].handler()).unwrap();

    let typed = cache.get::<Deployment>("views", "web").await.unwrap();
    let untyped = untyped.get("views", "web").await.unwrap();
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

    for name in ["comes", "goes"] {
        let mut other = web.clone();
        other.metadata.name = Some(name.to_owned());
        deployments.create(&PostParams::default(), &other).await.unwrap();
    }
    let patch = Patch::Merge(json!({"spec": {"paused": true}}));
    deployments.patch("web", &PatchParams::default(), &patch).await.unwrap();
    deployments.delete("goes", &DeleteParams::default()).await.unwrap();
    agrees(&cache, &deployments, "views", &heard).await;
    assert_eq!(cache.status().len(), 1, "one is followed");
    cache.shutdown().await;
}

async fn what_was_written_is_read_though_it_may_not_have_arrived(which: Which) {
    let server = which.shared().await;
    let client = server.client().await;
    namespace(&client, "own-writes").await;
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "own-writes");
    let cache = Cache::with(client, CacheOptions::new().namespaces(["own-writes"]).config(quick())).unwrap();
    cache.start().unwrap();
    let heard = Heard::default();
    let informer = cache.kind::<ConfigMap>().informer().await.unwrap();
    informer.add_event_handler(heard.handler()).unwrap();
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
        // Some stay.
        if round % 3 > 0 {
            configs.delete("own-writes", &name, &DeleteParams::default()).await.unwrap();
            assert!(configs.get("own-writes", &name).await.unwrap_err().is_not_found());
        }
    }
    agrees(&cache, &api, "own-writes", &[heard]).await;
    assert_eq!(cache.list::<ConfigMap>(&Query::new()).await.unwrap().len(), 10);
    cache.shutdown().await;
}

async fn what_was_written_in_one_of_several_namespaces_is_read(which: Which) {
    let server = which.shared().await;
    let client = server.client().await;
    for name in ["own-one", "own-two"] {
        namespace(&client, name).await;
    }
    let options = CacheOptions::new().namespaces(["own-one", "own-two"]).config(quick());
    let cache = Cache::with(client, options).unwrap();
    cache.start().unwrap();
    let configs = cache.client().field_manager("e2e").kind::<ConfigMap>();
    configs.list(&Query::new()).await.unwrap();
    for round in 0..5 {
        let name = format!("c{round}");
        let mut object = config_map(&name, "1", &[]);
        object.metadata.namespace = Some("own-one".to_owned());
        configs.create(&object).await.unwrap();
        configs.get("own-one", &name).await.unwrap();
        configs.delete("own-one", &name, &DeleteParams::default()).await.unwrap();
        let gone = configs.get("own-one", &name).await.unwrap_err();
        assert!(gone.is_not_found(), "{gone}");
    }
    cache.shutdown().await;
}
