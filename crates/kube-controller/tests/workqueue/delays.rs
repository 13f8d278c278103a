//! Delays, and who keeps the time.

use std::pin::pin;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_delayed_key_comes_when_its_time_has_come_and_not_before() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        let start = tokio::time::Instant::now();
        queue.add_after("a", 50 * MS);
        assert_eq!((queue.len(), queue.delayed()), (0, 1));
        tokio::time::advance(49 * MS).await;
        assert!(queue.is_empty() && would_wait(&queue));
        assert_eq!(*next(&queue).await, "a");
        assert_eq!(start.elapsed(), 50 * MS);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(queue.is_empty() && queue.delayed() == 0);
    }
}

#[tokio::test(start_paused = true)]
async fn no_delay_is_at_once_and_a_delay_without_end_does_no_harm() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_after("a", Duration::ZERO);
        assert_eq!(*next(&queue).await, "a");
        queue.add_after("b", Duration::MAX);
        assert_eq!((queue.len(), queue.delayed()), (0, 1));
        assert_eq!(queue.shut_down(), ["b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn of_several_delays_the_earliest_counts() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_after("a", 50 * MS);
        queue.add_after("a", 70 * MS);
        assert_eq!(queue.delayed(), 1);
        tokio::time::advance(60 * MS).await;
        assert_eq!(take_all(&queue), ["a"]);
        tokio::time::advance(20 * MS).await;
        assert!(queue.is_empty(), "the second one is gone");
        queue.add_after("a", 50 * MS);
        queue.add_after("a", 30 * MS);
        tokio::time::advance(40 * MS).await;
        assert_eq!(take_all(&queue), ["a"]);
        tokio::time::advance(20 * MS).await;
        assert!(queue.is_empty(), "the first one is gone");
    }
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_come_in_the_order_of_their_times() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_after("third", 300 * MS);
        queue.add_after("first", 50 * MS);
        queue.add_after("second", 100 * MS);
        queue.add_after("also second", 100 * MS);
        let start = tokio::time::Instant::now();
        for (key, at) in [("first", 50), ("second", 100), ("also second", 100), ("third", 300)] {
            assert_eq!(*next(&queue).await, key);
            assert_eq!(start.elapsed(), at * MS);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_shorter_delay_wakes_the_one_who_waits_for_a_longer_one() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_after("late", Duration::from_secs(10));
        let mut waiting = pin!(queue.get());
        assert!(poll(waiting.as_mut()).is_pending());
        let start = tokio::time::Instant::now();
        queue.add_after("early", Duration::from_secs(1));
        assert_eq!(*waiting.await.unwrap(), "early");
        assert_eq!(start.elapsed(), Duration::from_secs(1));
        assert_eq!(*next(&queue).await, "late");
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_comes_at_once_and_is_delayed_comes_twice_or_once_by_the_rules() {
    for (rules, later) in [(Rules::Layered, vec!["a"]), (Rules::Merged, vec![])] {
        for delayed_first in [true, false] {
            let queue = queue(rules);
            if delayed_first {
                queue.add_after("a", 50 * MS);
                queue.add("a");
            } else {
                queue.add("a");
                queue.add_after("a", 50 * MS);
            }
            assert_eq!(take_all(&queue), ["a"], "at once");
            tokio::time::advance(50 * MS).await;
            assert_eq!(take_all(&queue), later, "{rules:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_ends_while_somebody_works_on_the_key_comes_when_that_is_done() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add("a");
        let work = next(&queue).await;
        queue.add_after("a", MS);
        tokio::time::advance(5 * MS).await;
        assert!(queue.is_empty() && queue.delayed() == 0);
        work.done();
        assert_eq!(take_all(&queue), ["a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_is_kept_by_another_when_the_one_who_kept_it_leaves() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_after("a", MS);
        queue.add_after("b", 10 * MS);
        let mut keeper = Box::pin(queue.get());
        assert!(poll(keeper.as_mut()).is_pending());
        let others: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    let work = queue.get().await.unwrap();
                    std::future::pending::<()>().await;
                    drop(work);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(keeper);
        tokio::time::sleep(2 * MS).await;
        assert_eq!((queue.len(), queue.delayed()), (0, 1), "one of them has the first, and is busy with it");
        tokio::time::sleep(9 * MS).await;
        assert_eq!((queue.len(), queue.delayed()), (0, 0), "the other has the second");
        others.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

#[tokio::test(start_paused = true)]
async fn delays_that_end_together_wake_as_many_as_there_is_work_for() {
    let queue = WorkQueue::new();
    let workers: Vec<_> = (0..5)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let work = queue.get().await.unwrap();
                std::future::pending::<()>().await;
                drop(work);
            })
        })
        .collect();
    tokio::task::yield_now().await;
    for key in 0..5 {
        queue.add_after(key, MS);
    }
    tokio::time::sleep(2 * MS).await;
    assert_eq!((queue.len(), queue.delayed()), (0, 0), "each has one, and is busy with it");
    workers.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_delays_need_no_task_each() {
    let queue = WorkQueue::new();
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for key in 0..100_000_u64 {
        queue.add_after(key, Duration::from_millis(1 + key % 1000));
    }
    let mut taken = 0;
    while taken < 100_000 {
        next(&queue).await.done();
        taken += 1;
    }
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before);
    assert!(queue.is_empty());
}
