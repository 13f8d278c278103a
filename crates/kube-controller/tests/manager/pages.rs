//! What is shown to whom.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::api::{Api, ListParams, PostParams};
use kube_controller::leader::LeaderElector;
use kube_controller::manager::{BuildError, Manager, MetricsAccess, Unhealthy};
use kube_controller::registry::ClientBuilder;
use kube_controller::workqueue::WorkQueue;
use kube_informer::informer::Phase;
use kube_informer::reflector::{ListRequest, WatchRequest};
use kube_informer::source::{ListStream, ListWatch, SourceError, Want, WatchStream};
use kube_informer::{Cache, SharedInformer, SharedInformerFactory};
use kube_testserver::{Fault, Rule, Verb};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Run, server};

fn free() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// The code and the body of a page.
async fn get(address: SocketAddr, path: &str, token: Option<&str>) -> (u16, String) {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    ask(address, path, &format!("Host: {address}\r\n{token}")).await
}

/// The code and the body of a page that is asked for with these headers.
async fn ask(address: SocketAddr, path: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

async fn until_ready(address: SocketAddr) {
    while get(address, "/readyz", None).await.0 != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn health_has_a_page_for_all_checks_and_one_for_each() {
    let manager = Manager::builder().health_address(free()).build().await.unwrap();
    let address = manager.health_address().unwrap();
    let healthz = manager.healthz().clone();
    let run = Run::of(manager);
    assert_eq!(get(address, "/healthz", None).await, (200, "ok".to_owned()));
    // A check may come while everything runs.
    healthz.add("disk", || Err(Unhealthy("the disk is full".to_owned())));
    let (code, text) = get(address, "/healthz", None).await;
    assert_eq!(
        (code, text.as_str()),
        (500, "[-]disk failed: reason withheld\n[+]ping ok\nhealthz check failed\n")
    );
    assert_eq!(get(address, "/healthz/disk", None).await.1, "internal server error: the disk is full\n");
    assert_eq!(get(address, "/healthz?exclude=disk", None).await, (200, "ok".to_owned()));
    assert!(get(address, "/readyz?verbose", None).await.1.contains("[+]informer-sync ok\n"));
    assert_eq!(get(address, "/healthz/nothing", None).await.0, 404);
    assert_eq!(get(address, "/metrics", None).await.0, 404);
    run.end().await.unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_program_is_ready_when_its_informers_have_synced_and_says_which_has_not() {
    let server = server().await;
    let broken = server.inject(Fault::reply(503).resource("pods"));
    let manager = Manager::builder().health_address(free()).build().await.unwrap();
    let address = manager.health_address().unwrap();
    let factory =
        SharedInformerFactory::builder(server.client().unwrap()).metrics(manager.informer_metrics()).build();
    let pods = factory.of::<Pod>().unwrap();
    manager.add(factory).unwrap();
    let run = Run::of(manager);
    let mut status = pods.watch_status();
    status.wait_for(|status| status.trouble.is_some()).await.unwrap();
    let (code, text) = get(address, "/readyz/informer-sync", None).await;
    assert_eq!(code, 500);
    assert!(text.starts_with("internal server error: not synced: pods: "), "{text}");
    assert_eq!(get(address, "/healthz", None).await.0, 200, "it lives");
    drop(broken);
    server.clear_faults();
    status.wait_for(|status| status.synced).await.unwrap();
    until_ready(address).await;
    run.end().await.unwrap();
}

#[tokio::test]
async fn readiness_waits_for_all_factories_and_caches_of_the_manager_whether_they_are_shown_or_not() {
    let server = server().await;
    server.inject(Fault::reply(503).resource("pods"));
    let (factory, cache) =
        (SharedInformerFactory::new(server.client().unwrap()), Cache::new(server.client().unwrap()));
    let _pods = factory.of::<Pod>().unwrap();
    let _pods = cache.kind::<Pod>().informer().await;
    for part in ["factory", "cache"] {
        let manager = Manager::builder().health_address(free()).build().await.unwrap();
        let (address, handle) = (manager.health_address().unwrap(), manager.handle());
        match part {
            "factory" => handle.add(factory.clone()).unwrap(),
            _ => handle.add(cache.clone()).unwrap(),
        }
        let run = Run::of(manager);
        let (code, text) = get(address, "/readyz/informer-sync", None).await;
        assert_eq!(code, 500, "{part}");
        assert!(text.starts_with("internal server error: not synced: pods"), "{part}: {text}");
        server.clear_faults();
        until_ready(address).await;
        run.end().await.unwrap();
        server.inject(Fault::reply(503).resource("pods"));
    }
}

#[tokio::test]
async fn an_informer_of_the_manager_that_has_stopped_is_named_and_makes_the_program_unready() {
    let server = server().await;
    let manager = Manager::builder().health_address(free()).build().await.unwrap();
    let address = manager.health_address().unwrap();
    let factory = SharedInformerFactory::new(server.client().unwrap());
    let pods = factory.of::<Pod>().unwrap();
    let _config_maps = factory.of::<ConfigMap>().unwrap();
    manager.add(factory.clone()).unwrap();
    let run = Run::of(manager);
    until_ready(address).await;
    pods.stop();
    let (code, text) = get(address, "/readyz/informer-sync", None).await;
    assert_eq!((code, text.as_str()), (500, "internal server error: not synced: pods has stopped\n"));
    assert_eq!(get(address, "/readyz", None).await.0, 500);
    assert_eq!(get(address, "/healthz", None).await.0, 200, "it lives");
    // One that is given back is not missed.
    factory.shutdown_of::<Pod>().await;
    assert_eq!(get(address, "/readyz", None).await.0, 200);
    run.end().await.unwrap();
}

/// Panics when it is asked for anything.
struct Broken;

impl ListWatch<Pod> for Broken {
    fn list<'a>(
        &'a self,
        _: &'a ListRequest,
        _: &'a Arc<Want<Pod>>,
    ) -> BoxFuture<'a, Result<ListStream<Pod>, SourceError>> {
        panic!("the source is broken")
    }

    fn watch<'a>(
        &'a self,
        _: &'a WatchRequest,
        _: &'a Arc<Want<Pod>>,
    ) -> BoxFuture<'a, Result<WatchStream<Pod>, SourceError>> {
        panic!("the source is broken")
    }
}

#[tokio::test]
async fn an_informer_that_is_shown_and_has_failed_is_named_and_makes_the_program_unready() {
    let manager = Manager::builder().health_address(free()).debug_address(free()).build().await.unwrap();
    let (address, debug) = (manager.health_address().unwrap(), manager.debug_address().unwrap());
    let pods = SharedInformer::builder(Broken).name("pods").metrics(manager.informer_metrics()).build();
    let run = Run::of(manager);
    until_ready(address).await;
    pods.start();
    pods.watch_status().wait_for(|status| status.phase == Phase::Stopped).await.unwrap();
    let (code, text) = get(address, "/readyz/informer-sync", None).await;
    assert_eq!(code, 500);
    assert!(text.starts_with("internal server error: not synced: pods has stopped: "), "{text}");
    assert!(text.contains("the source is broken"), "{text}");
    let informers: Value = serde_json::from_str(&get(debug, "/debug/informers", None).await.1).unwrap();
    assert_eq!(informers[0]["phase"], "Stopped", "{informers}");
    drop(pods);
    until_ready(address).await;
    run.end().await.unwrap();
}

#[tokio::test]
async fn metrics_show_queues_informers_and_elections() {
    let server = server().await;
    let client = server.client().unwrap();
    let manager = Manager::builder()
        .metrics_address(free())
        .leader_election(LeaderElector::builder(client.clone(), "default", "lock").identity("one"))
        .build()
        .await
        .unwrap();
    let address = manager.metrics_address().unwrap();
    let factory = SharedInformerFactory::builder(client).metrics(manager.informer_metrics()).build();
    let _pods = factory.of::<Pod>().unwrap();
    let queue = WorkQueue::builder().name("pods").metrics(manager.metrics()).build();
    queue.add("default/web");
    manager.add(factory).unwrap();
    let handle = manager.handle();
    let run = Run::of(manager);
    handle.elected().await;
    let (code, text) = get(address, "/metrics", None).await;
    assert_eq!(code, 200);
    for series in [
        r#"workqueue_depth{name="pods"} 1"#,
        r#"informer_synced{name="pods",group="",version="v1",resource="pods"} 1"#,
        r#"leader_election_master_status{name="lock"} 1"#,
    ] {
        assert!(text.contains(series), "{series} in {text}");
    }
    run.end().await.unwrap();
}

#[tokio::test]
async fn metrics_may_be_kept_to_those_whom_the_api_server_lets() {
    let server = server().await;
    let access = server.access();
    access.add_user("good", "prometheus", Vec::<String>::new());
    access.add_user("curious", "curious", Vec::<String>::new());
    access.add_rule(Rule::deny().user("curious").verbs(["get"]).paths(["/metrics"]));
    access.add_rule(Rule::allow());
    let manager = Manager::builder()
        .metrics_address(free())
        .metrics_access(MetricsAccess::reviewed(server.client().unwrap()))
        .build()
        .await
        .unwrap();
    let address = manager.metrics_address().unwrap();
    let run = Run::of(manager);
    assert_eq!(get(address, "/metrics", None).await.0, 401);
    assert_eq!(get(address, "/metrics", Some("wrong")).await.0, 401);
    let (code, text) = get(address, "/metrics", Some("curious")).await;
    assert_eq!((code, text.as_str()), (403, "Forbidden: \"curious\" may not get /metrics\n"));
    assert_eq!(get(address, "/metrics", Some("good")).await.0, 200);
    // The second time nobody is asked.
    server.inject(Fault::reply(503));
    assert_eq!(get(address, "/metrics", Some("good")).await.0, 200);
    assert_eq!(get(address, "/metrics", Some("curious")).await.0, 403);
    assert_eq!(
        get(address, "/metrics", Some("somebody")).await.0,
        500,
        "who cannot be asked about sees nothing"
    );
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_token_without_the_group_of_another_token_of_the_same_user_sees_no_metrics() {
    let server = server().await;
    let access = server.access();
    access.add_user("with", "ann", ["readers"]);
    access.add_user("without", "ann", Vec::<String>::new());
    access.add_rule(Rule::allow().group("readers").verbs(["get"]).paths(["/metrics"]));
    for tokens in [[("with", 200), ("without", 403)], [("without", 403), ("with", 200)]] {
        let manager = Manager::builder()
            .metrics_address(free())
            .metrics_access(MetricsAccess::reviewed(server.client().unwrap()))
            .build()
            .await
            .unwrap();
        let address = manager.metrics_address().unwrap();
        let run = Run::of(manager);
        for (token, code) in tokens {
            assert_eq!(get(address, "/metrics", Some(token)).await.0, code, "{token} of {tokens:?}");
        }
        run.end().await.unwrap();
    }
}

#[tokio::test]
async fn metrics_count_the_requests_of_clients_by_code_method_and_host() {
    let server = server().await;
    let builder = Manager::builder().metrics_address(free());
    let (config, metrics) = (server.client_config(), builder.metrics().clone());
    let clients = ClientBuilder::counted(config.clone(), "program", &metrics);
    let pods: Api<Pod> = Api::default_namespaced(clients.client("one").unwrap());
    // Those of all clients of a server are counted together.
    let others: Api<Pod> = Api::default_namespaced(clients.client("two").unwrap());
    pods.list(&ListParams::default()).await.unwrap();
    others.list(&ListParams::default()).await.unwrap();
    others.get("nobody").await.unwrap_err();
    let pod: Pod =
        serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": {"containers": []}})).unwrap();
    server.inject(Fault::reply(503).resource("pods").on(Verb::Create));
    pods.create(&PostParams::default(), &pod).await.unwrap_err();
    let mut nowhere = config;
    // Nobody listens there, and nobody is to see the password.
    nowhere.cluster_url = "http://me:secret@127.0.0.1:1".parse().unwrap();
    let nobody = ClientBuilder::counted(nowhere, "program", &metrics).client("one").unwrap();
    Api::<Pod>::default_namespaced(nobody).get("a").await.unwrap_err();

    let manager = builder.build().await.unwrap();
    let address = manager.metrics_address().unwrap();
    let run = Run::of(manager);
    let (_, page) = get(address, "/metrics", None).await;
    let host = server.address().to_string();
    let mut found: Vec<&str> =
        page.lines().filter(|line| line.starts_with("rest_client_requests_total")).collect();
    let line = |code: &str, method: &str, host: &str, count: u64| {
        format!(r#"rest_client_requests_total{{code="{code}",method="{method}",host="{host}"}} {count}"#)
    };
    let mut wanted = [
        line("200", "GET", &host, 2),
        line("404", "GET", &host, 1),
        line("503", "POST", &host, 1),
        line("<error>", "GET", "127.0.0.1:1", 1),
    ];
    wanted.sort();
    found.sort_unstable();
    assert_eq!(found, wanted);
    run.end().await.unwrap();
}

#[tokio::test]
async fn debug_pages_show_every_informer_and_queue() {
    let server = server().await;
    server.seed("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: []}}").unwrap();
    let manager = Manager::builder().debug_address(free()).health_address(free()).build().await.unwrap();
    let (address, health) = (manager.debug_address().unwrap(), manager.health_address().unwrap());
    let factory =
        SharedInformerFactory::builder(server.client().unwrap()).metrics(manager.informer_metrics()).build();
    let pods = factory.of::<Pod>().unwrap();
    let queue = WorkQueue::builder().name("pods").metrics(manager.metrics()).build();
    queue.add("default/web");
    queue.add_after("default/db", Duration::from_secs(60));
    manager.add(factory).unwrap();
    let run = Run::of(manager);
    assert!(pods.synced().await);
    until_ready(health).await;
    let json = |text: String| -> Value { serde_json::from_str(&text).unwrap() };
    let informers = json(get(address, "/debug/informers", None).await.1);
    assert_eq!((&informers[0]["resource"], &informers[0]["objects"]), (&"pods".into(), &1.into()));
    assert_eq!((&informers[0]["synced"], &informers[0]["phase"]), (&true.into(), &"Running".into()));
    let queues = json(get(address, "/debug/queues", None).await.1);
    assert_eq!(
        (&queues[0]["name"], &queues[0]["depth"], &queues[0]["retries"]),
        (&"pods".into(), &1.into(), &1.into())
    );
    assert_eq!(get(address, "/debug/else", None).await.0, 404);
    run.end().await.unwrap();
}

#[tokio::test]
async fn debug_pages_count_the_panics_of_index_functions_and_show_no_values() {
    let server = server().await;
    server.seed("{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: hunter2}}, spec: {containers: []}}").unwrap();
    let manager = Manager::builder().debug_address(free()).build().await.unwrap();
    let address = manager.debug_address().unwrap();
    let factory =
        SharedInformerFactory::builder(server.client().unwrap()).metrics(manager.informer_metrics()).build();
    let pods = factory.of::<Pod>().unwrap();
    pods.add_index("good", |pod: &Pod| pod.metadata.labels.as_ref()?.get("app").cloned()).unwrap();
    pods.add_index("bad", |pod: &Pod| -> Option<String> { panic!("{:?}", pod.metadata.labels) }).unwrap();
    manager.add(factory).unwrap();
    let run = Run::of(manager);
    assert!(pods.synced().await);
    let page = get(address, "/debug/informers", None).await.1;
    let informers: Value = serde_json::from_str(&page).unwrap();
    let wanted = serde_json::json!([{"name": "good", "panics": 0}, {"name": "bad", "panics": 1}]);
    assert_eq!(informers[0]["indexes"], wanted, "{page}");
    assert!(!page.contains("hunter2"), "{page}");
    run.end().await.unwrap();
}

#[tokio::test]
async fn debug_pages_are_not_shown_under_a_name_that_may_have_been_pointed_here() {
    let manager = Manager::builder().debug_address(free()).build().await.unwrap();
    let address = manager.debug_address().unwrap();
    let run = Run::of(manager);
    for host in ["127.0.0.1", "localhost", "LocalHost.:8080", "[::1]:1", "10.1.2.3:6060"] {
        assert_eq!(ask(address, "/debug/queues", &format!("Host: {host}\r\n")).await.0, 200, "{host}");
    }
    let refused = [
        "Host: attacker.example\r\n",
        "Host: 127.0.0.1.attacker.example\r\n",
        "Host: localhost.attacker.example:80\r\n",
        "Host: attacker.example@127.0.0.1\r\n",
        "Host: localhost\r\nHost: attacker.example\r\n",
        "Host: \r\n",
        "",
    ];
    for headers in refused {
        let (code, text) = ask(address, "/debug/queues", headers).await;
        assert_eq!(code, 421, "{headers:?}");
        assert!(!text.contains("attacker"), "{text}");
    }
    let (code, _) = ask(address, "http://attacker.example/debug/queues", "Host: localhost\r\n").await;
    assert_eq!(code, 421, "the host of the request line counts too");
    run.end().await.unwrap();
}

#[tokio::test]
async fn debug_pages_are_shown_under_names_that_were_chosen_for_them() {
    let builder = Manager::builder().debug_address(free()).debug_hosts(["Debug.example.com", "web"]);
    let manager = builder.build().await.unwrap();
    let address = manager.debug_address().unwrap();
    let run = Run::of(manager);
    for (host, code) in [
        ("debug.example.com", 200),
        ("DEBUG.example.com.:8080", 200),
        ("web:1", 200),
        ("localhost", 200),
        ("example.com", 421),
        ("web.attacker.example", 421),
    ] {
        assert_eq!(ask(address, "/debug/queues", &format!("Host: {host}\r\n")).await.0, code, "{host}");
    }
    run.end().await.unwrap();
}

#[tokio::test]
async fn health_and_metrics_are_shown_under_any_name() {
    let manager = Manager::builder().health_address(free()).metrics_address(free()).build().await.unwrap();
    let (health, metrics) = (manager.health_address().unwrap(), manager.metrics_address().unwrap());
    let run = Run::of(manager);
    for headers in ["Host: web.default.svc:8080\r\n", "Host: 10.1.2.3\r\n", "Host: \r\n", ""] {
        assert_eq!(ask(health, "/healthz", headers).await.0, 200, "{headers:?}");
        assert_eq!(ask(metrics, "/metrics", headers).await.0, 200, "{headers:?}");
    }
    run.end().await.unwrap();
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_that_says_which_before_anything_starts() {
    let taken = tokio::net::TcpListener::bind(free()).await.unwrap();
    let address = taken.local_addr().unwrap();
    let error = Manager::builder().metrics_address(address).build().await.unwrap_err();
    assert!(matches!(error, BuildError::Bind { what: "metrics", .. }));
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot serve metrics on {address}: ")), "{text}");
    assert!(Manager::builder().health_address(address).build().await.is_err());
}

#[tokio::test]
async fn debug_pages_are_refused_to_other_machines() {
    let error = Manager::builder().debug_address("0.0.0.0:0".parse().unwrap()).build().await.unwrap_err();
    assert!(matches!(error, BuildError::NotLoopback(_)), "{error}");
}
