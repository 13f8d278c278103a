//! What work queues promise, in paused time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod basic;
mod delays;
mod ending;
mod limits;
mod metrics;
mod model;
mod priorities;
mod stress;
mod waiting;
mod wakeups;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kube_controller::workqueue::{AddOptions, Key, Rules, Work, WorkQueue};

const MS: Duration = Duration::from_millis(1);

/// Both sets of rules, where they promise the same.
const ALL_RULES: [Rules; 2] = [Rules::Layered, Rules::Merged];

fn queue<T: Key>(rules: Rules) -> WorkQueue<T> {
    WorkQueue::builder().rules(rules).build()
}

/// What can be taken out now, done at once.
fn take_all<T: Key>(queue: &WorkQueue<T>) -> Vec<T> {
    std::iter::from_fn(|| queue.try_get().map(|work| T::clone(&work))).collect()
}

fn priority(priority: i32) -> AddOptions {
    AddOptions::new().priority(priority)
}

/// Asks a future once.
fn poll<F: Future + ?Sized>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The next key, within a time that is long for every test here.
async fn next<T: Key>(queue: &WorkQueue<T>) -> Work<T> {
    tokio::time::timeout(Duration::from_secs(3600), queue.get()).await.unwrap().unwrap()
}

/// Whether a call of `get` would wait now.
fn would_wait<T: Key>(queue: &WorkQueue<T>) -> bool {
    poll(pin!(queue.get())).is_pending()
}
