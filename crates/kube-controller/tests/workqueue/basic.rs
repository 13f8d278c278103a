//! Adding, taking, finishing.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

#[tokio::test(start_paused = true)]
async fn keys_come_in_the_order_in_which_they_were_added() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        for key in ["c", "a", "b"] {
            assert!(queue.add(key));
        }
        assert_eq!(queue.len(), 3);
        assert_eq!(*next(&queue).await, "c");
        assert_eq!(queue.len(), 2);
        assert_eq!(take_all(&queue), ["a", "b"]);
        assert!(queue.is_empty() && would_wait(&queue));
    }
}

#[tokio::test(start_paused = true)]
async fn adds_of_what_waits_already_collapse_and_keep_its_place() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        for key in ["a", "b", "a", "a"] {
            queue.add(key);
        }
        assert_eq!(queue.len(), 2);
        assert_eq!(take_all(&queue), ["a", "b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_added_while_somebody_works_on_it_comes_once_more_when_that_is_done() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add("a");
        let work = next(&queue).await;
        queue.add("a");
        queue.add("a");
        assert_eq!(queue.len(), 0, "nobody can have it now");
        assert!(would_wait(&queue));
        let mut second = pin!(queue.get());
        assert!(poll(second.as_mut()).is_pending());
        work.done();
        assert_eq!(queue.len(), 1);
        let again = second.await.unwrap();
        assert_eq!(*again, "a");
        drop(again);
        assert!(queue.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_again_takes_its_place_when_the_work_is_done_or_when_it_was_added() {
    for (rules, expected) in [(Rules::Layered, ["b", "a"]), (Rules::Merged, ["a", "b"])] {
        let queue = queue(rules);
        queue.add("a");
        let work = next(&queue).await;
        queue.add("a");
        queue.add("b");
        work.done();
        assert_eq!(take_all(&queue), expected, "{rules:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_can_be_added_again_when_the_work_is_done() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add("a");
        next(&queue).await.done();
        assert_eq!(queue.len(), 0);
        queue.add("a");
        assert_eq!(queue.len(), 1);
        assert_eq!(*next(&queue).await, "a");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_frees_the_key() {
    let queue = WorkQueue::new();
    queue.add("a");
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let work = queue.get().await.unwrap();
            queue.add("a");
            panic!("{}", *work);
        }
    });
    assert!(worker.await.unwrap_err().is_panic());
    assert_eq!(*next(&queue).await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_get_takes_nothing_and_wakes_another() {
    let queue = WorkQueue::new();
    let mut dropped = Box::pin(queue.get());
    assert!(poll(dropped.as_mut()).is_pending());
    let other = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|work| *work) }
    });
    tokio::task::yield_now().await;
    queue.add(1);
    // The first one was told, and goes without having looked.
    drop(dropped);
    assert_eq!(other.await.unwrap(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn every_worker_that_waits_is_woken_when_there_is_work_for_all() {
    let queue = WorkQueue::new();
    let workers: Vec<_> = (0..10)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let work = queue.get().await.unwrap();
                // Everybody is busy for as long as the others are not.
                tokio::time::sleep(MS).await;
                *work
            })
        })
        .collect();
    tokio::task::yield_now().await;
    let start = tokio::time::Instant::now();
    for key in 0..10 {
        queue.add(key);
    }
    let mut taken = Vec::new();
    for worker in workers {
        taken.push(worker.await.unwrap());
    }
    taken.sort_unstable();
    assert_eq!(taken, Vec::from_iter(0..10));
    assert_eq!(start.elapsed(), MS);
}

#[tokio::test(start_paused = true)]
async fn what_was_handed_out_and_done_is_not_kept() {
    let alive = Arc::new(());
    #[derive(Clone)]
    struct Heavy(u32, #[expect(dead_code)] Arc<()>);
    impl PartialEq for Heavy {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for Heavy {}
    impl std::hash::Hash for Heavy {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }
    for rules in ALL_RULES {
        let queue = queue(rules);
        for key in 0..5000 {
            queue.add(Heavy(key, Arc::clone(&alive)));
            queue.add_after(Heavy(key + 2500, Arc::clone(&alive)), MS);
        }
        tokio::time::advance(MS).await;
        assert!(Arc::strong_count(&alive) > 5000);
        assert_eq!(take_all(&queue).len(), 7500);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

/// 50 producers and 10 workers; nobody works on what another works on, and nothing is missed.
#[tokio::test(start_paused = true)]
async fn many_producers_and_workers_never_share_a_key() {
    for (rules, drain) in
        [(Rules::Layered, false), (Rules::Layered, true), (Rules::Merged, false), (Rules::Merged, true)]
    {
        let queue = queue(rules);
        let busy = Arc::new(parking_lot::Mutex::new(HashMap::<u32, u32>::new()));
        let processed = Arc::new(AtomicU64::new(0));
        let workers: Vec<_> = (0..10)
            .map(|_| {
                let (queue, busy, processed) = (queue.clone(), Arc::clone(&busy), Arc::clone(&processed));
                tokio::spawn(async move {
                    while let Some(work) = queue.get().await {
                        let key: u32 = *work;
                        assert!(busy.lock().insert(key, key).is_none(), "{key} has two workers");
                        tokio::time::sleep(3 * MS).await;
                        busy.lock().remove(&key);
                        processed.fetch_add(1, Ordering::Relaxed);
                        work.done();
                    }
                })
            })
            .collect();
        let producers: Vec<_> = (0..50)
            .map(|key| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    for _ in 0..50 {
                        assert!(queue.add(key));
                        tokio::time::sleep(MS).await;
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.await.unwrap();
        }
        if drain {
            assert!(queue.shut_down_with_drain().await.is_empty());
            assert!(busy.lock().is_empty(), "a drain is over when the last is done");
        } else {
            assert!(queue.shut_down().is_empty());
        }
        assert!(!queue.add(1000), "too late");
        for worker in workers {
            worker.await.unwrap();
        }
        assert_eq!(queue.len(), 0);
        assert!(processed.load(Ordering::Relaxed) >= 100, "each comes twice at least");
    }
}
