//! An informer for one: a store and one handler, in one future.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::fanout::Event;
use kube_informer::informer::{Controller, Phase};
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_informer::store::Store;
use kube_testserver::{Fault, TestServer, Verb};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::support::Strict;
use crate::{Log, PATIENCE, churn, delete, on_server, server, write};

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
    let (store, mut status, stop) = (controller.store(), controller.watch_status(), CancellationToken::new());
    let running = tokio::spawn(controller.run(stop.clone()));
    status.wait_for(|status| status.synced).await.unwrap();
    assert_eq!(*errors.lock(), 3);
    assert!(store.list().iter().all(|object| object.data.is_none()));
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

#[tokio::test(start_paused = true)]
async fn a_relist_is_told_when_the_store_has_it_all_and_first_what_is_gone() {
    for initial_events in [false, true] {
        let server = server().await;
        for name in ["stays", "changes", "goes", "leaves"] {
            write(&server, name, 1);
        }
        let mut config = Config::default();
        config.initial_events = initial_events;
        let told = Arc::new(Mutex::new(Vec::new()));
        let (log, store) = (Arc::clone(&told), Arc::new(Mutex::new(None::<Store<ConfigMap>>)));
        let own_store = Arc::clone(&store);
        let controller = Controller::new(source(&server), move |event: Event<ConfigMap>| {
            let word = match &event {
                Event::Added { initial: true, .. } => "there",
                Event::Added { .. } => "added",
                Event::Updated { .. } => "updated",
                Event::Deleted(gone) if gone.final_state_unknown() => "missed",
                other => panic!("{other:?}"),
            };
            let mut stored: Vec<String> =
                own_store.lock().as_ref().unwrap().list().iter().map(|one| one.name().to_owned()).collect();
            stored.sort();
            log.lock().push((word, event.object().name().to_owned(), stored.join(" ")));
        })
        .config(config);
        *store.lock() = Some(controller.store());
        let (mut status, stop) = (controller.watch_status(), CancellationToken::new());
        let running = tokio::spawn(controller.run(stop.clone()));
        status.wait_for(|status| status.synced).await.unwrap();
        assert!(told.lock().drain(..).all(|(word, ..)| word == "there"));
        server.inject(Fault::delay(Duration::from_secs(5)).on(Verb::Watch).times(1));
        server.stop_watches();
        delete(&server, "goes");
        delete(&server, "leaves");
        write(&server, "changes", 2);
        write(&server, "comes", 1);
        server.compact();
        status.wait_for(|status| status.lists == 2).await.unwrap();
        let mut told = std::mem::take(&mut *told.lock());
        assert!(told.iter().all(|(.., stored)| stored == "changes comes stays"), "{told:?}");
        told[..2].sort();
        told[2..].sort();
        let told: Vec<String> = told.iter().map(|(word, name, _)| format!("{word} {name}")).collect();
        assert_eq!(told, ["missed goes", "missed leaves", "added comes", "updated changes"]);
        stop.cancel();
        running.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_version_of_the_store_follows_every_change() {
    let server = server().await;
    write(&server, "a", 1);
    let controller = Controller::new(source(&server), |_: Event<ConfigMap>| {});
    let (store, mut status, stop) = (controller.store(), controller.watch_status(), CancellationToken::new());
    assert_eq!(store.resource_version(), None);
    let running = tokio::spawn(controller.run(stop.clone()));
    let mut follows = async || {
        let expected = server.resource_version().to_string();
        let reached = |store: &Store<ConfigMap>| store.resource_version().map(|version| version.to_string());
        let wait = status.wait_for(|_| reached(&store).as_ref() == Some(&expected));
        tokio::time::timeout(PATIENCE, wait).await.expect("it follows").unwrap();
    };
    follows().await;
    write(&server, "b", 1);
    follows().await;
    write(&server, "b", 2);
    follows().await;
    delete(&server, "a");
    follows().await;
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_drops_versions_does_not_stop_the_version_of_the_store() {
    let server = server().await;
    write(&server, "a", 1);
    let controller = Controller::new(source(&server), |_: Event<ConfigMap>| {}).transform(|mut config| {
        config.metadata.resource_version = None;
        config
    });
    let (store, mut status, stop) = (controller.store(), controller.watch_status(), CancellationToken::new());
    let running = tokio::spawn(controller.run(stop.clone()));
    status.wait_for(|status| status.synced).await.unwrap();
    write(&server, "b", 1);
    delete(&server, "a");
    status.wait_for(|status| status.changes == 2).await.unwrap();
    assert_eq!(store.resource_version().unwrap().as_str(), server.resource_version().to_string());
    assert!(store.get("default", "b").unwrap().metadata.resource_version.is_none());
    stop.cancel();
    running.await.unwrap();
}

/// On threads, so that writers, the handler and readers meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_at_once_are_followed_and_every_change_makes_sense() {
    /// Writers, each with objects of its own and objects that all write.
    const WRITERS: usize = 8;
    let server = Arc::new(server().await);
    let log = Log::default();
    let heard = log.clone();
    let controller = Controller::new(source(&server), move |event: Event<ConfigMap>| {
        assert!(event.object().data.is_none());
        heard.hear(&event);
    })
    .transform(|config| ConfigMap { data: None, ..config });
    let (store, mut status, stop) = (controller.store(), controller.watch_status(), CancellationToken::new());
    // Whatever fails, nobody goes on reading.
    let _stop = stop.clone().drop_guard();
    assert!(!status.borrow().synced);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let server = Arc::clone(&server);
            tokio::task::spawn_blocking(move || {
                for round in 0..100 {
                    let shared = format!("shared-{}", (round * 7 + writer) % 5);
                    write(&server, &shared, round);
                    let own = format!("own-{writer}-{}", round % 3);
                    write(&server, &own, round);
                    if round % 4 == writer % 4 {
                        delete(&server, &own);
                    }
                }
            })
        })
        .collect();
    let running = tokio::spawn(controller.run(stop.clone()));
    let reader = store.clone();
    let reading = stop.clone();
    let reads = tokio::task::spawn_blocking(move || {
        while !reading.is_cancelled() {
            assert!(reader.list().iter().all(|object| object.data.is_none()));
        }
    });
    for writer in writers {
        writer.await.unwrap();
    }
    let in_store = || -> std::collections::BTreeMap<String, String> {
        let objects = store.list();
        objects.iter().map(|one| (one.key().to_owned(), one.resource_version().to_owned())).collect()
    };
    let caught_up = status.wait_for(|status| status.synced && in_store() == on_server(&server));
    tokio::time::timeout(Duration::from_secs(60), caught_up).await.expect("it catches up").unwrap();
    // The store is written before the handler is called: only now has it heard of the last change.
    stop.cancel();
    running.await.unwrap();
    reads.await.unwrap();
    assert_eq!(log.known(), in_store());
}
