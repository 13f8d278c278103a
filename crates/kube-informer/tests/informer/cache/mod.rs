//! Many kinds behind one reader.

mod bad_input;
mod changing;
mod client;
mod extent;
mod gone;
mod kinds;
mod options;
mod reading;
mod regressions;
mod resync;
mod scopes;
mod uncertain;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::params::{DeleteParams, Patch, PatchParams};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, Resource};
use kube_informer::Object;
use kube_informer::cache::{Cache, CacheError, CacheOptions, Query};
use kube_testserver::TestServer;
use serde::de::DeserializeOwned;

async fn server() -> TestServer {
    TestServer::builder().create_namespaces(true).start().await.unwrap()
}

/// A cache that has been started.
pub(crate) fn cache(server: &TestServer, options: CacheOptions) -> Cache {
    let cache = Cache::with(server.in_process_client(), options).unwrap();
    cache.start().unwrap();
    cache
}

fn write(server: &TestServer, namespace: &str, name: &str, app: &str) {
    let metadata = format!("{{name: {name}, namespace: {namespace}, labels: {{app: {app}}}}}");
    let object = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}, data: {{value: '1'}}}}");
    server.seed(&object).unwrap();
}

fn three(server: &TestServer) {
    write(server, "shop", "a", "web");
    write(server, "shop", "b", "db");
    write(server, "bank", "c", "web");
}

fn keys<K>(objects: impl IntoIterator<Item = Object<K>>) -> BTreeSet<String> {
    objects.into_iter().map(|object| object.key().to_owned()).collect()
}

fn set<const N: usize>(keys: [&str; N]) -> BTreeSet<String> {
    keys.map(str::to_owned).into()
}

fn config_maps() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"))
}

/// How many watches of a resource have been opened.
fn watches(server: &TestServer, resource: &str) -> usize {
    let is_it = |path: &str| path.split('?').next().unwrap_or(path).ends_with(&format!("/{resource}"));
    let requests = server.requests();
    requests.iter().filter(|one| is_it(&one.path) && one.parameter("watch").is_some()).count()
}

async fn all<K>(cache: &Cache) -> Result<BTreeSet<String>, CacheError>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    Ok(keys(cache.list::<K>(&Query::new()).await?))
}

async fn of_config_maps(cache: &Cache) -> BTreeSet<String> {
    all::<ConfigMap>(cache).await.unwrap()
}

/// What a program may do on a task of its own.
#[tokio::test(start_paused = true)]
async fn everything_that_waits_can_be_sent_to_another_thread() {
    fn is_send(_: impl Send) {}
    let server = server().await;
    let cache = cache(&server, CacheOptions::new());
    let (kind, query) = (dynamic(&cache), Query::new());
    is_send(cache.find("cm"));
    is_send(cache.get::<ConfigMap>("shop", "a"));
    is_send(cache.list::<ConfigMap>(&query));
    is_send(cache.synced());
    is_send(kind.get("shop", "a"));
    is_send(kind.list(&query));
    is_send(kind.informer());
    is_send(kind.informer_now());
    is_send(kind.add_index("name", |object: &DynamicObject| object.metadata.name.clone()));
    is_send(kind.remove());
    let writer = cache.client().kind::<ConfigMap>();
    let (object, params, patch) =
        (ConfigMap::default(), PatchParams::default(), Patch::Merge(serde_json::json!({})));
    is_send(writer.get("shop", "a"));
    is_send(writer.list(&query));
    is_send(writer.create(&object));
    is_send(writer.replace(&object));
    is_send(writer.replace_status(&object));
    is_send(writer.patch("shop", "a", &params, &patch));
    is_send(writer.patch_status("shop", "a", &params, &patch));
    is_send(writer.delete("shop", "a", &DeleteParams::default()));
    is_send(cache.shutdown());
    let factory = kube_informer::SharedInformerFactory::new(server.in_process_client());
    is_send(factory.wait_for_cache_sync());
    is_send(factory.shutdown_of::<ConfigMap>());
    is_send(factory.shutdown());
    is_send(kube_informer::discovery::Resources::fetch(&server.in_process_client()));
}

fn dynamic(cache: &Cache) -> kube_informer::cache::Kind<DynamicObject> {
    cache.kind_of(&config_maps())
}
