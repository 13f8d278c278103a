//! Priorities: controller-runtime's rules, and that nothing waits for ever.

use kube_controller::workqueue::{DEFAULT_PATIENCE, LOW_PRIORITY};

use super::*;

fn merged<T: Key>() -> WorkQueue<T> {
    queue(Rules::Merged)
}

#[tokio::test(start_paused = true)]
async fn higher_priorities_come_first_and_equals_in_the_order_of_adding() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        for (key, level) in [("a", 0), ("low", LOW_PRIORITY), ("high", 10), ("b", 0), ("also high", 10)] {
            queue.add_with(key, priority(level));
        }
        let work = next(&queue).await;
        assert_eq!((*work, work.priority()), ("high", 10));
        drop(work);
        assert_eq!(take_all(&queue), ["also high", "a", "b", "low"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_priority_rises_to_the_end_of_its_new_equals_and_never_falls() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_with("a", priority(0));
        queue.add_with("b", priority(5));
        queue.add_with("c", priority(0));
        queue.add_with("a", priority(5));
        queue.add_with("b", priority(-3));
        assert_eq!(queue.len(), 3);
        assert_eq!(take_all(&queue), ["b", "a", "c"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_in_work_is_passed_over_and_comes_as_soon_as_it_is_done() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_with("a", priority(9));
        let work = next(&queue).await;
        queue.add_with("a", priority(1));
        queue.add_with("a", priority(9));
        queue.add_with("b", priority(0));
        assert_eq!(take_all(&queue), ["b"], "it waits, but not for this worker");
        work.done();
        let again = next(&queue).await;
        assert_eq!((*again, again.priority()), ("a", 9));
    }
}

#[tokio::test(start_paused = true)]
async fn many_keys_in_work_cost_those_who_look_for_others_nothing() {
    let queue = merged();
    for key in 0..10_000 {
        queue.add_with(key, priority(1));
    }
    let held: Vec<Work<u32>> = std::iter::from_fn(|| queue.try_get()).collect();
    for work in &held {
        queue.add_with(**work, priority(1));
    }
    queue.add_with(20_000, priority(0));
    assert_eq!(take_all(&queue), [20_000]);
    drop(held);
    assert_eq!(take_all(&queue), Vec::from_iter(0..10_000));
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_are_not_there_until_their_time_and_then_go_by_priority() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_with("high", priority(1).after(10 * MS));
        queue.add_with("low", priority(-1));
        queue.add_with("lower", priority(-2));
        assert_eq!((queue.len(), queue.delayed()), (2, 1));
        assert_eq!(*next(&queue).await, "low");
        tokio::time::advance(10 * MS).await;
        assert_eq!(queue.len(), 2);
        assert_eq!(take_all(&queue), ["high", "lower"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_that_becomes_ready_goes_behind_its_equals() {
    let queue = merged();
    queue.add_after("early", 10 * MS);
    queue.add("there");
    tokio::time::advance(20 * MS).await;
    assert_eq!(take_all(&queue), ["there", "early"]);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_added_without_delay_is_ready_at_once_with_its_place_from_before() {
    let queue = merged();
    queue.add_with("first", priority(3).after(Duration::from_secs(1)));
    queue.add_with("risen", AddOptions::new().after(Duration::from_secs(1)));
    queue.add_with("there", priority(3));
    queue.add("first");
    queue.add_with("risen", priority(3));
    assert_eq!((queue.len(), queue.delayed()), (3, 0));
    assert_eq!(take_all(&queue), ["first", "there", "risen"], "the highest priority is kept");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(queue.is_empty(), "and the delay is gone");
}

#[tokio::test(start_paused = true)]
async fn a_key_keeps_its_shortest_delay_and_its_highest_priority() {
    let queue = merged();
    queue.add_with("a", priority(4).after(30 * MS));
    queue.add_with("a", priority(1).after(10 * MS));
    queue.add_with("a", priority(2).after(20 * MS));
    assert_eq!(queue.delayed(), 1);
    let start = tokio::time::Instant::now();
    let work = next(&queue).await;
    assert_eq!((work.priority(), start.elapsed()), (4, 10 * MS));
    drop(work);
    tokio::time::advance(60 * MS).await;
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_important_comes_first_while_the_rest_has_not_waited_long() {
    let queue = merged();
    queue.add_with(u32::MAX, priority(LOW_PRIORITY));
    tokio::time::advance(DEFAULT_PATIENCE - MS).await;
    for key in 0..1000 {
        queue.add(key);
        assert_eq!(*next(&queue).await, key);
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_waited_long_gets_its_share_and_no_more_whatever_is_more_important() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        for key in 0..100 {
            queue.add_with((false, key), priority(LOW_PRIORITY));
        }
        tokio::time::advance(DEFAULT_PATIENCE).await;
        // There is always something more important.
        let mut taken = Vec::new();
        for key in 0..800 {
            queue.add((true, key));
            queue.add((true, key + 1000));
            taken.push(*next(&queue).await);
        }
        let patient: Vec<i32> =
            taken.iter().filter(|(important, _)| !important).map(|(_, key)| *key).collect();
        assert_eq!(patient, Vec::from_iter(0..100), "the oldest first, one of eight");
        assert!(taken.windows(7).all(|some| some.iter().filter(|(important, _)| !important).count() <= 1));
    }
}

#[tokio::test(start_paused = true)]
async fn without_patience_for_ever_means_for_ever() {
    let queue = WorkQueue::builder().patience(Duration::MAX).build();
    queue.add_with(u32::MAX, priority(LOW_PRIORITY));
    tokio::time::advance(Duration::from_secs(3600)).await;
    for key in 0..1000 {
        queue.add(key);
        assert_eq!(*next(&queue).await, key);
    }
    assert_eq!(queue.len(), 1);
}
