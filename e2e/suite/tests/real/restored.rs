//! A copy follows a server whose etcd is restored from a snapshot: without and with a revision bump, with watches that were open
//! and with watches that could not be reopened before.

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{Api, WatchParams};
use kube_informer::SharedInformer;
use kube_informer::reflector::Reason;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{Options, Proxy, RealServer, skip};

use crate::servers::client;
use crate::{PATIENCE, caught_up, create, quick, replace, start, synced};

fn version(object: &ConfigMap) -> u64 {
    object.metadata.resource_version.as_ref().unwrap().parse().unwrap()
}

/// A server, a snapshot of it with one object, and an informer that has seen more than the snapshot has.
struct Trial {
    server: RealServer,
    proxy: Proxy,
    configs: Api<ConfigMap>,
    informer: SharedInformer<ConfigMap>,
    snapshot: Vec<u8>,
}

impl Trial {
    async fn begin() -> Self {
        let server = start(Options::new()).await;
        let configs: Api<ConfigMap> = Api::default_namespaced(server.client().await.unwrap());
        create(&configs, "changes", "1").await;
        create(&configs, "stays", "1").await;
        let snapshot = server.snapshot().await.unwrap();
        let proxy = Proxy::start(server.address()).await.unwrap();
        let mut config = server.config_at(&proxy.url()).await.unwrap();
        config.connect_timeout = None;
        let source = KubeSource::namespaced(client(config), "default", &());
        let informer = SharedInformer::builder(source).config(quick()).build();
        informer.start();
        synced(&informer).await;
        // Some more versions, so that the copy's one is out of reach for a while.
        for number in 0..5 {
            replace(&configs, "changes", &format!("lost-{number}")).await;
        }
        for number in 0..40 {
            create(&configs, &format!("lost-{number}"), "1").await;
        }
        caught_up(&informer, &configs).await;
        Self { server, proxy, configs, informer, snapshot }
    }

    fn epoch(&self) -> u64 {
        self.informer.store().epoch()
    }

    fn relists(&self, reason: Reason) -> u64 {
        self.informer.status().relists.get(&reason).copied().unwrap_or_default()
    }

    /// The copy has what the server has, also where the version has stood for other content before.
    async fn agrees(&self) {
        caught_up(&self.informer, &self.configs).await;
        for object in self.configs.list(&Default::default()).await.unwrap() {
            let name = object.metadata.name.as_deref().unwrap();
            let copy = self.informer.store().get("default", name).unwrap();
            assert_eq!(copy.data, object.data, "{name} at version {}", copy.resource_version());
        }
        assert!(self.informer.store().get("default", "lost-3").is_none());
    }

    async fn end(self) {
        self.informer.shutdown().await;
        self.server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_was_open_when_the_server_was_restored_is_replaced_by_a_list_of_another_epoch() {
    if skip() {
        return;
    }
    let mut trial = Trial::begin().await;
    trial.server.restore(&trial.snapshot, 0).await.unwrap();
    replace(&trial.configs, "changes", "restored").await;
    trial.agrees().await;
    assert_eq!((trial.epoch(), trial.relists(Reason::VersionWentBack)), (1, 1));
    // What happens from then on is heard.
    replace(&trial.configs, "stays", "restored").await;
    trial.agrees().await;
    trial.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_stands_for_other_content_after_the_restore_is_not_taken_for_what_it_was() {
    if skip() {
        return;
    }
    let mut trial = Trial::begin().await;
    let mut lost: Vec<(u64, String)> = Vec::new();
    for object in trial.configs.list(&Default::default()).await.unwrap() {
        let name = object.metadata.name.clone().unwrap();
        // The snapshot has none of these; `agrees` expects that one of them does not come back.
        if name.starts_with("lost-") && name != "lost-3" {
            lost.push((version(&object), name));
        }
    }
    lost.sort();
    trial.proxy.freeze();
    trial.proxy.cut();
    trial.server.restore(&trial.snapshot, 0).await.unwrap();
    // Out of the informer's sight an object comes back with other content, just when the server gives its version again. If the
    // server gives that version to something of its own, it is the turn of the next object.
    let at_same_version = async {
        let mut now = 0;
        for (before, name) in &lost {
            while now + 1 < *before {
                replace(&trial.configs, "changes", &format!("restored-{now}")).await;
                now = version(&trial.configs.get("changes").await.unwrap());
            }
            if now + 1 == *before {
                create(&trial.configs, name, "restored").await;
                now = version(&trial.configs.get(name).await.unwrap());
                if now == *before {
                    return true;
                }
            }
        }
        false
    };
    let at_same_version = tokio::time::timeout(PATIENCE, at_same_version).await.unwrap();
    assert!(at_same_version, "no object has the version that it had before the restore: {lost:?}");
    trial.proxy.thaw();
    trial.agrees().await;
    assert_eq!((trial.epoch(), trial.relists(Reason::VersionWentBack)), (1, 1));
    trial.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restore_with_a_revision_bump_versions_go_on() {
    if skip() {
        return;
    }
    for offline in [false, true] {
        let mut trial = Trial::begin().await;
        if offline {
            trial.proxy.freeze();
            trial.proxy.cut();
        }
        trial.server.restore(&trial.snapshot, 1_000_000).await.unwrap();
        replace(&trial.configs, "changes", "restored").await;
        trial.proxy.thaw();
        trial.agrees().await;
        // The version is too old, unless the server refused something else while it started: then there was a list already.
        let relists = trial.informer.status().relists;
        assert!(
            relists.values().sum::<u64>() >= 1 && trial.relists(Reason::VersionWentBack) == 0,
            "{relists:?}"
        );
        assert_eq!(trial.epoch(), 0, "versions go on");
        trial.end().await;
    }
}

/// A real server accepts a watch from a future version and sends nothing. This is why the informer asks for the server's version
/// before it watches again.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_lets_clients_watch_from_versions_that_are_yet_to_come_and_says_nothing() {
    if skip() {
        return;
    }
    let server = start(Options::new()).await;
    let configs: Api<ConfigMap> = Api::default_namespaced(server.client().await.unwrap());
    create(&configs, "a", "1").await;
    let future = (version(&configs.get("a").await.unwrap()) + 1_000).to_string();
    let watch = configs.watch(&WatchParams::default().timeout(3), &future).await.unwrap();
    replace(&configs, "a", "2").await;
    let heard: Vec<_> = watch.map(|event| format!("{event:?}")).collect().await;
    assert_eq!(heard, Vec::<String>::new());
    server.stop().await.unwrap();
}
