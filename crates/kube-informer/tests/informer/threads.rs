//! Handlers that block, panic, come and go, and the threads and runtimes they are called on.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::fanout::{Event, Fanout, ListenerOptions, Registration};
use kube_informer::reflector::Config;
use kube_informer::source::KubeSource;
use kube_informer::{Object, SharedInformer};
use kube_testserver::{Fault, Verb};
use kube_wire::Limits;
use tokio_util::sync::CancellationToken;

use crate::{Log, PATIENCE, caught_up, churn, every_fault, heard_all, informer, server, slow, write};

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("and its payload, too");
        }
    }
}

/// A panic whose payload panics when it is dropped.
#[tokio::test(start_paused = true)]
async fn a_handler_goes_on_after_a_panic_whose_payload_panics() {
    let server = server().await;
    let informer = informer(&server);
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let handler = move |_: Event<ConfigMap>| {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            panic_any(Bomb);
        }
    };
    let registration = informer.add_event_handler(handler).unwrap();
    informer.start();
    assert!(informer.synced().await);
    for value in 1..4 {
        write(&server, "a", value);
        caught_up(&informer, &server).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(heard.load(Ordering::SeqCst), 3, "{:?}", registration.status());
    assert_eq!(registration.status().panics, 1);
    registration.remove();
    tokio::time::timeout(PATIENCE, registration.ended()).await.expect("it ends");
}

/// A handler that was added on another runtime, which goes before the informer does.
#[test]
fn a_handler_whose_runtime_is_gone_has_ended() {
    let ours = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let theirs = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    ours.block_on(async {
        let server = server().await;
        let informer = informer(&server);
        informer.start();
        assert!(informer.synced().await);
        let added: Registration<ConfigMap> = {
            let informer = informer.clone();
            theirs
                .spawn(async move { informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap() })
                .await
                .unwrap()
        };
        assert!(added.synced().await);
        tokio::task::spawn_blocking(move || drop(theirs)).await.unwrap();
        for value in 0..50 {
            write(&server, "a", value);
            caught_up(&informer, &server).await;
        }
        let status = informer.status();
        assert!(status.listeners.is_empty(), "nobody hears that any more: {:?}", status.listeners);
        added.remove();
        let ended = tokio::time::timeout(Duration::from_secs(5), added.ended()).await;
        assert!(ended.is_ok(), "it has ended long ago");
        informer.shutdown().await;
    });
}

/// A handler that panics once, and then takes long: the panic is not to be seen meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_is_shown_though_the_next_call_lasts() {
    let server = server().await;
    for name in ["a", "b", "c"] {
        write(&server, name, 1);
    }
    let informer = informer(&server);
    let (hold, until) = std::sync::mpsc::channel::<()>();
    let (began, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let mut calls = 0;
    let handler = move |_: Event<ConfigMap>| {
        calls += 1;
        if calls == 1 {
            panic!("the first");
        }
        began.send(()).unwrap();
        let _ = until.recv();
    };
    let registration = informer.add_event_handler(handler).unwrap();
    informer.start();
    begins.recv().await.unwrap();
    let status = registration.status();
    drop(hold);
    informer.shutdown().await;
    assert_eq!((status.panics, status.told), (1, 1), "{status:?}");
}

/// So many handlers block from their first call on; one that came after them hears everything nevertheless.
async fn so_many_that_block_delay_nobody(blocked: usize) {
    let server = server().await;
    let informer = informer(&server);
    let mut held = Vec::new();
    for _ in 0..blocked {
        let (hold, until) = std::sync::mpsc::channel::<()>();
        held.push(hold);
        let blocks = move |_: Event<ConfigMap>| {
            let _ = until.recv();
        };
        informer.add_event_handler(blocks).unwrap();
    }
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    informer.add_event_handler(move |_: Event<ConfigMap>| heard.send(()).unwrap()).unwrap();
    informer.start();
    assert!(informer.synced().await);
    write(&server, "a", 1);
    let outcome = tokio::time::timeout(Duration::from_secs(10), hears.recv()).await;
    drop(held);
    informer.shutdown().await;
    assert!(outcome.is_ok(), "it waits for those that block");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_handlers_that_block_delay_nobody() {
    so_many_that_block_delay_nobody(300).await;
}

/// Handlers end with what calls them, also where nobody has closed it.
#[tokio::test(start_paused = true)]
async fn a_fanout_that_nobody_holds_ends_its_handlers() {
    let mut fanout = Fanout::<ConfigMap>::new();
    let registration = fanout.add_handler(|_: Event<ConfigMap>| {}, ListenerOptions::new(), []);
    drop(fanout);
    tokio::time::timeout(PATIENCE, registration.ended()).await.expect("it ends");
}

/// Handlers of many runtimes, each of which comes and goes, while one that stays hears everything.
#[test]
fn runtimes_come_and_go() {
    let ours = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    ours.block_on(async {
        let server = server().await;
        let informer = informer(&server);
        let heard = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heard);
        informer
            .add_event_handler(move |_: Event<ConfigMap>| {
                count.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
        informer.start();
        assert!(informer.synced().await);
        for value in 0..100 {
            let informer = informer.clone();
            tokio::task::spawn_blocking(move || {
                let theirs = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let _entered = theirs.enter();
                for _ in 0..5 {
                    informer.add_event_handler(|_: Event<ConfigMap>| std::thread::yield_now()).unwrap();
                }
                drop(_entered);
                if value % 3 == 0 {
                    theirs.shutdown_background();
                }
            })
            .await
            .unwrap();
            write(&server, "a", value);
        }
        let all = async {
            while heard.load(Ordering::SeqCst) < 100 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("it hears everything");
        tokio::time::timeout(Duration::from_secs(60), informer.shutdown()).await.expect("all have ended");
    });
}

/// The faults of `the_copy_and_every_log_explain_the_server_after_every_fault` strike before the informer has synced for
/// the first time. Here each strikes an informer that runs, while one handler leaves and another joins.
#[tokio::test(start_paused = true)]
async fn every_fault_strikes_while_handlers_come_and_go() {
    for (verb, fault) in every_fault() {
        let server = server().await;
        churn(&server, 1, 30);
        let mut config = Config::default();
        config.initial_events = verb == Verb::Watch;
        let mut limits = Limits::default();
        limits.frame_bytes = 512 << 10;
        let source = KubeSource::all(server.in_process_client(), &()).limits(limits);
        let informer = SharedInformer::builder(source).config(config).build();
        let (plain, taking, late, removed) = (Log::default(), Log::default(), Log::default(), Log::default());
        let all = informer.add_event_handler(plain.handler()).unwrap();
        let stop = CancellationToken::new();
        slow(&taking, &informer, &stop);
        let leaving = informer.add_event_handler(removed.handler()).unwrap();
        informer.start();
        assert!(informer.synced().await);
        let mut joined = None;
        for round in 2..6 {
            let injected = server.inject(fault.clone().on(verb).resource("configmaps").times(3));
            churn(&server, round, 30);
            if verb == Verb::List {
                // A watch that has expired leads to a list.
                server.inject(Fault::expired().on(Verb::Watch).resource("configmaps").times(1));
            }
            server.stop_watches();
            let struck = async {
                while injected.hits() == 0 {
                    churn(&server, round + 10, 3);
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            };
            tokio::time::timeout(PATIENCE, struck).await.unwrap_or_else(|_| panic!("{fault:?} never struck"));
            if round == 3 {
                leaving.remove();
                leaving.ended().await;
                joined = Some(informer.add_event_handler(late.handler()).unwrap());
            }
            churn(&server, round + 20, 10);
            caught_up(&informer, &server).await;
            injected.remove();
        }
        for log in [&plain, &taking, &late] {
            heard_all(log, &informer).await;
        }
        for registration in [&all, &leaving, joined.as_ref().unwrap()] {
            let status = registration.status();
            assert_eq!(status.panics, 0, "a log makes no sense after {fault:?}: {:?}", status.last_panic);
        }
        stop.cancel();
        informer.shutdown().await;
    }
}

/// A runtime whose only thread for what blocks is held by somebody else until the channel is dropped.
fn without_threads() -> (tokio::runtime::Runtime, std::sync::mpsc::Sender<()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).max_blocking_threads(1).enable_all().build().unwrap();
    let (hold, until) = std::sync::mpsc::channel::<()>();
    let (began, begins) = std::sync::mpsc::channel();
    runtime.spawn_blocking(move || {
        began.send(()).unwrap();
        let _ = until.recv();
    });
    begins.recv().unwrap();
    (runtime, hold)
}

/// How long threads are waited for by the clock on the wall.
const REAL_PATIENCE: Duration = Duration::from_secs(60);

/// Events about one object.
fn events(count: usize) -> Vec<Event<ConfigMap>> {
    let added = |number: usize| {
        let mut object = ConfigMap::default();
        object.metadata.name = Some("a".to_owned());
        object.metadata.resource_version = Some(number.to_string());
        Event::Added { object: Object::new(object), initial: false }
    };
    (1..=count).map(added).collect()
}

/// No stack is as large as this runtime wants for its threads.
#[test]
fn where_the_system_has_no_thread_for_the_runtime_handlers_get_their_own() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let starved = builder.thread_stack_size(1 << 50).enable_all().build().unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    starved.block_on(async {
        let mut fanout = Fanout::<ConfigMap>::new();
        let handler = move |event: Event<ConfigMap>| {
            let version: usize = event.object().resource_version().parse().unwrap();
            assert_eq!(count.fetch_add(1, Ordering::SeqCst) + 1, version, "each once, in order");
        };
        let registration = fanout.add_handler(handler, ListenerOptions::new().lossless(), []);
        for event in events(100) {
            fanout.tell(&[event]);
            tokio::task::yield_now().await;
        }
        registration.drain();
        tokio::time::timeout(REAL_PATIENCE, registration.ended()).await.expect("it ends");
        assert_eq!((heard.load(Ordering::SeqCst), registration.status().panics), (100, 0));
    });
}

/// The only thread is held until both wait for it. The one that is first has to leave it to the other before it has heard
/// everything.
#[test]
fn handlers_take_turns_on_the_only_thread_of_a_runtime() {
    const EVENTS: usize = 50_000;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).enable_all().build().unwrap();
    let (hold, until) = std::sync::mpsc::channel::<()>();
    runtime.spawn_blocking(move || {
        let _ = until.recv();
    });
    runtime.block_on(async {
        let mut fanout = Fanout::<ConfigMap>::new();
        let first = Arc::new(AtomicUsize::new(0));
        let (counted, seen) = (Arc::clone(&first), Arc::clone(&first));
        let counts = move |_: Event<ConfigMap>| {
            counted.fetch_add(1, Ordering::SeqCst);
        };
        let (when, mut whens) = tokio::sync::mpsc::unbounded_channel();
        let looks = move |_: Event<ConfigMap>| {
            let _ = when.send(seen.load(Ordering::SeqCst));
        };
        let options = || ListenerOptions::new().lossless();
        let all = [fanout.add_handler(counts, options(), []), fanout.add_handler(looks, options(), [])];
        fanout.tell(&events(EVENTS));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        drop(hold);
        let at = whens.recv().await.unwrap();
        assert!(at < EVENTS, "it waited until the other had heard everything");
        for registration in all {
            registration.drain();
            tokio::time::timeout(REAL_PATIENCE, registration.ended()).await.expect("it ends");
        }
        assert_eq!(first.load(Ordering::SeqCst), EVENTS);
    });
}

/// A handler that goes on for ever if nothing closes its listener.
#[test]
fn a_runtime_that_ends_in_a_call_ends_the_handler_after_that_call() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (hold, until) = std::sync::mpsc::channel::<()>();
    let (began, begins) = std::sync::mpsc::channel();
    let mut fanout = Fanout::<ConfigMap>::new();
    let registration = {
        let _entered = runtime.enter();
        let handler = move |_: Event<ConfigMap>| {
            began.send(()).unwrap();
            let _ = until.recv();
        };
        fanout.add_handler(handler, ListenerOptions::new(), [])
    };
    fanout.tell(&events(10));
    begins.recv().unwrap();
    runtime.shutdown_background();
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    other.block_on(async {
        // The future has been dropped when the listener hears no more.
        let closed = async {
            while !fanout.status().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(REAL_PATIENCE, closed).await.expect("its listener is closed");
        drop(hold);
        tokio::time::timeout(REAL_PATIENCE, registration.ended()).await.expect("it ends");
    });
    assert!(begins.recv().is_err(), "no other call follows");
}

/// Its runtime goes before it has been called for the first time.
#[test]
fn a_handler_that_was_never_called_ends_with_its_runtime() {
    let ours = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (theirs, hold) = without_threads();
    ours.block_on(async {
        let server = server().await;
        let informer = informer(&server);
        informer.start();
        assert!(informer.synced().await);
        let added: Registration<ConfigMap> = {
            let _entered = theirs.enter();
            informer.add_event_handler(|_: Event<ConfigMap>| {}).unwrap()
        };
        theirs.shutdown_background();
        drop(hold);
        added.remove();
        let ended = tokio::time::timeout(Duration::from_secs(5), added.ended()).await;
        assert!(ended.is_ok(), "it has ended long ago");
        informer.shutdown().await;
    });
}

/// Handlers of every pace, of which some leave: each hears everything once, in order, and never two things at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_of_every_pace_hear_everything_in_order() {
    const HANDLERS: usize = 60;
    const EVENTS: usize = 400;
    let server = server().await;
    let informer = informer(&server);
    let mut all = Vec::new();
    for number in 0..HANDLERS {
        let (heard, inside) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (last, within) = (Arc::clone(&heard), Arc::clone(&inside));
        let mut calls = 0;
        let handler = move |event: Event<ConfigMap>| {
            assert_eq!(within.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
            let value: usize = event.object().data.as_ref().unwrap()["value"].parse().unwrap();
            assert_eq!(last.swap(value, Ordering::SeqCst) + 1, value, "out of order");
            calls += 1;
            match number % 4 {
                1 => std::thread::yield_now(),
                2 if calls % 50 == 0 => busy(Duration::from_millis(7)),
                3 if calls % 20 == 0 => busy(Duration::from_millis(1)),
                _ => {}
            }
            within.fetch_sub(1, Ordering::SeqCst);
        };
        let registration =
            informer.add_event_handler_with(handler, ListenerOptions::new().lossless()).unwrap();
        all.push((registration, heard));
    }
    informer.start();
    assert!(informer.synced().await);
    for value in 1..=EVENTS {
        write(&server, "a", value);
        if value % 9 == 0 {
            tokio::task::yield_now().await;
        }
    }
    caught_up(&informer, &server).await;
    for (registration, heard) in &all {
        registration.drain();
        tokio::time::timeout(Duration::from_secs(120), registration.ended()).await.expect("it ends");
        let status = registration.status();
        assert_eq!((status.panics, heard.load(Ordering::SeqCst)), (0, EVENTS), "{status:?}");
    }
    tokio::time::timeout(Duration::from_secs(60), informer.shutdown()).await.expect("all have ended");
}

/// Holds its thread, without sleeping.
fn busy(time: Duration) {
    let (_never, nothing) = std::sync::mpsc::channel::<()>();
    let _ = nothing.recv_timeout(time);
}
