//! kube's watchers hear the same from a real server and from ours.
//!
//! Through a proxy, so that both can be cut off in the same way: while nothing passes, objects change and history is
//! forgotten, so that the watcher comes back with a version that nobody knows any more.

use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube_client::{Client, Config};
use kube_informer_e2e::Proxy;
use kube_runtime::watcher::{self, Event};
use serde_json::json;

use crate::{Both, PATIENCE};

const NAMESPACE: &str = "watchers";

/// How kube's watchers may ask.
fn ways() -> [(&'static str, watcher::Config); 4] {
    let some = watcher::Config::default();
    [
        ("list", some.clone()),
        ("pages of two", some.clone().page_size(2)),
        ("stream", some.clone().streaming_lists()),
        ("selector", some.labels("app=web")),
    ]
}

/// One server.
enum Server<'a> {
    Real(&'a kube_informer_e2e::RealServer),
    Ours(&'a kube_testserver::TestServer),
}

impl Server<'_> {
    fn address(&self) -> String {
        match self {
            Server::Real(server) => server.address().to_owned(),
            Server::Ours(server) => server.address().to_string(),
        }
    }

    async fn config(&self, proxy: &Proxy) -> Config {
        match self {
            Server::Real(server) => server.config_at(&proxy.url()).await.unwrap(),
            Server::Ours(server) => {
                let mut config = server.client_config();
                config.cluster_url = proxy.url().replace("https", "http").parse().unwrap();
                config
            }
        }
    }

    async fn client(&self) -> Client {
        match self {
            Server::Real(server) => server.client().await.unwrap(),
            Server::Ours(server) => server.client().unwrap(),
        }
    }

    async fn compact(&self) {
        match self {
            Server::Real(server) => drop(server.compact().await.unwrap()),
            Server::Ours(server) => _ = server.compact(),
        }
    }
}

/// Plays the same to a watcher; returns what it said, in words.
async fn play(server: Server<'_>, config: watcher::Config) -> Vec<String> {
    let proxy = Proxy::start(server.address()).await.unwrap();
    let (client, seen) = (server.client().await, Client::try_from(server.config(&proxy).await).unwrap());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}})).unwrap();
    // It is there from the second time on.
    let _ = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
    let configs: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    for name in ["a", "b", "c"] {
        write(&configs, name, "1").await;
    }
    let mut heard = Vec::new();
    let mut events = Box::pin(watcher::watcher(Api::<ConfigMap>::namespaced(seen, NAMESPACE), config));
    until(&mut events, &mut heard, "ready").await;
    write(&configs, "d", "1").await;
    write(&configs, "a", "2").await;
    delete(&configs, "d").await;
    until(&mut events, &mut heard, "gone d 1").await;

    proxy.freeze();
    write(&configs, "a", "3").await;
    delete(&configs, "b").await;
    write(&configs, "e", "1").await;
    server.compact().await;
    proxy.cut();
    proxy.thaw();
    // However it finds out, it begins anew.
    until(&mut events, &mut heard, "ready").await;
    write(&configs, "e", "2").await;
    until(&mut events, &mut heard, "there is e 2").await;
    for name in ["a", "c", "e"] {
        delete(&configs, name).await;
    }
    heard
}

async fn write(configs: &Api<ConfigMap>, name: &str, value: &str) {
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "web"}}, "data": {"value": value},
    });
    configs.patch(name, &PatchParams::apply("likeness"), &Patch::Apply(config)).await.unwrap();
}

async fn delete(configs: &Api<ConfigMap>, name: &str) {
    configs.delete(name, &DeleteParams::default()).await.unwrap();
}

/// Hears until something is said.
async fn until(
    events: &mut (impl Stream<Item = Result<Event<ConfigMap>, watcher::Error>> + Unpin),
    heard: &mut Vec<String>,
    last: &str,
) {
    let all = async {
        loop {
            let said = in_words(events.next().await.unwrap());
            heard.push(said.clone());
            if said == last {
                return;
            }
            if said.starts_with("error") {
                // A watcher asks again as soon as it is asked.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, all).await;
    assert!(in_time.is_ok(), "{last:?} is never said after {heard:?}");
}

fn in_words(event: Result<Event<ConfigMap>, watcher::Error>) -> String {
    let name = |config: ConfigMap| {
        let value = config.data.unwrap_or_default().remove("value").unwrap_or_default();
        format!("{} {value}", config.metadata.name.unwrap_or_default())
    };
    match event {
        Ok(Event::Init) => "begins anew".to_owned(),
        Ok(Event::InitApply(config)) => format!("there from the start is {}", name(config)),
        Ok(Event::InitDone) => "ready".to_owned(),
        Ok(Event::Apply(config)) => format!("there is {}", name(config)),
        Ok(Event::Delete(config)) => format!("gone {}", name(config)),
        // How often it fails before it is let in again is chance.
        Err(_) => "error".to_owned(),
    }
}

pub(crate) async fn compare(both: &Both) {
    for (way, config) in ways() {
        let (real, ours) = tokio::join!(
            play(Server::Real(&both.real), config.clone()),
            play(Server::Ours(&both.ours), config)
        );
        let [real, ours] = [real, ours].map(|heard| without_errors(&heard));
        assert_eq!(real, ours, "asked for a {way}: the real server first, ours second");
        assert!(real.iter().filter(|said| *said == "ready").count() >= 2, "{way}: it began anew: {real:?}");
    }
}

fn without_errors(heard: &[String]) -> Vec<String> {
    heard.iter().filter(|said| *said != "error").cloned().collect()
}
