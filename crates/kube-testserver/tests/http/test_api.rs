//! The server as tests hold it: seeds, direct changes, the log of requests, start and end.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::api::{Api, DeleteParams, ListParams, PostParams, WatchParams};
use kube_client::config::{KubeConfigOptions, Kubeconfig};
use kube_client::{Client, ResourceExt};
use kube_testserver::{SeedError, TestServer, Verb};
use serde_json::{Value, json};

use crate::support::{
    Follower, Lines, config_map, config_maps, create_all, get, names, pod, pods, start, start_with_client,
    within,
};
use crate::verbs::deployments;

#[tokio::test]
async fn seeds_are_yaml_documents_and_lists() {
    let (server, client) = start_with_client().await;
    let count = server
        .seed(
            "
# a comment
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {nodeName: node-1, containers: [{name: main, image: example/web}]}
status: {phase: Running, podIP: 10.0.0.7}
---
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: b}}
- {apiVersion: v1, kind: Node, metadata: {name: node-1}}
---
apiVersion: v1
kind: ConfigMapList
items:
- metadata: {name: two}
",
        )
        .unwrap();
    assert_eq!(count, 4);
    let web = Api::<Pod>::namespaced(client.clone(), "shop").get("web").await.unwrap();
    assert_eq!(web.status.unwrap().phase.as_deref(), Some("Running"), "status is kept");
    assert!(web.metadata.uid.is_some());
    assert_eq!(
        names(&config_maps(&client).list(&ListParams::default()).await.unwrap().items),
        ["one", "two"]
    );
    assert!(server.object("v1/Namespace", "", "shop").unwrap().is_some(), "made for the pod");
    // A second seed replaces what is there.
    server
        .seed("{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"one\"}}")
        .unwrap();
    assert_eq!(config_maps(&client).get("one").await.unwrap().data, None);
}

#[tokio::test]
async fn seeds_that_cannot_be_say_why() {
    let server = start().await;
    let before = server.resource_version();
    assert!(matches!(server.seed("{a: b"), Err(SeedError::Yaml(_))));
    assert!(matches!(server.seed("{kind: Pod}"), Err(SeedError::Untyped { document: 1 })));
    let unknown =
        server.seed("{apiVersion: example.com/v1, kind: Unicorn, metadata: {name: x}}").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "the server does not know the kind \"Unicorn\" in example.com/v1; kinds are written like Pod, and custom ones \
         need their CustomResourceDefinition first"
    );
    let refused = server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}").unwrap_err();
    match refused {
        SeedError::Refused { kind, name, code, message } => {
            assert_eq!((kind.as_str(), name.as_str(), code), ("ConfigMap", "Not_A_Name", 422));
            assert!(message.contains("metadata.name"), "{message}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(server.seed("").unwrap(), 0);
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn objects_are_put_changed_read_and_deleted_without_a_request() {
    let (server, client) = start_with_client().await;
    let api = pods(&client);
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    server.clear_requests();
    let mut new = pod("a");
    new.status = Some(serde_json::from_value(json!({"phase": "Running"})).unwrap());
    server.put(&new).unwrap();
    assert_eq!(watch.expect("ADDED a").await.status.unwrap().phase.as_deref(), Some("Running"));
    server
        .mutate("v1/Pod", "default", "a", |pod| {
            pod["status"]["phase"] = json!("Failed");
            pod["metadata"]["labels"] = json!({"x": "y"});
        })
        .unwrap();
    let changed = watch.expect("MODIFIED a").await;
    assert_eq!(changed.status.as_ref().unwrap().phase.as_deref(), Some("Failed"));
    assert_eq!(changed.labels()["x"], "y");
    let read = server.object("v1/Pod", "default", "a").unwrap().unwrap();
    assert_eq!(read, serde_json::to_value(&changed).unwrap());
    assert_eq!(server.objects("v1/Pod").unwrap(), [read]);
    assert_eq!(server.object("v1/Pod", "default", "b").unwrap(), None);
    server.delete("v1/Pod", "default", "a").unwrap();
    while watch.change().await.0 != "DELETED a" {}
    assert!(server.objects("v1/Pod").unwrap().is_empty());
    assert!(matches!(
        server.mutate("v1/Pod", "default", "a", |_| {}),
        Err(SeedError::Refused { code: 404, .. })
    ));
    assert!(matches!(server.delete("v1/Pod", "default", "a"), Err(SeedError::Refused { code: 404, .. })));
    assert!(matches!(server.object("v1/Unicorn", "", "x"), Err(SeedError::UnknownKind { .. })));
    assert!(server.requests().is_empty());
    // A kind of a group, and one without a namespace.
    server
        .seed("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {selector: {}}}")
        .unwrap();
    assert_eq!(server.objects("apps/v1/ReplicaSet").unwrap().len(), 1);
    assert_eq!(server.objects("v1/Namespace").unwrap().len(), 4);
}

#[tokio::test]
async fn the_kubeconfig_is_valid_and_works() {
    let server = start().await;
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    let config =
        kube_client::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    assert_eq!(config.cluster_url.to_string(), format!("{}/", server.url()));
    assert_eq!(config.default_namespace, "default");
    let api: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config).unwrap());
    create_all(&api, &["a"]).await;
    assert_eq!(server.requests()[0].user, "kubernetes-admin");
}

#[tokio::test]
async fn the_log_tells_what_was_asked_and_answered() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    create_all(&api, &["a"]).await;
    api.list(&ListParams::default().labels("app in (x, y)").limit(5)).await.unwrap();
    let _watch = Follower::open(&api, &WatchParams::default().timeout(77), "1").await;
    let _missing = api.get("b").await.unwrap_err();
    let _missing = deployments(&client).get_scale("d").await.unwrap_err();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    get(&client, "/version").await;

    let log = server.requests();
    let seen: Vec<(Option<Verb>, &str, &str, Option<u16>)> =
        log.iter().map(|one| (one.verb, one.resource.as_str(), one.name.as_str(), one.code)).collect();
    assert_eq!(
        seen,
        [
            (Some(Verb::Create), "configmaps", "", Some(201)),
            (Some(Verb::List), "configmaps", "", Some(200)),
            (Some(Verb::Watch), "configmaps", "", Some(200)),
            (Some(Verb::Get), "configmaps", "b", Some(404)),
            (Some(Verb::Get), "deployments", "d", Some(404)),
            (Some(Verb::Delete), "configmaps", "a", Some(200)),
            (None, "", "", Some(200)),
        ]
    );
    assert_eq!(log[1].parameter("labelSelector").as_deref(), Some("app in (x, y)"));
    assert_eq!(log[1].parameter("limit").as_deref(), Some("5"));
    assert_eq!(log[1].parameter("continue"), None);
    assert_eq!(log[2].parameter("timeoutSeconds").as_deref(), Some("77"));
    let scale = &log[4];
    assert_eq!(
        [&scale.method, &scale.group, &scale.version, &scale.namespace, &scale.subresource],
        ["GET", "apps", "v1", "default", "scale"]
    );
    assert_eq!(log[6].path, "/version");
    assert_eq!(log.iter().map(|one| one.number).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(server.stats().requests, 7);
    server.clear_requests();
    get(&client, "/version").await;
    assert_eq!(server.requests()[0].number, 7);
    assert_eq!(server.requests()[0].code, Some(200));
}

#[tokio::test]
async fn many_servers_run_side_by_side_and_share_nothing() {
    const SERVERS: usize = 20;
    let servers: Vec<TestServer> = join_all((0..SERVERS).map(|_| start())).await;
    let ports: std::collections::BTreeSet<u16> =
        servers.iter().map(|server| server.address().port()).collect();
    assert_eq!(ports.len(), SERVERS);
    join_all(servers.iter().enumerate().map(|(number, server)| async move {
        let api = config_maps(&server.client().unwrap());
        for count in 0..=number {
            create_all(&api, &[&format!("n{count}")]).await;
        }
    }))
    .await;
    for (number, server) in servers.iter().enumerate() {
        assert_eq!(server.objects("v1/ConfigMap").unwrap().len(), number + 1);
        assert_eq!(server.stats().requests, number as u64 + 1);
    }
}

#[tokio::test]
async fn servers_start_and_stop_by_the_dozen() {
    for _ in 0..50 {
        let (server, client) = start_with_client().await;
        create_all(&config_maps(&client), &["a"]).await;
        within(server.shutdown()).await;
    }
}

#[tokio::test]
async fn the_same_seed_makes_the_same_cluster() {
    async fn objects(seed: u64) -> Vec<Value> {
        let server = TestServer::builder().seed(seed).start_time(1_700_000_000).start().await.unwrap();
        let api = config_maps(&server.client().unwrap());
        for _ in 0..3 {
            let new = serde_json::from_value(json!({"metadata": {"generateName": "n-"}})).unwrap();
            api.create(&PostParams::default(), &new).await.unwrap();
        }
        let mut objects = server.objects("v1/ConfigMap").unwrap();
        for object in &mut objects {
            // Real time goes on while the test runs.
            let at = object["metadata"]["creationTimestamp"].take();
            assert!(at.as_str().unwrap().starts_with("2023-11-14T22:1"), "{at}");
            object["metadata"]["managedFields"].take();
        }
        objects
    }
    let first = objects(1).await;
    assert_eq!(first, objects(1).await);
    assert_ne!(first, objects(2).await);
}

#[tokio::test]
async fn a_server_that_shuts_down_takes_its_connections_along() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    create_all(&api, &["a"]).await;
    watch.expect("ADDED a").await;
    let address = server.address();
    within(server.shutdown()).await;
    assert!(!matches!(watch.step().await, Some(Ok(_))), "the watch is over");
    let error = within(api.create(&PostParams::default(), &config_map("b", "1"))).await.unwrap_err();
    assert!(!matches!(error, kube_client::Error::Api(_)), "{error}");
    let refused = tokio::net::TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn clients_without_sockets_end_with_the_server_as_well() {
    let server = start().await;
    let client = server.in_process_client();
    let api = config_maps(&client);
    create_all(&api, &["a"]).await;
    let mut watch = Lines::open(&client, "/api/v1/configmaps?watch=true").await;
    assert_eq!(watch.json().await["type"], "ADDED");
    within(server.shutdown()).await;
    let (received, broke) = within(watch.rest()).await;
    assert!(broke && received.is_empty());
    let error = within(api.list(&ListParams::default())).await.unwrap_err();
    assert!(!matches!(error, kube_client::Error::Api(_)), "{error}");
}

#[tokio::test]
async fn a_body_that_is_far_too_large_is_refused_by_name() {
    let (_server, client) = start_with_client().await;
    let large = config_map("large", &"x".repeat(8 << 20));
    let status = crate::support::refused(config_maps(&client).create(&PostParams::default(), &large).await);
    assert_eq!((status.code, status.reason.as_str()), (413, "RequestEntityTooLarge"));
    create_all(&config_maps(&client), &["small"]).await;
}

#[tokio::test]
async fn a_dropped_server_is_gone_too() {
    let (server, client) = start_with_client().await;
    let api = config_maps(&client);
    let mut watch = Follower::open(&api, &WatchParams::default(), "0").await;
    drop(server);
    assert!(!matches!(watch.step().await, Some(Ok(_))));
    assert!(within(api.list(&ListParams::default())).await.is_err());
}

#[tokio::test]
async fn settings_take_effect() {
    let server = TestServer::builder().create_namespaces(true).body_limit(2000).start().await.unwrap();
    let client = server.client().unwrap();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "made-for-it");
    create_all(&api, &["a"]).await;
    assert!(server.object("v1/Namespace", "", "made-for-it").unwrap().is_some());
    let large = config_map("large", &"x".repeat(3000));
    let status = crate::support::refused(api.create(&PostParams::default(), &large).await);
    assert_eq!((status.code, status.reason.as_str()), (413, "RequestEntityTooLarge"));
    let taken = TestServer::builder().port(server.address().port()).start().await.unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
}
