//! Waiting for something to happen to what an informer follows.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::SharedInformer;
use kube_informer::fanout::Event;
use kube_informer::informer::InformerError;
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_informer::store::Snapshot;
use kube_informer::watch::{self, UntilError};
use kube_testserver::{Fault, Verb};

use crate::watch::{next, value};
use crate::{PATIENCE, caught_up, churn, delete, in_store, informer, on_server, server, write};

// Conditions over an informer.

fn has_first(copy: &Snapshot<ConfigMap>) -> bool {
    copy.get("default", "first").is_some()
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_cannot_sync_is_waited_for_with_and_without_a_precondition() {
    for precondition in [false, true] {
        let server = server().await;
        write(&server, "first", 1);
        server.inject(Fault::no_reply());
        let informer = informer(&server);
        informer.start();
        let mut wait = watch::until_synced(&informer, |_| true);
        if precondition {
            wait = wait.precondition(has_first);
        }
        let mut wait = wait.into_future();
        assert!(
            tokio::time::timeout(Duration::from_secs(5), &mut wait).await.is_err(),
            "nothing is known yet"
        );
        assert_eq!(informer.status().listeners[0].name, "until_synced", "but it listens already");
        server.clear_faults();
        let event = tokio::time::timeout(PATIENCE, wait).await.unwrap().unwrap();
        assert_eq!(event.is_none(), precondition, "{event:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_precondition_that_holds_ends_the_wait_without_an_event() {
    let server = server().await;
    write(&server, "first", 1);
    let informer = informer(&server);
    informer.start();
    let event = watch::until_synced(&informer, |event| panic!("{event:?}") as bool)
        .precondition(has_first)
        .await
        .unwrap();
    assert!(event.is_none(), "{event:?}");
}

#[tokio::test(start_paused = true)]
async fn a_precondition_that_does_not_hold_leaves_it_to_the_conditions() {
    let server = server().await;
    write(&server, "first", 1);
    let informer = informer(&server);
    informer.start();
    let event = watch::until_synced(&informer, |event| match event {
        Event::Added { object, .. } => object.name() == "first",
        other => panic!("{other:?}"),
    })
    .precondition(|_| false)
    .await
    .unwrap();
    assert!(matches!(event, Some(Event::Added { initial: true, .. })), "{event:?}");
}

#[tokio::test(start_paused = true)]
async fn a_precondition_or_condition_that_fails_ends_the_wait() {
    let server = server().await;
    write(&server, "first", 1);
    let informer = informer(&server);
    informer.start();
    let fails = || Err::<bool, _>("on purpose");
    let error = watch::until_synced(&informer, |_| true).precondition(|_| fails()).await.unwrap_err();
    assert!(matches!(error, UntilError::Condition(_)), "{error}");
    let error = watch::until_synced(&informer, |_| fails()).await.unwrap_err();
    assert_eq!(error.to_string(), "a condition failed: on purpose");
    write(&server, "second", 1);
    caught_up(&informer, &server).await;
    assert!(informer.status().listeners.is_empty(), "nobody listens on");
}

#[tokio::test(start_paused = true)]
async fn what_went_while_nobody_could_see_it_is_heard_of_after_a_relist() {
    let server = server().await;
    write(&server, "first", 1);
    let informer = informer(&server);
    informer.start();
    assert!(informer.synced().await);
    let wait = watch::until_synced(&informer, |event| event.object().name() == "first")
        .then(|event| match event {
            Event::Deleted(gone) => gone.final_state_unknown() && value(gone.object()) == 1,
            _ => false,
        })
        .then(|event| matches!(event, Event::Added { .. }));
    let change = async {
        // The watch is away while the object goes, and its version is forgotten before it is back.
        server.inject(Fault::delay(Duration::from_secs(5)).on(Verb::Watch).times(1));
        server.stop_watches();
        delete(&server, "first");
        server.compact();
        tokio::time::sleep(Duration::from_secs(60)).await;
        write(&server, "second", 1);
    };
    let (event, ()) = futures::join!(wait.into_future(), change);
    let event = event.unwrap().unwrap();
    assert_eq!(event.object().name(), "second");
    assert_eq!(informer.status().lists, 2, "it survived a forgotten version");
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_informer() {
    let server = server().await;
    let informer = SharedInformer::<ConfigMap>::builder(KubeSource::all(server.in_process_client(), &()))
        .name("configs")
        .build();
    informer.start();
    let never = watch::until_synced(&informer, |_| false);
    let never_synced = watch::until_synced(&informer, |_| false).precondition(|_| false);
    let never_there = watch::wait_for_object(&informer, "default", "a", |_| false);
    let stop = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        informer.stop();
    };
    let all = futures::future::join4(never.into_future(), never_synced.into_future(), never_there, stop);
    let (event, synced, object, ()) = tokio::time::timeout(PATIENCE, all).await.unwrap();
    let late = watch::until_synced(&informer, |_| true).await;
    let late_object = watch::wait_for_object(&informer, "default", "a", |_| true).await;
    let errors = [event, synced, late].map(Result::unwrap_err).into_iter();
    for error in errors.chain([object.unwrap_err(), late_object.unwrap_err()]) {
        let stopped = InformerError::Stopped { name: "configs".to_owned() };
        assert!(matches!(&error, UntilError::Informer(cause) if *cause == stopped), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_events_of_an_informer_are_the_same_with_lists_and_with_initial_events() {
    let mut heard = Vec::new();
    for initial_events in [false, true] {
        let server = server().await;
        write(&server, "a", 1);
        write(&server, "b", 1);
        let mut config = Config::default();
        config.initial_events = initial_events;
        let source = KubeSource::all(server.in_process_client(), &());
        let informer = SharedInformer::<ConfigMap>::builder(source).config(config).build();
        let mut events = informer.subscribe().unwrap();
        informer.start();
        assert!(informer.synced().await);
        for value in 0..5 {
            write(&server, "c", value);
        }
        delete(&server, "a");
        delete(&server, "c");
        let mut lines = Vec::new();
        for _ in 0..9 {
            let event = next(&mut events).await;
            let version = event.object().resource_version().to_owned();
            lines.push((std::mem::discriminant(&event), event.object().key().to_owned(), version));
        }
        let order: Vec<u64> = lines[2..].iter().map(|line| line.2.parse().unwrap()).collect();
        assert!(order.is_sorted(), "{order:?}");
        lines[..2].sort_by(|one, other| one.1.cmp(&other.1));
        heard.push(lines);
    }
    assert_eq!(heard[0], heard[1]);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_never_reads_ends_with_the_informer_or_when_it_is_dropped() {
    let server = server().await;
    let informer = informer(&server);
    let (unread, dropped) = (informer.subscribe().unwrap(), informer.subscribe().unwrap());
    informer.start();
    assert!(informer.synced().await);
    churn(&server, 1, 100);
    drop(dropped);
    let ended = tokio::time::timeout(PATIENCE, informer.shutdown());
    assert!(ended.await.is_ok());
    assert_eq!(unread.collect::<Vec<_>>().await.len(), 0, "it hears nothing after the end");
}

// One object.

#[tokio::test(start_paused = true)]
async fn an_object_is_waited_for_as_it_comes_changes_and_goes() {
    let server = server().await;
    let informer = informer(&server);
    informer.start();
    let mut states = Vec::new();
    let wait = watch::wait_for_object(&informer, "default", "a", |object| {
        states.push(object.map(|object| value(object)));
        object.is_some_and(|object| value(object) == 3)
    });
    let change = async {
        for number in 1..=3 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            write(&server, "other", number);
            tokio::time::sleep(Duration::from_secs(1)).await;
            write(&server, "a", number);
        }
    };
    let (object, ()) = futures::join!(wait, change);
    let object = object.unwrap().unwrap();
    assert_eq!((object.key(), value(&object)), ("default/a", 3));
    assert_eq!(states, [None, Some(1), Some(2), Some(3)], "each state once, others' changes never");

    let there = watch::wait_for_object(&informer, "default", "a", |object| object.is_some()).await.unwrap();
    assert!(there.unwrap().is_same(&object), "what is so already is not waited for");

    let gone = watch::wait_for_object(&informer, "default", "a", |object| object.is_none());
    let change = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        delete(&server, "a");
    };
    let (gone, ()) = futures::join!(gone, change);
    assert!(gone.unwrap().is_none());
    assert_eq!(in_store(&informer), on_server(&server));
}

#[tokio::test(start_paused = true)]
async fn an_object_is_not_missing_before_the_copy_has_synced() {
    let server = server().await;
    write(&server, "a", 1);
    server.inject(Fault::no_reply().times(1));
    server.inject(Fault::reply(503).times(3));
    let informer = informer(&server);
    let mut states = Vec::new();
    let gone = watch::wait_for_object(&informer, "default", "a", |object| {
        states.push(object.is_some());
        object.is_none()
    });
    let change = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        informer.start();
        assert!(informer.synced().await);
        tokio::time::sleep(Duration::from_secs(5)).await;
        delete(&server, "a");
    };
    let (gone, ()) = tokio::time::timeout(PATIENCE, async { futures::join!(gone, change) }).await.unwrap();
    assert!(gone.unwrap().is_none());
    assert_eq!(states, [true, false], "nothing was asked while nothing was known");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_object_can_be_given_up_by_its_condition() {
    let server = server().await;
    let informer = informer(&server);
    informer.start();
    let wait = watch::wait_for_object(&informer, "default", "job", |job| match job {
        None => Ok(false),
        Some(job) if job.labels().contains_key("failed") => Err(format!("{} has failed", job.key())),
        Some(job) => Ok(job.labels().contains_key("done")),
    });
    let change = async {
        write(&server, "job", 1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let fail = |object: &mut serde_json::Value| {
            object["metadata"]["labels"] = serde_json::json!({"failed": "yes"});
        };
        server.mutate("v1/ConfigMap", "default", "job", fail).unwrap();
    };
    let (outcome, ()) = futures::join!(wait, change);
    assert_eq!(outcome.unwrap_err().to_string(), "a condition failed: default/job has failed");
}

#[tokio::test(start_paused = true)]
async fn an_object_is_found_after_a_forgotten_version_and_a_long_outage() {
    let server = server().await;
    let informer = informer(&server);
    informer.start();
    assert!(informer.synced().await);
    let wait = watch::wait_for_object(&informer, "default", "a", |object| object.is_some());
    let change = async {
        let outage = server.inject(Fault::reply(503));
        server.stop_watches();
        write(&server, "a", 1);
        server.compact();
        tokio::time::sleep(Duration::from_secs(600)).await;
        outage.remove();
    };
    let (object, ()) = tokio::time::timeout(PATIENCE, async { futures::join!(wait, change) }).await.unwrap();
    assert_eq!(object.unwrap().unwrap().name(), "a");
}
