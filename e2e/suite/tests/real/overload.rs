//! A server that has too much to do says so, and is asked again later.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube_client::core::DynamicObject;
use kube_client::discovery::ApiResource;
use kube_informer::SharedInformer;
use kube_informer::source::KubeSource;
use kube_informer_e2e::{Options, Proxy, skip};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::heard::listen;
use crate::{TOKEN, caught_up, create, namespace, quick, start, synced, trouble, until};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

async fn apply(client: &Client, kind: &str, plural: &str, spec: Value) {
    let resource = ApiResource {
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{GROUP}/v1"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let object = json!({
        "apiVersion": resource.api_version, "kind": kind, "metadata": {"name": "alice"}, "spec": spec,
    });
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    api.patch("alice", &PatchParams::apply("test").force(), &Patch::Apply(&object)).await.unwrap();
}

/// Gives alice so many shares of what the server can do; more than that is refused, not queued.
async fn limit(client: &Client, shares: u32) {
    let level = json!({
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": shares, "lendablePercent": 0, "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"}},
    });
    apply(client, "PriorityLevelConfiguration", "prioritylevelconfigurations", level).await;
    let schema = json!({
        "priorityLevelConfiguration": {"name": "alice"},
        "matchingPrecedence": 10,
        "rules": [{
            "subjects": [{"kind": "User", "user": {"name": "alice"}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true}],
        }],
    });
    apply(client, "FlowSchema", "flowschemas", schema).await;
}

/// Lists everything, again and again.
async fn ask_for_ever(client: Client) {
    let configs: Api<ConfigMap> = Api::all(client);
    loop {
        // Many are refused: that is what it is for.
        drop(configs.list(&ListParams::default()).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_no_room_for_a_user_is_asked_again_until_it_has() {
    if skip() {
        return;
    }
    let server = start(Options::new().token(TOKEN, "alice")).await;
    let admin = server.client().await.unwrap();
    let configs = namespace(&admin, "overload").await;
    for number in 0..50 {
        create(&configs, &format!("c{number}"), "1").await;
    }
    let proxy = Proxy::start(server.address()).await.unwrap();
    let alice = server.client_for_token_at(TOKEN, &proxy.url()).await.unwrap();
    let source = KubeSource::<ConfigMap>::namespaced(alice.clone(), "overload", &());
    let errors = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&errors);
    let informer = SharedInformer::builder(source)
        .config(quick())
        .on_error(move |error| log.lock().push((Instant::now(), error.code)))
        .build();
    let heard = listen(&informer);
    informer.start();
    synced(&informer).await;

    // One request at a time, and many who ask all the time.
    limit(&admin, 0).await;
    let direct = server.client_for_token(TOKEN).await.unwrap();
    let crowd: Vec<_> = (0..64).map(|_| tokio::spawn(ask_for_ever(direct.clone()))).collect();
    let refused = async {
        while trouble(&informer.status()) != Some(429) {
            proxy.cut();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    tokio::time::timeout(crate::PATIENCE, refused).await.expect("it is refused");
    for number in 50..80 {
        create(&configs, &format!("c{number}"), "1").await;
        configs.delete(&format!("c{}", number - 50), &DeleteParams::default()).await.unwrap();
        if number % 10 == 0 {
            proxy.cut();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    crowd.iter().for_each(tokio::task::JoinHandle::abort);
    let served = futures::future::join_all(crowd).await;
    assert!(served.iter().all(Result::is_err), "they ask until they are stopped");

    caught_up(&informer, &configs).await;
    until(&informer, "the trouble is over", |status| status.trouble.is_none()).await;
    assert_eq!(heard.all_of(&informer).await, Vec::<String>::new());
    let errors = errors.lock().clone();
    let after_refusals = errors.windows(2).filter(|pair| pair[0].1 == 429);
    for pair in after_refusals {
        let waited = pair[1].0 - pair[0].0;
        assert!(waited > Duration::from_millis(900), "the server asks to wait for a second, not {waited:?}");
    }
    informer.shutdown().await;
    server.stop().await.unwrap();
}
