//! Many controllers in one program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::api::{Api, PostParams};
use kube_controller::manager::{Manager, Unhealthy};
use kube_controller::registry::{
    ClientBuilder, ControllerDescriptor, ControllerRegistry, Controllers, ControllersError, NewController,
    RestMapper,
};
use kube_core::GroupVersionResource;
use kube_testserver::TestServer;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

type Log = Arc<Mutex<Vec<String>>>;

/// A controller that says when it starts and ends, which takes its time.
fn named(name: &'static str, log: &Log, ends_after: Duration) -> ControllerDescriptor {
    let log = Arc::clone(log);
    ControllerDescriptor::new(name, move |_| async move {
        log.lock().push(format!("{name} built"));
        Ok(NewController::new(move |stop| async move {
            log.lock().push(format!("{name} starts"));
            stop.cancelled().await;
            tokio::time::sleep(ends_after).await;
            log.lock().push(format!("{name} ends"));
            Ok(())
        }))
    })
}

fn registry(all: impl IntoIterator<Item = ControllerDescriptor>) -> ControllerRegistry {
    let mut registry = ControllerRegistry::new();
    for one in all {
        registry.register(one).unwrap();
    }
    registry
}

async fn server() -> TestServer {
    TestServer::builder().seed(7).start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn chosen_controllers_are_built_then_informers_start_then_they_run() {
    let (server, log) = (server().await, Log::default());
    server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}").unwrap();
    let heard = Arc::clone(&log);
    let reader = ControllerDescriptor::new("reader", move |context| async move {
        assert_eq!(context.name, "reader");
        assert!(!context.informers_started.is_done());
        let configs = context.informers.of::<ConfigMap>()?;
        let resource = GroupVersionResource::gvr("", "v1", "secrets");
        let secrets = context.object_or_metadata.for_resource(&resource)?;
        let started = context.informers_started.clone();
        Ok(NewController::new(move |_| async move {
            started.wait().await;
            assert!(configs.synced().await && secrets.synced().await);
            heard.lock().push(format!("{} configs", configs.store().list().len()));
            Ok(())
        }))
    });
    let all = [named("one", &log, Duration::ZERO), named("two", &log, Duration::ZERO), reader];
    let registry = registry(all);
    let chosen = registry.select("*,-two").unwrap();
    let clients = ClientBuilder::shared(server.in_process_client());
    let controllers = Controllers::builder(clients, registry, chosen).build();
    let stop = CancellationToken::new();
    let run = tokio::spawn(controllers.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(*log.lock(), ["one built", "one starts", "1 configs"]);
    stop.cancel();
    run.await.unwrap().unwrap();
    assert_eq!(log.lock().last().unwrap(), "one ends");
}

#[tokio::test(start_paused = true)]
async fn controllers_start_one_by_one_after_the_interval_and_a_random_part_of_it() {
    let server = server().await;
    let starts: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let begun = Instant::now();
    let all = ["a", "b", "c"].map(|name| {
        let starts = Arc::clone(&starts);
        ControllerDescriptor::new(name, move |_| async move {
            Ok(NewController::new(move |_| async move {
                starts.lock().push(begun.elapsed());
                Ok(())
            }))
        })
    });
    let registry = registry(all);
    let chosen = registry.select("*").unwrap();
    let interval = Duration::from_secs(10);
    let clients = ClientBuilder::shared(server.in_process_client());
    let controllers =
        Controllers::builder(clients, registry, chosen).start_interval(interval).seed(3).build();
    let stop = CancellationToken::new();
    let run = tokio::spawn(controllers.run(stop.clone()));
    tokio::time::sleep(interval * 3).await;
    let mut starts = starts.lock().clone();
    assert!(
        starts.iter().all(|start| (interval..interval * 2 + interval / 10).contains(start)),
        "{starts:?}"
    );
    starts.dedup();
    assert_eq!(starts.len(), 3, "not at the same time");
    stop.cancel();
    run.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn controllers_that_do_not_end_in_time_are_named() {
    let (server, log) = (server().await, Log::default());
    let all = [named("quick", &log, Duration::from_secs(1)), named("lazy", &log, Duration::from_secs(60))];
    let registry = registry(all);
    let chosen = registry.select("*").unwrap();
    let clients = ClientBuilder::shared(server.in_process_client());
    let stop = CancellationToken::new();
    let run = tokio::spawn(Controllers::builder(clients, registry, chosen).build().run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    stop.cancel();
    let error = run.await.unwrap().unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), 10, "the default");
    assert_eq!(error.to_string(), "controllers still running 10s after the stop, and aborted: lazy");
    assert!(log.lock().contains(&"quick ends".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn controllers_that_do_not_end_after_another_has_failed_are_named_too() {
    let (server, log) = (server().await, Log::default());
    let failing = ControllerDescriptor::new("failing", |_| async {
        Ok(NewController::new(|_| async { Err("the tea is cold".into()) }))
    });
    let registry = registry([named("lazy", &log, Duration::from_secs(60)), failing]);
    let chosen = registry.select("*").unwrap();
    let clients = ClientBuilder::shared(server.in_process_client());
    let controllers = Controllers::builder(clients, registry, chosen).build();
    let error = controllers.run(CancellationToken::new()).await.unwrap_err().to_string();
    assert!(error.contains("controller failing: the tea is cold"), "{error}");
    assert!(error.contains("lazy"), "what was aborted is not named: {error}");
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_built_fails_or_panics_ends_all_and_is_named() {
    let server = server().await;
    let broken = |name: &'static str| {
        ControllerDescriptor::new(name, move |_| async move {
            if name == "unbuildable" {
                return Err("no plan".into());
            }
            Ok(NewController::new(move |_| async move {
                assert!(name != "clumsy", "dropped it");
                Err("the tea is cold".into())
            }))
        })
    };
    for (name, said) in [
        ("unbuildable", "controller unbuildable cannot be built: no plan"),
        ("clumsy", "controller clumsy: it has panicked: dropped it"),
        ("failing", "controller failing: the tea is cold"),
    ] {
        let log = Log::default();
        let registry = registry([named("good", &log, Duration::from_secs(1)), broken(name)]);
        let chosen = registry.select("*").unwrap();
        let clients = ClientBuilder::shared(server.in_process_client());
        let controllers = Controllers::builder(clients, registry, chosen).build();
        let error = controllers.run(CancellationToken::new()).await.unwrap_err();
        assert_eq!(error.to_string(), said);
        let ended = log.lock().contains(&"good ends".to_owned());
        assert_eq!(
            ended,
            name != "unbuildable",
            "nothing runs when one cannot be built; else all end in order"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_formatted_panic_message_of_a_controller_is_not_in_the_error() {
    let (server, password) = (server().await, std::hint::black_box("hunter2".to_owned()));
    let clumsy = ControllerDescriptor::new("clumsy", move |_| {
        let password = password.clone();
        async move { Ok(NewController::new(move |_| async move { panic!("{password:?}") })) }
    });
    let registry = registry([clumsy]);
    let chosen = registry.select("*").unwrap();
    let clients = ClientBuilder::shared(server.in_process_client());
    let controllers = Controllers::builder(clients, registry, chosen).build();
    let error = controllers.run(CancellationToken::new()).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.starts_with("controller clumsy: it has panicked: ") && !text.contains("hunter2"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_healthy_is_waited_for_and_then_named() {
    let sick = tower::service_fn(|_: http::Request<kube_client::client::Body>| async {
        let answer = http::Response::builder().status(503).body(kube_client::client::Body::empty());
        Ok::<_, std::convert::Infallible>(answer.unwrap())
    });
    let client = kube_client::Client::new(sick, "default");
    let controllers = || {
        let registry = registry([]);
        let chosen = registry.select("*").unwrap();
        Controllers::builder(ClientBuilder::shared(client.clone()), registry, chosen).build()
    };
    let begun = Instant::now();
    let error = controllers().run(CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, ControllersError::Server { .. }), "{error}");
    assert!((8..=10).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    // Whoever is told to stop while waiting has done nothing wrong.
    let stop = CancellationToken::new();
    let run = tokio::spawn(controllers().run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(3)).await;
    stop.cancel();
    run.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_controller_has_a_health_check_of_its_name() {
    let (server, log) = (server().await, Log::default());
    let sick = ControllerDescriptor::new("sick", |_| async {
        Ok(NewController::new(|stop| async move {
            stop.cancelled().await;
            Ok(())
        })
        .health(|| Err(Unhealthy("a cold".to_owned()))))
    });
    let skipped = ControllerDescriptor::optional("skipped", |_| async { Ok(None) });
    let registry = registry([named("well", &log, Duration::ZERO), sick, skipped]);
    let chosen = registry.select("*").unwrap();
    let manager = Manager::builder().build().await.unwrap();
    let healthz = manager.healthz().clone();
    let clients = ClientBuilder::shared(server.in_process_client());
    manager.add(Controllers::builder(clients, registry, chosen).managed_by(&manager).build()).unwrap();
    let stop = CancellationToken::new();
    let run = tokio::spawn(manager.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(healthz.failing(), ["sick"]);
    assert!(healthz.remove("well") && !healthz.remove("skipped"));
    stop.cancel();
    run.await.unwrap().unwrap();
}

#[tokio::test]
async fn each_controller_has_a_user_agent_of_its_own() {
    let server = server().await;
    let clients = ClientBuilder::from_config(server.client_config(), "controller-manager");
    let pods: Api<Pod> = Api::default_namespaced(clients.client("replicaset").unwrap());
    let pod = serde_json::from_str(r#"{"metadata": {"name": "web"}, "spec": {"containers": []}}"#).unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    assert_eq!(server.requests().last().unwrap().user_agent, "controller-manager/replicaset");
    assert!(clients.client("not\na name").is_err());
}

#[tokio::test(start_paused = true)]
async fn the_mapper_asks_once_and_again_when_what_it_knows_is_old_or_not_enough() {
    let server = server().await;
    let mapper = RestMapper::new(server.in_process_client());
    let found = mapper.resource_of("apps/v1", "Deployment").await.unwrap().unwrap();
    assert_eq!((found.full_name().as_str(), found.namespaced), ("deployments.apps", true));
    let asked = server.requests().len();
    let older = mapper.resource_of("apps/v1beta1", "Deployment").await.unwrap().unwrap();
    assert_eq!(older.resource.version, "v1", "the version that is there");
    assert_eq!(mapper.resource_of("v1", "Node").await.unwrap().unwrap().full_name(), "nodes");
    assert_eq!(server.requests().len(), asked, "nobody was asked");
    assert!(mapper.resource_of("example.com/v1", "Foo").await.unwrap().is_none());
    assert!(server.requests().len() > asked, "it may be new");
    let asked = server.requests().len();
    tokio::time::sleep(Duration::from_secs(31)).await;
    mapper.resources().await.unwrap();
    assert!(server.requests().len() > asked, "it may have changed");
}
