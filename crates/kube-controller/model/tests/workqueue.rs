//! Scenarios in which calls of `get` and drains wait. In every interleaving each of them returns: loom reports a deadlock if
//! one is not woken.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kube_controller_model::sync::{advance, block_on};
use kube_controller_model::workqueue::{Work, WorkQueue};
use loom::thread::{JoinHandle, spawn};

const MS: Duration = Duration::from_millis(1);

type Queue = WorkQueue<u32>;

/// Runs a scenario in all interleavings that preempt a thread at most so many times, or `LOOM_MAX_PREEMPTIONS` times.
fn explore(preemptions: usize, scenario: impl Fn(&Queue) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(move || scenario(&Queue::new()));
}

/// A call of `get` that waits for a key. The key stays in work.
fn worker(queue: &Queue) -> JoinHandle<Option<Work<u32>>> {
    let queue = queue.clone();
    spawn(move || block_on(queue.get()))
}

/// A call of `get` that is dropped if it does not have a key at once. A key that it has comes again.
fn leaver(queue: &Queue) -> JoinHandle<()> {
    let queue = queue.clone();
    spawn(move || {
        let mut get = Box::pin(queue.get());
        if let Poll::Ready(Some(work)) = get.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            queue.add(*work);
        }
    })
}

fn key(worker: JoinHandle<Option<Work<u32>>>) -> u32 {
    *worker.join().unwrap().unwrap()
}

/// The timekeeper may be dropped after an operation has promoted the key that it waits for.
fn promoted_by(operation: fn(&Queue) -> Option<Work<u32>>) {
    explore(2, move |queue| {
        queue.add_after(1, MS);
        queue.add_after(2, MS);
        let (worker, leaver) = (worker(queue), leaver(queue));
        advance(1);
        let held = operation(queue);
        leaver.join().unwrap();
        assert!([1, 2].contains(&key(worker)));
        drop(held);
    });
}

#[test]
fn a_key_that_a_read_promotes_is_handed_out_though_the_timekeeper_is_dropped() {
    promoted_by(|queue| {
        queue.len();
        None
    });
}

#[test]
fn a_key_that_try_get_leaves_is_handed_out_though_the_timekeeper_is_dropped() {
    promoted_by(Queue::try_get);
}

#[test]
fn a_key_that_an_add_promotes_is_handed_out_though_the_timekeeper_is_dropped() {
    promoted_by(|queue| {
        // The key is ready by then, so the add itself changes nothing.
        queue.add(1);
        None
    });
}

#[test]
fn each_of_two_keys_that_are_added_wakes_a_call() {
    explore(3, |queue| {
        let workers = [worker(queue), worker(queue)];
        queue.add(1);
        queue.add(2);
        assert_eq!(workers.map(key).iter().sum::<u32>(), 3);
    });
}

#[test]
fn each_of_two_delays_that_end_together_wakes_a_call() {
    explore(2, |queue| {
        queue.add_after(1, MS);
        queue.add_after(2, MS);
        let workers = [worker(queue), worker(queue)];
        advance(1);
        assert_eq!(workers.map(key).iter().sum::<u32>(), 3);
    });
}

#[test]
fn a_shorter_delay_is_kept_though_the_timekeeper_is_dropped() {
    explore(2, |queue| {
        queue.add_after(1, 100 * MS);
        let (worker, leaver) = (worker(queue), leaver(queue));
        queue.add_after(2, MS);
        advance(1);
        leaver.join().unwrap();
        assert_eq!(key(worker), 2);
    });
}

#[test]
fn a_key_that_comes_again_when_its_work_is_done_wakes_a_call() {
    explore(3, |queue| {
        queue.add(1);
        let work = queue.try_get().unwrap();
        let (worker, leaver) = (worker(queue), leaver(queue));
        queue.add(1);
        work.done();
        leaver.join().unwrap();
        assert_eq!(key(worker), 1);
    });
}

#[test]
fn a_shutdown_ends_all_calls() {
    explore(3, |queue| {
        queue.add_after(1, MS);
        let workers = [worker(queue), worker(queue)];
        assert_eq!(queue.shut_down(), [1]);
        assert!(workers.map(|worker| worker.join().unwrap()).iter().all(Option::is_none));
    });
}

#[test]
fn a_closed_queue_ends_when_its_last_key_is_taken() {
    explore(2, |queue| {
        queue.add(1);
        let work = queue.try_get().unwrap();
        queue.add(1);
        let workers = [worker(queue), worker(queue)];
        queue.shut_down();
        work.done();
        let taken = workers.map(|worker| worker.join().unwrap());
        assert_eq!(taken.iter().flatten().count(), 1, "the other call ends while the key is in work");
    });
}

#[test]
fn a_drain_ends_when_the_last_work_is_done() {
    explore(3, |queue| {
        queue.add(1);
        let drain = spawn({
            let queue = queue.clone();
            move || block_on(queue.shut_down_with_drain())
        });
        let worker = worker(queue);
        assert_eq!(key(worker), 1);
        assert!(drain.join().unwrap().is_empty());
    });
}

#[test]
fn a_shutdown_releases_a_drain_that_waits() {
    explore(3, |queue| {
        queue.add(1);
        let work = queue.try_get();
        let mut drain = Box::pin({
            let queue = queue.clone();
            async move { queue.shut_down_with_drain().await }
        });
        assert!(drain.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let drain = spawn(move || block_on(drain));
        queue.shut_down();
        assert!(drain.join().unwrap().is_empty());
        drop(work);
    });
}
