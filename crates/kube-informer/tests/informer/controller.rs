//! An informer for one: a store and one handler, in one future.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::fanout::Event;
use kube_informer::informer::{Controller, Phase};
use kube_informer::source::KubeSource;
use kube_testserver::{Fault, TestServer, Verb};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::support::Strict;
use crate::{Log, churn, delete, on_server, server, write};

fn source(server: &TestServer) -> KubeSource<ConfigMap> {
    KubeSource::all(server.in_process_client(), &())
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_deletes_whatever_it_is_told_of_ends_with_nothing() {
    let server = Arc::new(server().await);
    for name in ["a", "b", "c"] {
        write(&server, name, 1);
    }
    let (cluster, deleted) = (Arc::clone(&server), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&deleted);
    let controller = Controller::new(source(&server), move |event: Event<ConfigMap>| match event {
        Event::Added { object, .. } => delete(&cluster, object.name()),
        Event::Deleted(gone) => log.lock().push(gone.object().name().to_owned()),
        _ => {}
    });
    let (store, mut status, stop) = (controller.store(), controller.watch_status(), CancellationToken::new());
    let running = tokio::spawn(controller.run(stop.clone()));
    status.wait_for(|status| status.synced && status.changes == 3).await.unwrap();
    assert!(store.list().is_empty() && on_server(&server).is_empty());
    deleted.lock().sort();
    assert_eq!(*deleted.lock(), ["a", "b", "c"]);
    stop.cancel();
    running.await.unwrap();
    assert_eq!(status.borrow().phase, Phase::Stopped);
}

#[tokio::test(start_paused = true)]
async fn the_handler_has_heard_everything_that_the_store_has() {
    let server = server().await;
    churn(&server, 1, 40);
    let log = Log::default();
    let heard = log.clone();
    let controller = Controller::new(source(&server), move |event: Event<ConfigMap>| heard.hear(&event));
    let (store, mut status, stop) = (controller.store(), controller.watch_status(), CancellationToken::new());
    let running = tokio::spawn(controller.run(stop.clone()));
    status.wait_for(|status| status.synced).await.unwrap();
    for (round, fault) in
        [Fault::expired(), Fault::garbage_frame(1), Fault::cut_after(200)].into_iter().enumerate()
    {
        server.inject(fault.on(Verb::Watch).times(1));
        churn(&server, 2 + round, 60);
        server.stop_watches();
        let in_store = || -> std::collections::BTreeMap<String, String> {
            let objects = store.list();
            objects.iter().map(|one| (one.key().to_owned(), one.resource_version().to_owned())).collect()
        };
        status.wait_for(|_| in_store() == on_server(&server)).await.unwrap();
        assert_eq!(log.known(), in_store());
    }
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_handler_leaves_the_controller() {
    let server = server().await;
    write(&server, "a", 1);
    let controller = Controller::new(source(&server), |_: Event<ConfigMap>| panic!("on purpose"));
    let outcome = AssertUnwindSafe(controller.run(CancellationToken::new())).catch_unwind().await;
    assert_eq!(*outcome.unwrap_err().downcast_ref::<&str>().unwrap(), "on purpose");
}

#[tokio::test(start_paused = true)]
async fn transform_resync_and_errors_work_without_sharing() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    server.inject(Fault::reply(503).times(3));
    let (resyncs, errors) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let (count, failed) = (Arc::clone(&resyncs), Arc::clone(&errors));
    let controller = Controller::new(source(&server), move |event: Event<ConfigMap>| {
        assert!(event.object().data.is_none(), "transformed before anybody sees it");
        if matches!(event, Event::Updated { resync: true, .. }) {
            *count.lock() += 1;
        }
    })
    .transform(|config| ConfigMap { data: None, ..config })
    .resync(Duration::from_secs(30))
    .on_error(move |_| *failed.lock() += 1)
    .seed(7);
    let (mut status, stop) = (controller.watch_status(), CancellationToken::new());
    let running = tokio::spawn(controller.run(stop.clone()));
    status.wait_for(|status| status.synced).await.unwrap();
    assert_eq!(*errors.lock(), 3);
    tokio::time::sleep(Duration::from_secs(95)).await;
    assert_eq!(*resyncs.lock(), 3 * 2);
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_decoded_is_in_the_status() {
    let server = server().await;
    write(&server, "a", 1);
    server.mutate("v1/ConfigMap", "default", "a", |object| object["data"]["value"] = "x".into()).unwrap();
    let source = KubeSource::<Strict>::all(server.in_process_client(), &());
    let controller = Controller::new(source, |_: Event<Strict>| {});
    let (mut status, stop) = (controller.watch_status(), CancellationToken::new());
    let running = tokio::spawn(controller.run(stop.clone()));
    status.wait_for(|status| status.synced && status.quarantined.contains_key("default/a")).await.unwrap();
    stop.cancel();
    running.await.unwrap();
}
