//! Waiting for kinds: for all of those that are used, and for no other.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_controller::controller::ControllerPhase;
use kube_informer::object::ObjectName;
use kube_informer::{DynamicSharedInformerFactory, SharedInformerFactory};
use kube_testserver::Fault;

use super::*;

#[tokio::test(start_paused = true)]
async fn nothing_is_worked_on_before_every_kind_has_told_what_is_there() {
    let server = server(&configs(&["a", "b", "c"])).await;
    server.seed("{apiVersion: v1, kind: Secret, metadata: {name: s}}").unwrap();
    server.inject(Fault::delay(10 * S).resource("secrets").times(1));
    let factory = SharedInformerFactory::new(server.in_process_client());
    let (configs, secrets) = (factory.of::<ConfigMap>().unwrap(), factory.of::<Secret>().unwrap());
    let log = Log::default();
    let known = secrets.clone();
    let lines = log.clone();
    let controller = Controller::builder("configs")
        .for_(&configs)
        .watches(&secrets, |secret| [ObjectName::new("default", secret.name())])
        .build(move |request: ObjectName, _| {
            assert!(known.has_synced());
            lines.add(request.to_string());
            async { Ok(()) }
        })
        .unwrap();
    let playing = Playing::new(controller);
    tokio::time::sleep(5 * S).await;
    let status = playing.handle.status();
    assert_eq!((status.phase, status.waiting), (ControllerPhase::Syncing, 3));
    let synced: Vec<_> = status.sources.iter().map(|source| (source.name.as_str(), source.synced)).collect();
    assert_eq!(synced, [("configmaps", true), ("secrets", false)]);
    assert!(log.take().is_empty());
    tokio::time::sleep(10 * S).await;
    assert_eq!(log.sorted(), ["default/a", "default/b", "default/c", "default/s"]);
    assert_eq!(playing.handle.status().panics, 0);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_does_not_come_in_time_is_named_with_its_cause() {
    let server = server(&configs(&["a"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let dynamic = DynamicSharedInformerFactory::new(server.in_process_client());
    let missing = kube_core::GroupVersionResource::gvr("example.com", "v1", "widgets");
    let widgets = dynamic.for_resource(&missing).unwrap();
    let begun = tokio::time::Instant::now();
    let error = Controller::builder("widgets")
        .for_(&factory.of::<ConfigMap>().unwrap())
        .owns(&widgets)
        .run(CancellationToken::new(), write_down(&Log::default()))
        .await
        .unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), 120);
    let text = error.to_string();
    assert!(
        text.starts_with("the controller \"widgets\" has waited 120s in vain for widgets.example.com ("),
        "{text}"
    );
    assert!(text.contains("404"), "{text}");
    assert!(!text.contains("configmaps"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_forbidden_for_a_while_is_waited_for() {
    let server = server(&configs(&["a"])).await;
    let refused = server.inject(Fault::reply(403).resource("configmaps"));
    let factory = SharedInformerFactory::new(server.in_process_client());
    let log = Log::default();
    let builder = Controller::builder("configs").for_(&factory.of::<ConfigMap>().unwrap());
    let playing = Playing::new(builder.build(write_down(&log)).unwrap());
    tokio::time::sleep(40 * S).await;
    let trouble = playing.handle.status().sources[0].trouble.clone();
    assert!(trouble.is_some() && log.take().is_empty(), "{trouble:?}");
    refused.remove();
    tokio::time::sleep(60 * S).await;
    assert_eq!(log.take(), ["default/a"]);
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_others_use_and_that_cannot_sync_is_not_waited_for() {
    let server = server(&configs(&["a"])).await;
    server.inject(Fault::reply(403).resource("deployments"));
    let factory = SharedInformerFactory::new(server.in_process_client());
    let (configs, deployments) = (factory.of::<ConfigMap>().unwrap(), factory.of::<Deployment>().unwrap());
    factory.start();
    let log = Log::default();
    let playing =
        Playing::new(Controller::builder("configs").for_(&configs).build(write_down(&log)).unwrap());
    settle().await;
    assert_eq!(log.take(), ["default/a"]);
    assert!(!deployments.has_synced());
    playing.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_was_stopped_is_an_error_and_so_is_one_that_is_stopped_later() {
    let server = server(&configs(&["a"])).await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let configs = factory.of::<ConfigMap>().unwrap();
    let controller =
        || Controller::builder("configs").for_(&configs).build(write_down(&Log::default())).unwrap();
    let playing = Playing::new(controller());
    settle().await;
    configs.stop();
    let error = playing.task.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the controller \"configs\" cannot listen to configmaps: its informer was stopped before the controller"
    );
    let error = controller().run(CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("has been stopped; make a new one"), "{error}");
}
