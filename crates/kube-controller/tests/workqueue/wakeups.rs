//! Calls that wait are woken, whichever operation gives them a reason to.

use std::pin::pin;

use kube_controller::Metrics;
use prometheus_client::registry::Registry;

use super::*;

type Operation = fn(&WorkQueue<&'static str>, &Registry) -> Option<Work<&'static str>>;

/// Operations that promote keys whose delay has ended, though the caller asked for something else. A key that they take stays
/// in work.
const PROMOTE: [(&str, Operation); 6] = [
    ("len", |queue, _| {
        assert_eq!(queue.len(), 2);
        None
    }),
    ("delayed", |queue, _| {
        assert_eq!(queue.delayed(), 0);
        None
    }),
    ("Debug", |queue, _| {
        assert!(format!("{queue:?}").contains("len: 2"));
        None
    }),
    ("metrics", |_, registry| {
        prometheus_client::encoding::text::encode(&mut String::new(), registry).unwrap();
        None
    }),
    ("try_get", |queue, _| Some(queue.try_get().unwrap())),
    ("add_after", |queue, _| {
        assert!(queue.add_after("c", Duration::from_secs(100)));
        None
    }),
];

#[tokio::test(start_paused = true)]
async fn a_key_that_any_operation_promotes_is_handed_out_though_the_timekeeper_is_dropped() {
    let mut lost = Vec::new();
    for rules in ALL_RULES {
        for (name, operation) in PROMOTE {
            let mut registry = Registry::default();
            let metrics = Metrics::register(&mut registry);
            let queue = WorkQueue::builder().rules(rules).metrics(&metrics).build();
            queue.add_after("a", Duration::from_secs(10));
            queue.add_after("b", Duration::from_secs(10));
            let mut timekeeper = Box::pin(queue.get());
            let mut other = Box::pin(queue.get());
            assert!(poll(timekeeper.as_mut()).is_pending() && poll(other.as_mut()).is_pending());
            tokio::time::advance(Duration::from_secs(10)).await;
            let held = operation(&queue, &registry);
            drop(timekeeper);
            match tokio::time::timeout(Duration::from_secs(1), other).await {
                Ok(work) => {
                    assert!(work.is_some_and(|work| ["a", "b"].contains(&*work)), "{name}, {rules:?}");
                }
                Err(_) => lost.push((name, rules)),
            }
            drop(held);
        }
    }
    assert!(lost.is_empty(), "a key is ready and a call of get waits for ever after {lost:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_of_get_end_when_another_takes_the_last_key_of_a_closed_queue() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add("a");
        let work = next(&queue).await;
        queue.add("a");
        queue.shut_down();
        let mut waiting = [Box::pin(queue.get()), Box::pin(queue.get())];
        for get in &mut waiting {
            assert!(poll(get.as_mut()).is_pending(), "the key comes again");
        }
        work.done();
        let last = queue.try_get().unwrap();
        for get in waiting {
            let end = tokio::time::timeout(Duration::from_secs(1), get).await;
            assert!(
                end.is_ok_and(|work| work.is_none()),
                "{rules:?}: the queue has ended and a call of get waits"
            );
        }
        drop(last);
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_releases_a_drain_that_does_not_run_before_the_next_drain_begins() {
    let queue = WorkQueue::new();
    queue.add("a");
    let work = next(&queue).await;
    let (mut first, mut second) = (pin!(queue.shut_down_with_drain()), pin!(queue.shut_down_with_drain()));
    assert!(poll(first.as_mut()).is_pending());
    queue.shut_down();
    assert!(poll(second.as_mut()).is_pending());
    assert!(poll(first.as_mut()).is_ready(), "a shutdown has released it");
    assert!(poll(second.as_mut()).is_pending(), "no shutdown has released this one");
    work.done();
    assert!(poll(second.as_mut()).is_ready());
}
