//! Informers on a real kube-apiserver: what the embedded server is believed to do, done by the real one.
//!
//! Time is real here. Tests share one server, each with a namespace of its own; those that hurt a server have their own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod access;
mod caching;
mod cluster;
mod complete;
mod coordinated;
mod definitions;
mod elections;
mod encodings;
mod endings;
mod events;
mod following;
mod harness;
mod heard;
mod load;
mod luck;
mod negotiation;
mod outages;
mod overload;
mod restored;
mod sample;
mod servers;
mod tokens;
mod workloads;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube_client::{Client, Resource};
use kube_informer::SharedInformer;
use kube_informer::informer::InformerStatus;
use kube_informer::reflector::Config;
use kube_informer_e2e::{Options, RealServer};
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

/// Nothing here takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The token of a user without rights.
const TOKEN: &str = "token-of-alice";

/// The server for tests that leave it as it was.
async fn shared() -> &'static RealServer {
    static SERVER: OnceCell<RealServer> = OnceCell::const_new();
    let options = Options::new().rbac().token(TOKEN, "alice");
    SERVER.get_or_init(|| start(options)).await
}

async fn start(options: Options) -> RealServer {
    // In its own words: they say what to do.
    RealServer::start(options).await.unwrap_or_else(|error| panic!("{error}"))
}

/// Short waits, so that tests are short; otherwise the defaults.
fn quick() -> Config {
    let mut config = Config::default();
    config.backoff_initial = Duration::from_millis(50);
    config.backoff_max = Duration::from_millis(500);
    config
}

/// Makes a namespace for one test; returns its configs.
async fn namespace(client: &Client, name: &str) -> Api<ConfigMap> {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    Api::namespaced(client.clone(), name)
}

fn config_map(name: &str, value: &str, labels: &[(&str, &str)]) -> ConfigMap {
    let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let labels: BTreeMap<String, String> = labels.iter().map(text).collect();
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() };
    ConfigMap {
        metadata,
        data: Some([("value".to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}

async fn create(configs: &Api<ConfigMap>, name: &str, value: &str) {
    configs.create(&PostParams::default(), &config_map(name, value, &[])).await.unwrap();
}

async fn replace(configs: &Api<ConfigMap>, name: &str, value: &str) {
    configs.replace(name, &PostParams::default(), &config_map(name, value, &[])).await.unwrap();
}

async fn delete(configs: &Api<ConfigMap>, name: &str) {
    configs.delete(name, &DeleteParams::default()).await.unwrap();
}

/// Waits until the informer has synced.
async fn synced<K: Resource + Send + Sync + 'static>(informer: &SharedInformer<K>) {
    let synced = tokio::time::timeout(PATIENCE, informer.synced()).await;
    assert!(synced.unwrap_or_else(|_| panic!("it never synced: {:?}", informer.status())));
}

/// Waits until the informer's status is as described.
async fn until<K: Resource + Send + Sync + 'static>(
    informer: &SharedInformer<K>,
    what: &str,
    is_so: impl FnMut(&InformerStatus) -> bool,
) {
    let mut status = informer.watch_status();
    let reached = tokio::time::timeout(PATIENCE, status.wait_for(is_so)).await.is_ok();
    assert!(reached, "{what}: {:?}", informer.status());
}

/// The HTTP code of what is wrong; none while all is well.
fn trouble(status: &InformerStatus) -> Option<u16> {
    status.trouble.as_ref().map(|trouble| trouble.error.code)
}

/// Waits until the copy equals a fresh list.
async fn caught_up<K>(informer: &SharedInformer<K>, api: &Api<K>)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let different = kube_informer_e2e::caught_up(informer, api, PATIENCE).await.err();
    assert!(different.is_none(), "{}: {:?}", different.unwrap(), informer.status());
}
