//! What limiters answer.

use super::*;

const MS: Duration = Duration::from_millis(1);

fn waits<T>(limiter: &mut impl RateLimiter<T>, item: &T, times: usize) -> Vec<Duration> {
    let now = Instant::now();
    (0..times).map(|_| limiter.when(item, now)).collect()
}

#[test]
fn a_wait_doubles_with_each_failure_of_its_own_key_until_it_is_forgotten() {
    let mut limiter = ItemExponential::new(MS, Duration::from_secs(1));
    assert_eq!(waits(&mut limiter, &"one", 5), [1, 2, 4, 8, 16].map(|wait| wait * MS));
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(waits(&mut limiter, &"two", 2), [MS, 2 * MS]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(waits(&mut limiter, &"one", 1), [MS]);
}

#[test]
fn a_wait_never_gets_longer_than_its_limit_however_often_a_key_fails() {
    let mut limiter = ItemExponential::new(MS, Duration::from_secs(1000));
    let waits = waits(&mut limiter, &"one", 1100);
    assert_eq!(waits[5], 32 * MS);
    assert!(waits.is_sorted());
    assert!(waits[20..].iter().all(|wait| *wait == Duration::from_secs(1000)));
    let mut huge = ItemExponential::new(Duration::from_secs(60), Duration::MAX);
    let waits = self::waits(&mut huge, &"two", 1100);
    assert_eq!((waits[1], waits[1099]), (Duration::from_secs(120), Duration::MAX));
    let mut none = ItemExponential::new(Duration::ZERO, Duration::from_secs(1));
    assert!(self::waits(&mut none, &"three", 100).iter().all(Duration::is_zero));
}

#[test]
fn a_few_tries_are_fast_and_the_others_slow() {
    let (fast, slow) = (5 * MS, Duration::from_secs(10));
    let mut limiter = ItemFastSlow::new(fast, slow, 3);
    assert_eq!(waits(&mut limiter, &"one", 5), [fast, fast, fast, slow, slow]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(waits(&mut limiter, &"two", 1), [fast]);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(waits(&mut limiter, &"one", 1), [fast]);
}

#[test]
fn the_longest_of_several_waits_counts_and_all_of_them_count_failures() {
    let exponential = ItemExponential::new(MS, Duration::from_secs(1));
    let fast_slow = ItemFastSlow::new(5 * MS, Duration::from_secs(3), 3);
    let mut limiter = MaxOf::new().and(fast_slow).and(exponential);
    let expected = [5 * MS, 5 * MS, 5 * MS, Duration::from_secs(3), Duration::from_secs(3)];
    assert_eq!(waits(&mut limiter, &"one", 5), expected);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(waits(&mut limiter, &"two", 2), [5 * MS, 5 * MS]);
    limiter.forget(&"one");
    assert_eq!((limiter.num_requeues(&"one"), limiter.num_requeues(&"two")), (0, 2));
    assert_eq!(waits(&mut MaxOf::new(), &"one", 1), [Duration::ZERO], "of none there is none");
}

#[test]
fn a_limited_wait_is_cut_and_the_rest_is_the_limiters_own() {
    let mut limiter = WithMaxWait::new(default_controller(), 7 * MS);
    assert_eq!(waits(&mut limiter, &"one", 3), [5 * MS, 7 * MS, 7 * MS]);
    assert_eq!(limiter.num_requeues(&"one"), 3);
    limiter.forget(&"one");
    assert_eq!(waits(&mut limiter, &"one", 1), [5 * MS]);
}

#[test]
fn a_bucket_lets_a_burst_pass_and_then_so_many_a_second() {
    let mut bucket = Bucket::new(10.0, 3);
    let start = Instant::now();
    let mut take = |at: u64| bucket.take(start + Duration::from_millis(at));
    assert_eq!([0; 5].map(&mut take), [0, 0, 0, 100, 200].map(Duration::from_millis));
    assert_eq!(take(100), Duration::from_millis(200), "what is borrowed is given back first");
    assert_eq!(take(10_000), Duration::ZERO);
    assert_eq!([10_000; 3].map(&mut take), [0, 0, 100].map(Duration::from_millis), "no more than the burst");
}

#[test]
fn a_token_that_is_not_there_is_not_borrowed_by_those_who_only_ask() {
    let start = Instant::now();
    let mut bucket = Bucket::new(10.0, 2);
    let mut ask = |at: u64| bucket.try_take(start + Duration::from_millis(at));
    assert_eq!([0, 0, 0, 50, 99, 100, 101].map(&mut ask), [true, true, false, false, false, true, false]);
    let mut none = Bucket::new(0.0, 1);
    assert_eq!([(); 3].map(|()| none.try_take(start)), [true, false, false]);
}

#[test]
fn a_bucket_without_a_rate_or_with_a_strange_one_says_something_sensible() {
    let now = Instant::now();
    for qps in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE] {
        let mut bucket = Bucket::new(qps, 1);
        assert_eq!(bucket.take(now), Duration::ZERO);
        assert_eq!(bucket.take(now), Duration::from_secs_f64(365.0 * 24.0 * 3600.0), "{qps}");
    }
    let mut free = Bucket::new(f64::INFINITY, 0);
    assert!((0..10).all(|_| free.take(now).is_zero()));
}

#[test]
fn the_defaults_are_those_of_client_go() {
    let mut controller = default_controller();
    let now = Instant::now();
    let first: Vec<Duration> = (0..101).map(|key| controller.when(&key, now)).collect();
    assert!(first[..100].iter().all(|wait| *wait == 5 * MS));
    assert_eq!(first[100], 100 * MS, "the bucket is empty");
    let mut by_item = default_item_based();
    let waits = waits(&mut by_item, &0, 21);
    assert_eq!((waits[0], waits[20]), (MS, Duration::from_secs(1000)));
}
