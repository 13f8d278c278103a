//! A copy follows a server that has bad days: killed, cut off, forgetful, replaced.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_client::api::Api;
use kube_informer::SharedInformer;
use kube_informer::reflector::{Config, Failure};
use kube_informer::source::{KubeSource, SourceError};
use kube_informer_e2e::{Options, Proxy, RealServer, skip};
use parking_lot::Mutex;

use crate::heard::{Heard, listen};
use crate::servers::{Which, client, on_both_servers};
use crate::{caught_up, create, delete, namespace, quick, replace, start, synced, trouble, until};

on_both_servers! {
    a_server_without_a_watch_cache_answers_410_after_compaction_and_is_listed_anew,
    a_connection_that_says_nothing_any_more_is_noticed,
    a_network_that_is_gone_is_in_the_status_until_it_is_back,
}

/// What went wrong while an informer followed, and what a handler heard.
struct Seen {
    errors: Arc<Mutex<Vec<SourceError>>>,
    heard: Heard,
}

impl Seen {
    /// Waits until the copy equals a fresh list, and the handler has heard of all of it, in an order that makes sense.
    async fn agrees(&self, informer: &SharedInformer<ConfigMap>, configs: &Api<ConfigMap>) {
        caught_up(informer, configs).await;
        assert_eq!(self.heard.all_of(informer).await, Vec::<String>::new());
    }
}

/// An informer of the default namespace that goes through a proxy.
async fn through(proxy: &Proxy, server: &RealServer) -> (SharedInformer<ConfigMap>, Seen) {
    follow(patient(server.config_at(&proxy.url()).await.unwrap()), "default", quick())
}

/// While a server restarts, a frozen connection is waited for, however long that takes.
fn patient(mut config: kube_client::Config) -> Client {
    config.connect_timeout = None;
    client(config)
}

fn follow(client: Client, namespace: &str, config: Config) -> (SharedInformer<ConfigMap>, Seen) {
    let errors = Arc::default();
    let log: Arc<Mutex<Vec<SourceError>>> = Arc::clone(&errors);
    let informer = SharedInformer::builder(KubeSource::namespaced(client, namespace, &()))
        .config(config)
        .on_error(move |error| log.lock().push(error.clone()))
        .build();
    let heard = listen(&informer);
    informer.start();
    (informer, Seen { errors, heard })
}

fn expired(seen: &Seen) -> bool {
    seen.errors.lock().iter().any(|error| error.failure == Failure::Expired && error.code == 410)
}

/// A server with a few objects.
async fn own(options: Options) -> (RealServer, Api<ConfigMap>) {
    let server = start(options).await;
    let configs = begin(server.client().await.unwrap()).await;
    (server, configs)
}

/// A few objects.
async fn begin(client: Client) -> Api<ConfigMap> {
    let configs = Api::default_namespaced(client);
    for name in ["changes", "goes", "stays"] {
        create(&configs, name, "1").await;
    }
    configs
}

/// Changes a bit of everything.
async fn change(configs: &Api<ConfigMap>) {
    replace(configs, "changes", "2").await;
    delete(configs, "goes").await;
    create(configs, "comes", "1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_that_comes_back_is_followed_from_where_it_was() {
    if skip() {
        return;
    }
    let (mut server, configs) = own(Options::new()).await;
    let (informer, seen) = follow(server.client().await.unwrap(), "default", quick());
    synced(&informer).await;
    server.kill();
    until(&informer, "the outage is in the status", |status| trouble(status) == Some(0)).await;
    assert_eq!(informer.store().list().len(), 3, "the copy is kept meanwhile");
    server.restart().await.unwrap();
    change(&configs).await;
    seen.agrees(&informer, &configs).await;
    until(&informer, "the trouble is over", |status| status.trouble.is_none()).await;
    assert!(!expired(&seen), "nothing was forgotten: {:?}", seen.errors.lock());
    informer.shutdown().await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_while_the_connection_is_cut_are_caught_up_with_after_a_restart() {
    if skip() {
        return;
    }
    let (mut server, configs) = own(Options::new()).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let (informer, seen) = through(&proxy, &server).await;
    synced(&informer).await;
    proxy.freeze();
    proxy.cut();
    server.restart().await.unwrap();
    change(&configs).await;
    proxy.thaw();
    seen.agrees(&informer, &configs).await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_that_has_forgotten_answers_410_and_is_listed_anew() {
    if skip() {
        return;
    }
    let (mut server, configs) = own(Options::new()).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let (informer, seen) = through(&proxy, &server).await;
    synced(&informer).await;
    proxy.freeze();
    proxy.cut();
    change(&configs).await;
    server.compact().await.unwrap();
    server.restart().await.unwrap();
    // The watch cache begins with the present.
    create(&configs, "last", "1").await;
    proxy.thaw();
    seen.agrees(&informer, &configs).await;
    assert!(expired(&seen), "{:?}", seen.errors.lock());
    assert_eq!(informer.status().lists, 2);
    informer.shutdown().await;
}

async fn a_server_without_a_watch_cache_answers_410_after_compaction_and_is_listed_anew(which: Which) {
    let server = which.without_watch_cache().await;
    let configs = begin(server.client().await).await;
    let (proxy, config) = server.proxy().await;
    let (informer, seen) = follow(patient(config), "default", quick());
    synced(&informer).await;
    for value in ["2", "3", "4"] {
        replace(&configs, "stays", value).await;
    }
    // What was not sent yet may be lost with it.
    seen.agrees(&informer, &configs).await;
    server.compact().await;
    replace(&configs, "stays", "5").await;
    seen.agrees(&informer, &configs).await;
    assert_eq!(informer.status().lists, 1, "a watch that is open is not ended by it");
    proxy.freeze();
    proxy.cut();
    change(&configs).await;
    server.compact().await;
    proxy.thaw();
    seen.agrees(&informer, &configs).await;
    assert!(expired(&seen), "{:?}", seen.errors.lock());
    assert_eq!(informer.status().lists, 2);
    informer.shutdown().await;
}

async fn a_connection_that_says_nothing_any_more_is_noticed(which: Which) {
    let server = which.shared().await;
    let configs = namespace(&server.client().await, "silence").await;
    let (proxy, through) = server.proxy().await;
    let mut config = quick();
    config.silence = Duration::from_secs(2);
    let (informer, seen) = follow(client(through), "silence", config);
    synced(&informer).await;
    let before = proxy.connections();
    proxy.forget_open();
    create(&configs, "unheard", "1").await;
    seen.agrees(&informer, &configs).await;
    assert!(proxy.connections() > before, "it came over a new connection");
    informer.shutdown().await;
}

async fn a_network_that_is_gone_is_in_the_status_until_it_is_back(which: Which) {
    let server = which.shared().await;
    let configs = namespace(&server.client().await, "network").await;
    let (proxy, through) = server.proxy().await;
    let mut config = quick();
    config.silence = Duration::from_secs(1);
    let (informer, seen) = follow(client(through), "network", config);
    synced(&informer).await;
    proxy.freeze();
    create(&configs, "unheard", "1").await;
    until(&informer, "the outage is in the status", |status| status.trouble.is_some()).await;
    proxy.thaw();
    seen.agrees(&informer, &configs).await;
    until(&informer, "the trouble is over", |status| status.trouble.is_none()).await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_informer_moves_to_another_server_of_the_same_cluster() {
    if skip() {
        return;
    }
    let (first, configs) = own(Options::new()).await;
    let mut second = first.second_on_same_etcd(Options::new()).await.unwrap();
    let proxy = Proxy::start(second.address()).await.unwrap();
    let (informer, seen) = through(&proxy, &second).await;
    synced(&informer).await;
    proxy.retarget(first.address());
    second.kill();
    change(&configs).await;
    seen.agrees(&informer, &configs).await;
    assert!(!expired(&seen), "the first has the whole history: {:?}", seen.errors.lock());
    assert_eq!(informer.status().lists, 1, "{:?}", seen.errors.lock());
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_the_server_itself_cannot_read_is_trouble_that_ends() {
    if skip() {
        return;
    }
    let (server, configs) = own(Options::new()).await;
    let (informer, seen) = follow(server.client().await.unwrap(), "default", quick());
    synced(&informer).await;
    let key = "/registry/configmaps/default/changes";
    let stored = server.stored(key).await.unwrap();
    server.store(key, b"nobody can read this").await.unwrap();
    // One that cannot be read is enough: after a while the server answers nobody who asks for the kind.
    until(&informer, "the server has nothing to say", |status| trouble(status) == Some(429)).await;
    assert_eq!(informer.store().list().len(), 3, "the copy is kept meanwhile");
    server.store(key, &stored).await.unwrap();
    until(&informer, "the trouble is over", |status| status.trouble.is_none()).await;
    change(&configs).await;
    seen.agrees(&informer, &configs).await;
    informer.shutdown().await;
}
