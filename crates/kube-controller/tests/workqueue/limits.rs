//! Rate limited adds.

use kube_controller::workqueue::limiter::{Bucket, ItemExponential};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_key_that_fails_again_waits_longer_until_it_is_forgotten() {
    for rules in ALL_RULES {
        let queue = WorkQueue::builder()
            .rules(rules)
            .rate_limiter(ItemExponential::new(MS, Duration::from_secs(1)))
            .build();
        for wait in [1, 2, 4, 8] {
            let start = tokio::time::Instant::now();
            assert!(queue.add_rate_limited("a"));
            next(&queue).await.done();
            assert_eq!(start.elapsed(), wait * MS);
        }
        assert_eq!((queue.num_requeues(&"a"), queue.num_requeues(&"b")), (4, 0));
        queue.forget(&"a");
        assert_eq!(queue.num_requeues(&"a"), 0);
        let start = tokio::time::Instant::now();
        queue.add_rate_limited("a");
        next(&queue).await.forget();
        assert_eq!(start.elapsed(), MS);
        assert_eq!(queue.num_requeues(&"a"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_went_wrong_comes_again_with_its_priority() {
    for rules in ALL_RULES {
        let queue = queue(rules);
        queue.add_with("a", priority(7));
        assert!(next(&queue).await.retry());
        assert_eq!((queue.num_requeues(&"a"), queue.delayed()), (1, 1));
        let again = next(&queue).await;
        assert_eq!(again.priority(), 7);
        assert!(again.retry_after(Duration::from_secs(3)));
        assert_eq!(queue.num_requeues(&"a"), 0, "that is no failure");
        let start = tokio::time::Instant::now();
        let last = next(&queue).await;
        assert_eq!((last.priority(), start.elapsed()), (7, Duration::from_secs(3)));
        queue.shut_down();
        assert!(!last.retry(), "it is known that this one is lost");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_limit_and_a_delay_the_shorter_counts() {
    for (after, expected) in [(2, 2), (20, 5)] {
        let queue = queue(Rules::Merged);
        let start = tokio::time::Instant::now();
        queue.add_with("a", AddOptions::new().rate_limited().after(after * MS));
        next(&queue).await.done();
        assert_eq!(start.elapsed(), expected * MS);
    }
}

#[tokio::test(start_paused = true)]
async fn the_limits_of_one_key_are_not_those_of_another() {
    let queue = queue(Rules::Merged);
    for _ in 0..3 {
        queue.add_rate_limited("often");
    }
    queue.add_rate_limited("once");
    let start = tokio::time::Instant::now();
    for key in ["often", "once"] {
        assert_eq!(*next(&queue).await, key, "the first delay of each is the earliest");
        assert_eq!(start.elapsed(), 5 * MS);
    }
    assert_eq!((queue.num_requeues(&"often"), queue.num_requeues(&"once")), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn the_default_limiter_has_a_bucket_by_one_set_of_rules_only() {
    for (rules, expected) in [(Rules::Layered, 10_000), (Rules::Merged, 5)] {
        let queue = queue(rules);
        let start = tokio::time::Instant::now();
        for key in 0..200 {
            queue.add_rate_limited(key);
        }
        for _ in 0..200 {
            next(&queue).await.done();
        }
        assert_eq!(start.elapsed(), expected * MS, "{rules:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bucket_spreads_keys_over_time() {
    let queue = WorkQueue::builder().rate_limiter(Bucket::new(10.0, 1)).build();
    let start = tokio::time::Instant::now();
    for key in 0..4 {
        queue.add_rate_limited(key);
    }
    for key in 0..4 {
        assert_eq!(*next(&queue).await, key);
        assert_eq!(start.elapsed(), 100 * MS * key);
    }
}
