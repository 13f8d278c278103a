//! What makes no sense is an error value that says what is wrong, at once, and the server is not asked.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_core::{ApiResource, DynamicObject};
use kube_informer::cache::{Cache, CacheError, CacheOptions, KindOptions, Missing, ObjectOptions, Query};
use kube_informer::{SharedInformer, SharedInformerFactory, source::KubeSource};
use serde_json::json;

use super::{cache, of_config_maps, server, three};

fn resource(group: &str, version: &str, plural: &str) -> ApiResource {
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let [group, version, plural] = [group, version, plural].map(str::to_owned);
    ApiResource { group, version, api_version, kind: "Odd".to_owned(), plural }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_a_kind_is_refused() {
    let server = server().await;
    for missing in [Missing::Start, Missing::Live] {
        let cache = cache(&server, CacheOptions::new().missing(missing));
        for (kind, why) in [
            (resource("", "v1", ""), "the resource and its version must be named"),
            (resource("apps", "", "deployments"), "the resource and its version must be named"),
            (
                resource("", "v1", "pods/status"),
                "a part of a resource cannot be followed; follow the resource",
            ),
            (resource("", "v1", "pods?watch=true"), "names are made of letters, digits, dots and dashes"),
            (resource("..", "v1", "pods"), "names are made of letters, digits, dots and dashes"),
            (resource("a b", "v1", "pods"), "names are made of letters, digits, dots and dashes"),
            (resource("", "v1", "\n"), "names are made of letters, digits, dots and dashes"),
        ] {
            let kind = cache.kind_of::<DynamicObject>(&kind);
            let read = kind.get("shop", "a").await.unwrap_err();
            assert!(matches!(&read, CacheError::NotAResource { why: said, .. } if said == why), "{read}");
            assert_eq!(kind.list(&Query::new()).await.unwrap_err(), read);
            assert_eq!(kind.informer_now().await.unwrap_err(), read);
            let written = cache.client().kind_of::<DynamicObject>(&resource("", "v1", "a/b"));
            let written = written.delete("shop", "a", &DeleteParams::default()).await.unwrap_err();
            assert!(matches!(&written, CacheError::NotAResource { .. }), "{written}");
        }
    }
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_a_namespace_is_refused_by_everybody() {
    let server = server().await;
    let client = server.in_process_client();
    for name in ["a b", "../secrets", "shop/pods?x=", "..", "a%2fb"] {
        let refused = CacheError::BadNamespace { namespace: name.to_owned() };
        let with = |options: CacheOptions| Cache::with(client.clone(), options).map(drop).unwrap_err();
        assert_eq!(with(CacheOptions::new().namespaces([name])), refused);
        assert_eq!(with(CacheOptions::new().namespace(name, ObjectOptions::new())), refused);
        assert_eq!(
            with(CacheOptions::new().kind::<ConfigMap>(KindOptions::new().namespaces(["ok", name]))),
            refused
        );
        let cache = cache(&server, CacheOptions::new());
        assert_eq!(cache.change(|options| options.namespaces([name])).unwrap_err(), refused);
        let mut config = ConfigMap::default();
        (config.metadata.name, config.metadata.namespace) = (Some("a".to_owned()), Some(name.to_owned()));
        assert_eq!(cache.client().kind::<ConfigMap>().create(&config).await.unwrap_err(), refused);

        let factory = SharedInformerFactory::builder(client.clone()).namespace(name).build();
        let error = factory.of::<ConfigMap>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("the namespaces of the informer factory: {name:?} cannot be the name of a namespace")
        );
        let informer = SharedInformer::new(KubeSource::<ConfigMap>::namespaced(client.clone(), name, &()));
        let mut status = informer.watch_status();
        informer.start();
        let status = status.wait_for(|status| status.trouble.is_some()).await.unwrap();
        let said = status.trouble.as_ref().unwrap().error.to_string();
        assert_eq!(said, format!("{name:?} cannot be the name of a namespace"));
    }
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

#[tokio::test(start_paused = true)]
async fn there_is_nothing_under_a_name_that_leads_elsewhere() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    of_config_maps(&cache).await;
    server.clear_requests();
    let configs = cache.client().kind::<ConfigMap>();
    for (namespace, name) in
        [("bank", "../x"), ("bank", "../../shop/configmaps/a"), ("shop", ".."), ("", "shop/a")]
    {
        assert!(cache.get::<ConfigMap>(namespace, name).await.unwrap_err().is_not_found(), "{name}");
        let deleted = configs.delete(namespace, name, &DeleteParams::default()).await.unwrap_err();
        assert!(deleted.is_not_found(), "{name}: {deleted}");
        let patch = Patch::Merge(json!({"data": {"a": "b"}}));
        let params = PatchParams::default();
        assert!(configs.patch(namespace, name, &params, &patch).await.unwrap_err().is_not_found());
        assert!(configs.patch_status(namespace, name, &params, &patch).await.unwrap_err().is_not_found());
        let mut config = ConfigMap::default();
        config.metadata.name = Some(name.to_owned());
        config.metadata.namespace = Some(namespace.to_owned());
        assert!(configs.replace(&config).await.unwrap_err().is_not_found());
        assert!(configs.replace_status(&config).await.unwrap_err().is_not_found());
    }
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

#[tokio::test(start_paused = true)]
async fn an_index_cannot_take_the_place_of_that_of_namespaces() {
    let server = server().await;
    three(&server);
    let cache = cache(&server, CacheOptions::new());
    let kind = cache.kind::<ConfigMap>();
    let error =
        kind.add_index("namespace", |config: &ConfigMap| config.metadata.name.clone()).await.unwrap_err();
    assert!(matches!(&error, CacheError::Index(_)), "{error}");
    assert_eq!(kind.list(&Query::new().index("namespace", "shop")).await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_index_is_added_though_the_kind_cannot_be_had() {
    let server = server().await;
    server.inject(kube_testserver::Fault::no_reply().resource("configmaps"));
    let cache = cache(&server, CacheOptions::new());
    let began = tokio::time::Instant::now();
    let name = |config: &ConfigMap| config.metadata.name.clone();
    cache.kind::<ConfigMap>().add_index("name", name).await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[test]
fn a_cache_needs_a_runtime_to_start_and_none_to_be_changed_and_dropped() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (server, client) = runtime.block_on(async {
        let server = server().await;
        three(&server);
        let client = server.client().unwrap();
        (server, client)
    });
    let cache = Cache::new(client);
    let error = cache.start().unwrap_err().to_string();
    assert_eq!(error, "there is no tokio runtime here; call it inside one, or enter one first");
    runtime.block_on(async {
        cache.start().unwrap();
        assert_eq!(of_config_maps(&cache).await.len(), 3);
    });
    cache.change(|options| options.resync(Duration::from_secs(60)).namespaces(["shop"])).unwrap();
    let informer = runtime.block_on(async {
        assert_eq!(of_config_maps(&cache).await.len(), 2, "what is changed elsewhere is followed too");
        cache.kind::<ConfigMap>().informer().await.unwrap()
    });
    drop(cache);
    assert!(informer.is_stopped());
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_has_been_shut_down_cannot_be_changed() {
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    cache.shutdown().await;
    assert_eq!(cache.change(|options| options.namespaces(["shop"])).unwrap_err(), CacheError::ShutDown);
}
