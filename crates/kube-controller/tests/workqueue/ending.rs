//! Shutdowns, and what becomes of what is left.

use std::pin::pin;

use super::*;

#[tokio::test(start_paused = true)]
async fn after_a_shutdown_what_waits_is_handed_out_and_nothing_more_is_taken() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add("a");
        queue.add("b");
        queue.add_after("later", MS);
        queue.add_after("much later", Duration::from_secs(60));
        assert_eq!(queue.shut_down(), ["later", "much later"], "in the order of their times");
        assert!(queue.is_shutting_down());
        assert!(!queue.add("c") && !queue.add_after("c", MS) && !queue.add_rate_limited("c"));
        assert_eq!(*queue.get().await.unwrap(), "a");
        assert_eq!(*queue.get().await.unwrap(), "b");
        assert!(queue.get().await.is_none());
        assert!(queue.shut_down().is_empty(), "what was returned is not returned again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_is_over_is_not_dropped() {
    let queue = WorkQueue::new();
    queue.add_after("a", MS);
    tokio::time::advance(MS).await;
    assert!(queue.shut_down().is_empty());
    assert_eq!(*queue.get().await.unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_are_released_by_every_kind_of_shutdown() {
    for kind in 0..3 {
        let queue = WorkQueue::<u32>::new();
        queue.add_after(1, Duration::from_secs(60));
        let waiting: Vec<_> = (0..5)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.get().await.is_none() })
            })
            .collect();
        tokio::task::yield_now().await;
        let dropped = match kind {
            0 => queue.shut_down(),
            1 => queue.shut_down_now(),
            _ => queue.shut_down_with_drain().await,
        };
        assert_eq!(dropped, [1]);
        for waiting in waiting {
            assert!(waiting.await.unwrap());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_until_everything_that_waits_has_been_worked_on() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add("a");
        queue.add("b");
        queue.add_after("later", Duration::from_secs(60));
        let mut drain = Box::pin(queue.shut_down_with_drain());
        assert!(poll(drain.as_mut()).is_pending(), "nobody works, but two wait");
        let a = next(&queue).await;
        let b = next(&queue).await;
        a.done();
        assert!(poll(drain.as_mut()).is_pending());
        b.done();
        assert_eq!(drain.await, ["later"]);
        assert!(queue.get().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_what_comes_again_and_so_do_other_workers() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add("a");
        let work = next(&queue).await;
        queue.add("a");
        let mut drain = Box::pin(queue.shut_down_with_drain());
        assert!(poll(drain.as_mut()).is_pending());
        let mut other = pin!(queue.get());
        assert!(poll(other.as_mut()).is_pending(), "there may be more to do");
        work.done();
        assert!(poll(drain.as_mut()).is_pending());
        let again = other.await.unwrap();
        assert_eq!(*again, "a");
        assert!(poll(drain.as_mut()).is_pending());
        again.done();
        assert!(drain.await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_shutdown_waits_for_nobody() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add("b");
    let work = next(&queue).await;
    assert!(queue.shut_down().is_empty());
    work.done();
    assert_eq!(queue.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_shutdown_ends_the_wait_for_a_drain() {
    let queue = WorkQueue::new();
    queue.add("a");
    let work = next(&queue).await;
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    assert!(!drain.is_finished());
    queue.shut_down();
    assert!(drain.await.unwrap().is_empty());
    work.done();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_at_once_returns_everything_that_nobody_works_on_each_once() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add("in work");
        queue.add("comes again");
        let held = [next(&queue).await, next(&queue).await];
        queue.add("comes again");
        queue.add_after("delayed", MS);
        queue.add_with("waits", priority(-1));
        queue.add("waits with a delay");
        queue.add_after("waits with a delay", MS);
        let mut dropped = queue.shut_down_now();
        dropped.sort_unstable();
        assert_eq!(dropped, ["comes again", "delayed", "waits", "waits with a delay"], "{rules:?}");
        assert_eq!((queue.len(), queue.delayed()), (0, 0));
        drop(held);
        assert!(queue.get().await.is_none(), "{rules:?}");
        assert!(queue.shut_down_with_drain().await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_drain_that_was_dropped_would_have_returned_is_returned_later() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add_after("later", MS);
    let gone = tokio::time::timeout(MS, queue.shut_down_with_drain()).await;
    assert!(gone.is_err(), "nobody works");
    assert_eq!(queue.shut_down_now(), ["a", "later"]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_while_a_key_is_handed_over_loses_neither() {
    // The worker has been woken for a key when the queue is shut down.
    let queue = WorkQueue::new();
    let mut waiting = pin!(queue.get());
    assert!(poll(waiting.as_mut()).is_pending());
    queue.add("a");
    assert!(queue.shut_down().is_empty());
    assert_eq!(*waiting.await.unwrap(), "a");
    assert!(queue.get().await.is_none());
}
