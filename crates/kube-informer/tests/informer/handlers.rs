//! Handlers and indexes that come and go, and how often they are told.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::fanout::{Event, ListenerOptions, Registration, Subscription};
use kube_informer::informer::{Phase, SharedInformer};
use kube_informer::source::KubeSource;
use kube_testserver::{Fault, TestServer, Verb};
use parking_lot::Mutex;

use crate::watch::value;
use crate::{Log, PATIENCE, caught_up, delete, heard_all, informer, server, write};

const SECOND: Duration = Duration::from_secs(1);

fn resyncing(server: &TestServer, period: Duration) -> SharedInformer<ConfigMap> {
    let source = KubeSource::all(server.in_process_client(), &());
    SharedInformer::builder(source).resync(period).build()
}

/// What waits for a subscriber: one word for each event.
fn waiting(events: &mut Subscription<ConfigMap>) -> Vec<String> {
    let word = |event: Event<ConfigMap>| {
        let word = match &event {
            Event::Added { .. } => "added",
            Event::Updated { resync: true, .. } => "again",
            Event::Updated { .. } => "updated",
            _ => "deleted",
        };
        format!("{word} {}", event.object().name())
    };
    let mut words: Vec<String> =
        std::iter::from_fn(|| events.next().now_or_never().flatten()).map(word).collect();
    words.sort();
    words
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

// Indexes.

#[tokio::test(start_paused = true)]
async fn an_index_added_before_or_after_the_start_has_what_was_there_and_what_comes() {
    let server = server().await;
    write(&server, "a", 1);
    let informer = informer(&server);
    let by_value = |config: &ConfigMap| Some(value(config).to_string());
    let early = informer.add_index("early", by_value).unwrap();
    informer.start();
    assert!(informer.synced().await);
    assert_eq!(early.get("1").len(), 1);
    write(&server, "b", 1);
    write(&server, "c", 2);
    caught_up(&informer, &server).await;
    let late = informer.add_index("late", by_value).unwrap();
    for index in [&early, &late] {
        assert_eq!((index.get("1").len(), index.get("2").len()), (2, 1));
    }
    write(&server, "d", 2);
    delete(&server, "a");
    caught_up(&informer, &server).await;
    for index in [&early, &late] {
        assert_eq!((index.get("1").len(), index.get("2").len()), (1, 2));
    }
}

// Resyncs.

#[tokio::test(start_paused = true)]
async fn each_listener_is_told_again_at_its_own_period_counted_from_the_start() {
    for late in [0, 50] {
        let server = server().await;
        write(&server, "a", 1);
        write(&server, "b", 1);
        let informer = resyncing(&server, SECOND);
        let with = |period| informer.subscribe_with(ListenerOptions::new().resync(period)).unwrap();
        let (mut never, mut two, mut three) = (with(Duration::ZERO), with(2 * SECOND), with(3 * SECOND));
        tokio::time::sleep(late * SECOND).await;
        informer.start();
        tokio::time::sleep(SECOND / 2).await;
        for events in [&mut never, &mut two, &mut three] {
            assert_eq!(waiting(events), ["added a", "added b"]);
        }
        for at in 1..=12_u32 {
            tokio::time::sleep(SECOND).await;
            let again = |due: bool| if due { vec!["again a", "again b"] } else { vec![] };
            assert_eq!(waiting(&mut never), again(false), "at {at}");
            assert_eq!(waiting(&mut two), again(at.is_multiple_of(2)), "at {at}");
            assert_eq!(waiting(&mut three), again(at.is_multiple_of(3)), "at {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_resync_tells_what_is_there_then_and_not_what_has_gone() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    let informer = resyncing(&server, 10 * SECOND);
    let mut events = informer.subscribe().unwrap();
    informer.start();
    tokio::time::sleep(9 * SECOND).await;
    assert_eq!(waiting(&mut events), ["added a", "added b"]);
    delete(&server, "a");
    write(&server, "c", 1);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(waiting(&mut events), ["added c", "again b", "again c", "deleted a"]);
}

#[tokio::test(start_paused = true)]
async fn a_relist_tells_what_has_changed_and_nothing_else_also_to_those_who_resync() {
    let server = server().await;
    for name in ["stays", "changes", "goes"] {
        write(&server, name, 1);
    }
    let informer = resyncing(&server, 3600 * SECOND);
    let mut often = informer.subscribe().unwrap();
    let mut never = informer.subscribe_with(ListenerOptions::new().resync(Duration::ZERO)).unwrap();
    informer.start();
    assert!(informer.synced().await);
    assert_eq!((waiting(&mut often).len(), waiting(&mut never).len()), (3, 3));
    server.inject(Fault::delay(5 * SECOND).on(Verb::Watch).times(1));
    server.stop_watches();
    write(&server, "changes", 2);
    delete(&server, "goes");
    write(&server, "comes", 1);
    server.compact();
    caught_up(&informer, &server).await;
    assert_eq!(informer.status().lists, 2);
    for events in [&mut often, &mut never] {
        assert_eq!(waiting(events), ["added comes", "deleted goes", "updated changes"]);
    }
    tokio::time::sleep(3600 * SECOND).await;
    assert_eq!(waiting(&mut often), ["again changes", "again comes", "again stays"], "at its own time");
    assert!(waiting(&mut never).is_empty());
}

// Transforms.

#[tokio::test(start_paused = true)]
async fn every_listener_hears_of_objects_transformed_once_however_they_come() {
    let server = server().await;
    for name in ["a", "b", "c"] {
        write(&server, name, 1);
    }
    let source = KubeSource::<ConfigMap>::all(server.in_process_client(), &());
    let informer = SharedInformer::builder(source)
        .resync(3600 * SECOND)
        .transform(|mut config| {
            *config.data.get_or_insert_default().entry("marks".to_owned()).or_default() += "x";
            config
        })
        .build();
    let marks = |config: &ConfigMap| config.data.as_ref().unwrap().get("marks").cloned();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let handler = move |event: Event<ConfigMap>| {
        let (word, states) = match &event {
            Event::Added { object, .. } => ("added", vec![marks(object)]),
            Event::Updated { old, new, resync } => {
                (if *resync { "again" } else { "updated" }, vec![marks(old), marks(new)])
            }
            Event::Deleted(gone) => {
                (if gone.final_state_unknown() { "missed" } else { "deleted" }, vec![marks(gone.object())])
            }
            other => panic!("{other:?}"),
        };
        assert!(states.iter().all(|marks| marks.as_deref() == Some("x")), "{event:?} has {states:?}");
        log.lock().push(word);
    };
    let registration = informer.add_event_handler(handler).unwrap();
    informer.start();
    assert!(registration.synced().await);
    write(&server, "a", 2);
    delete(&server, "b");
    caught_up(&informer, &server).await;
    server.inject(Fault::delay(5 * SECOND).on(Verb::Watch).times(1));
    server.stop_watches();
    delete(&server, "c");
    write(&server, "d", 1);
    server.compact();
    caught_up(&informer, &server).await;
    assert!(informer.store().list().iter().all(|config| marks(config).as_deref() == Some("x")));
    tokio::time::sleep(3600 * SECOND).await;
    let expected = ["added", "added", "added", "updated", "deleted", "missed", "added", "again", "again"];
    assert_eq!(*seen.lock(), expected);
    assert_eq!(registration.status().panics, 0, "{:?}", registration.status().last_panic);
}

// Coming and going.

#[tokio::test(start_paused = true)]
async fn the_same_handler_may_be_added_twice_and_removed_once() {
    let server = server().await;
    let informer = informer(&server);
    let count = Arc::new(Mutex::new(0));
    let handler = {
        let count = Arc::clone(&count);
        move |_: Event<ConfigMap>| *count.lock() += 1
    };
    let one = informer.add_event_handler(handler.clone()).unwrap();
    let two = informer.add_event_handler(handler).unwrap();
    informer.start();
    assert!(one.synced().await && two.synced().await);
    write(&server, "a", 1);
    while *count.lock() < 2 {
        tokio::time::sleep(SECOND).await;
    }
    one.remove();
    one.ended().await;
    assert!(two.synced().await && informer.status().listeners.len() == 1);
    write(&server, "a", 2);
    caught_up(&informer, &server).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(*count.lock(), 3, "each is called by itself");
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_hears_nothing_more_and_the_others_go_on() {
    let server = server().await;
    let informer = informer(&server);
    let logs: Vec<Log> = (0..3).map(|_| Log::default()).collect();
    let registrations: Vec<Registration<ConfigMap>> =
        logs.iter().map(|log| informer.add_event_handler(log.handler()).unwrap()).collect();
    informer.start();
    for (number, registration) in registrations.iter().enumerate() {
        write(&server, &format!("c{number}"), 1);
        caught_up(&informer, &server).await;
        heard_all(&logs[number], &informer).await;
        registration.remove();
        assert_eq!(informer.status().listeners.len(), 2 - number, "it is forgotten at once");
    }
    write(&server, "unheard", 1);
    caught_up(&informer, &server).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(logs.iter().map(|log| log.lines().len()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_informer_is_created_runs_and_is_stopped_once() {
    let server = server().await;
    let informer = informer(&server);
    let log = Log::default();
    let registration = informer.add_event_handler(log.handler()).unwrap();
    let state = || (informer.status().phase, informer.is_stopped(), informer.has_synced());
    assert_eq!(state(), (Phase::Created, false, false));
    informer.start();
    assert_eq!(state(), (Phase::Running, false, false));
    assert!(informer.synced().await && registration.synced().await);
    assert_eq!(state(), (Phase::Running, false, true));
    informer.shutdown().await;
    assert_eq!(state(), (Phase::Stopped, true, true));
    informer.start();
    assert_eq!(state(), (Phase::Stopped, true, true), "it does not start again");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_informer_refuses_handlers_and_says_why_and_lets_them_go() {
    let server = server().await;
    let informer = informer(&server);
    let registration = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    informer.start();
    informer.shutdown().await;
    let refused = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap_err();
    assert_eq!(refused.to_string(), "the informer \"configmaps\" has been stopped; make a new one");
    registration.remove();
    registration.drain();
    registration.ended().await;
    assert!(informer.status().listeners.is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_task_is_left_whenever_handlers_were_added() {
    let server = server().await;
    let before = tasks();
    for (early, runs, late) in
        [(true, true, false), (true, true, true), (false, true, true), (true, false, false)]
    {
        let informer = resyncing(&server, 30 * SECOND);
        let add = || informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
        let early = early.then(add);
        if runs {
            informer.start();
            assert!(informer.synced().await);
        }
        let late = late.then(add);
        informer.shutdown().await;
        for registration in early.iter().chain(&late) {
            registration.ended().await;
        }
        drop(informer);
        tokio::time::sleep(SECOND).await;
        assert_eq!(tasks(), before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_be_ended_before_a_run_during_it_and_without_one() {
    let server = server().await;
    write(&server, "a", 1);
    for (start_first, start_later) in [(false, false), (false, true), (true, true)] {
        let informer = informer(&server);
        if start_first {
            informer.start();
            assert!(informer.synced().await);
        }
        let log = Log::default();
        let registration = informer.add_event_handler(log.handler()).unwrap();
        if start_later {
            informer.start();
            assert!(registration.synced().await);
        }
        registration.remove();
        tokio::time::timeout(PATIENCE, registration.ended()).await.expect("it ends");
        assert_eq!(log.lines().len(), usize::from(start_later));
        assert!(informer.status().listeners.is_empty());
    }
}

/// On threads: a call that blocks is under way while everything else goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removing_does_not_wait_for_the_call_that_is_under_way_and_ended_does() {
    let server = server().await;
    write(&server, "a", 1);
    write(&server, "b", 1);
    let informer = informer(&server);
    let (began, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let calls = Arc::new(Mutex::new(0));
    let count = Arc::clone(&calls);
    let handler = move |_: Event<ConfigMap>| {
        began.send(()).unwrap();
        released.recv().unwrap();
        *count.lock() += 1;
    };
    let registration = informer.add_event_handler(handler).unwrap();
    informer.start();
    begins.recv().await.unwrap();
    registration.remove();
    assert_eq!(*calls.lock(), 0, "it returned during the call");
    assert!(registration.ended().now_or_never().is_none());
    release.send(()).unwrap();
    registration.ended().await;
    assert_eq!(*calls.lock(), 1, "the call was finished, and no other followed");
    informer.shutdown().await;
}

// Being synced.

#[tokio::test(start_paused = true)]
async fn nothing_is_synced_before_the_first_list_and_everything_after_an_empty_one() {
    let server = server().await;
    let hung = server.inject(Fault::no_reply());
    let informer = informer(&server);
    let early = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    let synced = || (informer.has_synced(), early.has_synced());
    assert_eq!(synced(), (false, false));
    informer.start();
    tokio::time::sleep(3600 * SECOND).await;
    let late = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    assert_eq!((synced(), late.has_synced()), ((false, false), false));
    hung.remove();
    let all = async { informer.synced().await && early.synced().await && late.synced().await };
    assert!(tokio::time::timeout(PATIENCE, all).await.expect("an empty list is a list"));
    let last = informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap();
    assert!(last.has_synced(), "there is nothing that it has not heard of");
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_is_synced_only_after_its_calls_with_everything_that_is_there() {
    let server = server().await;
    for name in ["a", "b", "c"] {
        write(&server, name, 1);
    }
    let informer = informer(&server);
    informer.start();
    assert!(informer.synced().await);
    let registrations = Arc::new(Mutex::new(Vec::<bool>::new()));
    let (log, own) = (Arc::clone(&registrations), Arc::new(Mutex::new(None::<Registration<ConfigMap>>)));
    let me = Arc::clone(&own);
    let handler = move |_: Event<ConfigMap>| {
        log.lock().push(me.lock().as_ref().unwrap().has_synced());
    };
    // Held, so that the first call waits until it can be asked.
    {
        let mut held = own.lock();
        let registration = informer.add_event_handler(handler).unwrap();
        assert!(!registration.has_synced());
        *held = Some(registration);
    }
    while registrations.lock().len() < 3 {
        tokio::time::sleep(SECOND).await;
    }
    // Paused time stands still until the last call has ended.
    tokio::time::sleep(SECOND).await;
    assert_eq!(*registrations.lock(), [false, false, false], "not during a call");
    assert!(own.lock().as_ref().unwrap().has_synced());
    own.lock().take();
}
