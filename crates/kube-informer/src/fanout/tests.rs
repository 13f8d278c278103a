//! What a listener can rely on.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::json;

use super::*;

fn object(name: &str, version: u64) -> Object<ConfigMap> {
    let object = json!({"metadata": {"name": name, "resourceVersion": version.to_string()}});
    Object::new(serde_json::from_value(object).unwrap())
}

fn added(name: &str, version: u64) -> Event<ConfigMap> {
    Event::Added { object: object(name, version), initial: false }
}

fn updated(name: &str, old: u64, new: u64) -> Event<ConfigMap> {
    Event::Updated { old: object(name, old), new: object(name, new), resync: false }
}

fn deleted(name: &str, version: u64) -> Event<ConfigMap> {
    Event::Deleted(Deleted::new(object(name, version)))
}

/// `+a1` for an added object, `a1>2` for an updated one, `-a3` for a deleted one; `!` for an initial one.
fn short(event: &Event<ConfigMap>) -> String {
    let version = |object: &Object<ConfigMap>| object.resource_version().to_owned();
    match event {
        Event::Added { object, initial } => {
            format!("{}{}{}", if *initial { "!" } else { "+" }, object.key(), version(object))
        }
        Event::Updated { old, new, .. } => format!("{}{}>{}", new.key(), version(old), version(new)),
        Event::Deleted(gone) => format!("-{}{}", gone.object().key(), version(gone.object())),
    }
}

/// Takes everything that waits.
fn drain(subscription: &mut Subscription<ConfigMap>) -> Vec<String> {
    std::iter::from_fn(|| subscription.next().now_or_never().flatten()).map(|event| short(&event)).collect()
}

type Log = Arc<Mutex<Vec<String>>>;

fn logging(log: &Log) -> impl Handle<ConfigMap> + use<> {
    let log = Arc::clone(log);
    move |event: Event<ConfigMap>| log.lock().push(short(&event))
}

#[tokio::test(start_paused = true)]
async fn every_listener_hears_everything_in_order() {
    let mut fanout = Fanout::new();
    let logs: Vec<Log> = (0..3).map(|_| Log::default()).collect();
    let registrations: Vec<_> =
        logs.iter().map(|log| fanout.add_handler(logging(log), ListenerOptions::new(), [])).collect();
    for event in [added("a", 1), added("b", 2), updated("a", 1, 3), deleted("b", 4)] {
        fanout.tell(&[event]);
    }
    fanout.close(true);
    for (registration, log) in registrations.iter().zip(&logs) {
        registration.ended().await;
        assert_eq!(*log.lock(), ["+a1", "+b2", "a1>3", "-b4"]);
    }
}

#[tokio::test(start_paused = true)]
async fn one_who_joins_late_hears_what_is_there_and_then_what_follows() {
    let mut fanout = Fanout::new();
    fanout.initial_complete();
    fanout.tell(&[added("a", 1)]);
    let mut late = fanout.subscribe(ListenerOptions::new(), [object("a", 1)]);
    fanout.tell(&[updated("a", 1, 2)]);
    assert!(!late.status().synced);
    assert_eq!(drain(&mut late), ["!a1", "a1>2"]);
    assert!(late.status().synced);
}

#[tokio::test(start_paused = true)]
async fn a_handler_has_synced_when_it_was_called_with_every_initial_object() {
    let mut fanout = Fanout::new();
    let log = Log::default();
    let registration = fanout.add_handler(logging(&log), ListenerOptions::new(), []);
    fanout.tell(&[Event::Added { object: object("a", 1), initial: true }]);
    tokio::task::yield_now().await;
    assert!(!registration.has_synced(), "the first list is not complete");
    fanout.initial_complete();
    assert!(registration.synced().await);
    assert_eq!(*log.lock(), ["!a1"]);
    let empty = Fanout::<ConfigMap>::new().add_handler(logging(&log), ListenerOptions::new(), []);
    assert!(!empty.has_synced());
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_caught_and_counted_and_the_handler_goes_on() {
    let mut fanout = Fanout::new();
    fanout.initial_complete();
    let log = Log::default();
    let mut inner = logging(&log);
    let handler = move |event: Event<ConfigMap>| {
        assert!(event.object().key() != "bad", "no good");
        inner.handle(event);
    };
    let registration =
        fanout.add_handler(handler, ListenerOptions::new(), [object("bad", 1), object("a", 1)]);
    assert!(registration.synced().await, "a panic does not keep it from being synced");
    fanout.tell(&[added("b", 2)]);
    registration.drain();
    registration.ended().await;
    assert_eq!(*log.lock(), ["!a1", "+b2"]);
    let status = registration.status();
    assert_eq!((status.panics, status.last_panic.as_deref()), (1, Some("no good")));
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_drops_what_waits_and_a_drained_one_does_not() {
    let mut fanout = Fanout::new();
    let (dropped, drained) = (Log::default(), Log::default());
    let (hold, until) = std::sync::mpsc::channel::<()>();
    let (began, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let mut inner = logging(&dropped);
    let held = move |event: Event<ConfigMap>| {
        began.send(()).unwrap();
        let _ = until.recv();
        inner.handle(event);
    };
    let one = fanout.add_handler(held, ListenerOptions::new(), []);
    let two = fanout.add_handler(logging(&drained), ListenerOptions::new(), []);
    fanout.tell(&[added("x", 1)]);
    begins.recv().await.unwrap();
    fanout.tell(&[added("a", 1)]);
    one.remove();
    two.drain();
    fanout.tell(&[added("b", 2)]);
    drop(hold);
    one.ended().await;
    two.ended().await;
    assert_eq!(*dropped.lock(), ["+x1"], "what was under way is finished, and nothing follows");
    assert_eq!(*drained.lock(), ["+x1", "+a1"]);
    one.remove();
    assert!(fanout.status().is_empty(), "nobody listens any more");
    assert!(!one.synced().await, "it ended before it was synced");
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_gets_the_latest_state_of_each_object_and_delays_nobody() {
    let mut fanout = Fanout::new();
    let mut slow = fanout.subscribe(ListenerOptions::new().high_water(3), []);
    let mut fast = fanout.subscribe(ListenerOptions::new().high_water(3).lossless(), []);
    for event in [
        updated("seen", 1, 2),
        added("new", 3),
        added("blink", 4),
        updated("seen", 2, 5),
        updated("new", 3, 6),
        deleted("blink", 7),
        updated("gone", 8, 9),
        deleted("gone", 10),
        deleted("back", 11),
        added("back", 12),
    ] {
        fanout.tell(&[event]);
    }
    let status = slow.status();
    assert!(status.coalescing && status.coalesced == 5, "{status:?}");
    assert_eq!(drain(&mut slow), ["seen1>5", "+new6", "-gone10", "back11>12"]);
    assert_eq!(drain(&mut fast).len(), 10);
    fanout.tell(&[added("x", 20)]);
    fanout.tell(&[updated("x", 20, 21)]);
    assert_eq!(drain(&mut slow), ["+x20", "x20>21"], "once it has caught up, it hears everything again");
}

#[tokio::test(start_paused = true)]
async fn initial_objects_that_vanish_in_a_full_queue_do_not_keep_a_listener_from_being_synced() {
    for high_water in 1..6 {
        let mut fanout = Fanout::new();
        fanout.initial_complete();
        let there = ["a", "b", "c"].map(|name| object(name, 1));
        let mut listener = fanout.subscribe(ListenerOptions::new().high_water(high_water), there);
        for name in ["a", "b"] {
            fanout.tell(&[deleted(name, 2)]);
        }
        drain(&mut listener);
        assert!(listener.status().synced, "with a mark of {high_water}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_turns_changes_into_comings_and_goings() {
    let log = Log::default();
    let even = |object: &Object<ConfigMap>| {
        object.resource_version().parse::<u64>().is_ok_and(|v| v.is_multiple_of(2))
    };
    let mut handler = Filtered::new(even, logging(&log));
    for event in [
        added("a", 1),
        updated("a", 1, 2),
        updated("a", 2, 4),
        updated("a", 4, 5),
        updated("a", 5, 7),
        deleted("a", 8),
        deleted("b", 9),
    ] {
        handler.handle(event);
    }
    assert_eq!(*log.lock(), ["+a2", "a2>4", "-a4", "-a8"]);
}

#[tokio::test(start_paused = true)]
async fn closures_are_called_for_their_events() {
    let log = Log::default();
    let say = |what: &'static str| {
        let log = Arc::clone(&log);
        move || log.lock().push(what.to_owned())
    };
    let (add, update, delete, resync) = (say("add"), say("update"), say("delete"), say("resync"));
    let mut plain = EventHandler::new().on_update({
        let update = say("update");
        move |_, _| update()
    });
    let mut handler = EventHandler::new()
        .on_add(move |_, _| add())
        .on_update(move |_, _| update())
        .on_delete(move |_| delete())
        .on_resync(move |_| resync());
    let again = Event::Updated { old: object("a", 1), new: object("a", 1), resync: true };
    for event in [added("a", 1), updated("a", 1, 2), again.clone(), deleted("a", 3)] {
        handler.handle(event);
    }
    plain.handle(again);
    plain.handle(added("a", 1));
    assert_eq!(*log.lock(), ["add", "update", "resync", "delete", "update"]);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_ends_with_the_fanout_and_is_forgotten_when_dropped() {
    let mut fanout = Fanout::new();
    let mut kept = fanout.subscribe(ListenerOptions::new(), []);
    let dropped = fanout.subscribe(ListenerOptions::new(), []);
    drop(dropped);
    fanout.tell(&[added("a", 1)]);
    assert_eq!(fanout.status().len(), 1);
    fanout.close(true);
    assert_eq!(kept.next().await.map(|event| short(&event)).as_deref(), Some("+a1"));
    assert!(kept.next().await.is_none());
}

#[tokio::test]
async fn handlers_come_and_go_while_events_flow_without_a_deadlock() {
    let fanout = Arc::new(Mutex::new(Fanout::new()));
    fanout.lock().initial_complete();
    let mut tasks = Vec::new();
    for _ in 0..100 {
        let fanout = Arc::clone(&fanout);
        tasks.push(tokio::spawn(async move {
            let log = Log::default();
            for _ in 0..10 {
                let registration =
                    fanout.lock().add_handler(logging(&log), ListenerOptions::new(), [object("a", 1)]);
                assert!(registration.synced().await);
                registration.drain();
                registration.ended().await;
            }
        }));
    }
    for version in 0..10_000 {
        fanout.lock().tell(&[added("x", version)]);
        if version % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(60), task).await.expect("no deadlock").unwrap();
    }
    fanout.lock().close(false);
}

#[tokio::test(start_paused = true)]
async fn those_who_come_and_go_while_nothing_happens_leave_nothing_behind() {
    let mut fanout = Fanout::<ConfigMap>::new();
    fanout.initial_complete();
    let stays = fanout.subscribe(ListenerOptions::new().name("stays"), []);
    for _ in 0..1_000 {
        drop(fanout.subscribe(ListenerOptions::new(), []));
    }
    let names: Vec<String> = fanout.status().into_iter().map(|status| status.name).collect();
    assert_eq!(names, ["stays"]);
    assert!(fanout.listeners.len() < 10, "{} are remembered", fanout.listeners.len());
    drop(stays);
    assert!(fanout.status().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_listener_without_a_name_has_a_number() {
    let mut fanout = Fanout::<ConfigMap>::new();
    let one = fanout.add_handler(|_: Event<ConfigMap>| {}, ListenerOptions::new(), []);
    let two = fanout.subscribe(ListenerOptions::new().name("mine"), []);
    let three = fanout.subscribe(ListenerOptions::new(), []);
    let names = [one.status().name, two.status().name, three.status().name];
    assert_eq!(names, ["listener-1", "mine", "listener-3"]);
}

#[test]
fn what_is_gone_has_its_name_whether_or_not_anybody_saw_it_go() {
    let namespaced = json!({"metadata": {"namespace": "a", "name": "x", "resourceVersion": "7"}});
    let namespaced = Object::<ConfigMap>::new(serde_json::from_value(namespaced).unwrap());
    for (object, key, namespace) in [(namespaced, "a/x", "a"), (object("x", 7), "x", "")] {
        for (gone, unknown) in [(Deleted::new(object.clone()), false), (Deleted::unseen(object), true)] {
            assert_eq!(gone.final_state_unknown(), unknown);
            let last = gone.object();
            assert_eq!((last.key(), last.namespace(), last.name()), (key, namespace, "x"));
            assert_eq!(Event::Deleted(gone.clone()).object().resource_version(), "7");
        }
    }
}
