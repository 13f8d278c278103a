//! What Prometheus is told about queues.

use kube_controller::Metrics;
use prometheus_client::registry::Registry;

use super::*;

struct Page(String);

impl Page {
    fn of(registry: &Registry) -> Self {
        let mut page = String::new();
        prometheus_client::encoding::text::encode(&mut page, registry).unwrap();
        Self(page)
    }

    /// The value of a series; none if there is none.
    fn value(&self, name: &str, label: &str) -> Option<f64> {
        let is_it = |line: &&str| line.split(['{', ' ']).next() == Some(name) && line.contains(label);
        let value: f64 = self.0.lines().find(is_it).and_then(|line| line.rsplit(' ').next()?.parse().ok())?;
        // Sums of fractions: nanoseconds are exact enough.
        Some((value * 1e9).round() / 1e9)
    }
}

fn shown(rules: Rules) -> (Registry, WorkQueue<&'static str>) {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let queue = WorkQueue::builder().name("foos").rules(rules).metrics(&metrics).build();
    (registry, queue)
}

#[tokio::test(start_paused = true)]
async fn what_a_queue_does_can_be_read_under_the_names_of_client_go() {
    let (registry, queue) = shown(Rules::Layered);
    let is = |name: &str| Page::of(&registry).value(name, r#"name="foos""#);
    queue.add("a");
    assert_eq!((is("workqueue_depth"), is("workqueue_adds_total")), (Some(1.0), Some(1.0)));
    queue.add("a");
    assert_eq!((is("workqueue_depth"), is("workqueue_adds_total")), (Some(1.0), Some(1.0)), "they collapse");
    tokio::time::advance(50 * MS).await;
    let work = next(&queue).await;
    assert_eq!(is("workqueue_depth"), Some(0.0));
    assert_eq!(is("workqueue_queue_duration_seconds_sum"), Some(0.05));
    assert_eq!(is("workqueue_queue_duration_seconds_count"), Some(1.0));
    queue.add("a");
    assert_eq!((is("workqueue_depth"), is("workqueue_adds_total")), (Some(1.0), Some(2.0)), "it comes again");
    tokio::time::advance(25 * MS).await;
    work.done();
    assert_eq!(is("workqueue_work_duration_seconds_sum"), Some(0.025));
    let work = next(&queue).await;
    assert_eq!(is("workqueue_queue_duration_seconds_sum"), Some(0.075), "since it was added again");
    tokio::time::advance(10 * MS).await;
    queue.add("b");
    let other = next(&queue).await;
    tokio::time::advance(10 * MS).await;
    assert_eq!(is("workqueue_unfinished_work_seconds"), Some(0.03));
    assert_eq!(is("workqueue_longest_running_processor_seconds"), Some(0.02));
    drop((work, other));
    assert_eq!(is("workqueue_unfinished_work_seconds"), Some(0.0));
    assert_eq!(is("workqueue_longest_running_processor_seconds"), Some(0.0));
    assert_eq!(is("workqueue_work_duration_seconds_count"), Some(3.0));
    let buckets =
        Page::of(&registry).0.lines().filter(|line| line.contains("work_duration_seconds_bucket")).count();
    assert_eq!(buckets, 11, "from 10 ns to 10 s, and the rest");
}

#[tokio::test(start_paused = true)]
async fn adds_with_a_delay_are_retries_and_count_as_adds_when_the_delay_is_over() {
    let (registry, queue) = shown(Rules::Layered);
    let is = |name: &str| Page::of(&registry).value(name, r#"name="foos""#);
    queue.add_after("a", MS);
    queue.add_rate_limited("b");
    queue.add_after("c", Duration::ZERO);
    assert_eq!(is("workqueue_retries_total"), Some(3.0));
    assert_eq!((is("workqueue_depth"), is("workqueue_adds_total")), (Some(1.0), Some(1.0)));
    tokio::time::advance(10 * MS).await;
    assert_eq!(
        (is("workqueue_depth"), is("workqueue_adds_total")),
        (Some(3.0), Some(3.0)),
        "nobody has looked"
    );
    assert_eq!(take_all(&queue), ["c", "a", "b"]);
    assert_eq!(is("workqueue_queue_duration_seconds_sum"), Some(0.024), "since the delay was over");
}

#[tokio::test(start_paused = true)]
async fn the_depth_by_priority_follows_every_change() {
    let (registry, queue) = shown(Rules::Merged);
    let depth = |priority: i32| {
        Page::of(&registry).value("workqueue_depth", &format!(r#"name="foos",priority="{priority}""#))
    };
    queue.add_with("a", priority(0).after(Duration::from_secs(1)));
    assert_eq!(depth(0), None, "delayed keys are not counted");
    queue.add("a");
    assert_eq!(depth(0), Some(1.0), "from a delay to none");
    queue.add_with("a", priority(5));
    assert_eq!((depth(0), depth(5)), (Some(0.0), Some(1.0)), "from a priority to another");
    queue.add_with("b", priority(0));
    let work = next(&queue).await;
    queue.add("a");
    assert_eq!((depth(0), depth(5)), (Some(2.0), Some(0.0)), "one of them waits for its worker");
    queue.add_with("a", priority(5));
    assert_eq!((depth(0), depth(5)), (Some(1.0), Some(1.0)));
    work.done();
    assert_eq!((depth(0), depth(5)), (Some(1.0), Some(1.0)));
    assert_eq!(take_all(&queue), ["a", "b"]);
    assert_eq!((depth(0), depth(5)), (Some(0.0), Some(0.0)));
    queue.add_with("c", priority(5));
    queue.shut_down_now();
    assert_eq!(depth(5), Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn queues_of_one_name_are_told_apart_and_a_dropped_one_leaves_no_series() {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let new = || WorkQueue::<u32>::builder().name("foos").metrics(&metrics).build();
    let (one, two) = (new(), new());
    one.add(1);
    two.add(1);
    two.add(2);
    let page = Page::of(&registry);
    assert_eq!(page.value("workqueue_depth", r#"name="foos""#), Some(1.0));
    assert_eq!(page.value("workqueue_depth", r#"name="foos-2""#), Some(2.0));
    two.shut_down();
    drop(two);
    assert!(!Page::of(&registry).0.contains("foos-2"));
    drop(one);
    assert!(!Page::of(&registry).0.contains("foos"));
}
