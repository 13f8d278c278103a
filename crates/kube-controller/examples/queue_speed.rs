//! How long adding, taking and finishing take with many keys: `cargo run --release --example queue_speed`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures real time and prints it")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube_controller::workqueue::{AddOptions, Rules, WorkQueue};

#[tokio::main]
async fn main() {
    for keys in [100_000, 1_000_000] {
        let names: Vec<Arc<str>> =
            (0..keys).map(|key| format!("namespace-{}/pod-{key}", key % 100).into()).collect();
        for rules in [Rules::Layered, Rules::Merged] {
            measure(&names, rules).await;
        }
        workers(&names).await;
    }
}

/// One task does everything.
async fn measure(names: &[Arc<str>], rules: Rules) {
    let queue = WorkQueue::builder().rules(rules).build();
    let each = |start: Instant| start.elapsed().as_nanos() / names.len() as u128;
    let start = Instant::now();
    for (at, name) in names.iter().enumerate() {
        let priority = if rules == Rules::Merged { (at % 3) as i32 } else { 0 };
        queue.add_with(Arc::clone(name), AddOptions::new().priority(priority));
    }
    let add = each(start);
    let start = Instant::now();
    for name in names {
        queue.add(Arc::clone(name));
    }
    let collapse = each(start);
    let start = Instant::now();
    for _ in names {
        if let Some(work) = queue.get().await {
            work.done();
        }
    }
    let take = each(start);
    let start = Instant::now();
    for (at, name) in names.iter().enumerate() {
        queue.add_after(Arc::clone(name), Duration::from_nanos(1 + (at as u64 * 7919) % 1000));
    }
    let delay = each(start);
    let start = Instant::now();
    for _ in names {
        if let Some(work) = queue.get().await {
            work.done();
        }
    }
    let take_delayed = each(start);
    println!(
        "{} keys, {rules:?}: add {add} ns, add again {collapse} ns, get and done {take} ns, add_after {delay} ns, get and done {take_delayed} ns",
        names.len()
    );
}

/// Eight workers take what one task adds.
async fn workers(names: &[Arc<str>]) {
    let queue = WorkQueue::new();
    let start = Instant::now();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { while queue.get().await.is_some() {} })
        })
        .collect();
    for name in names {
        queue.add(Arc::clone(name));
    }
    queue.shut_down_with_drain().await;
    for worker in workers {
        // A worker that panicked would be seen in the drain.
        let _ = worker.await;
    }
    let rate = names.len() as f64 / start.elapsed().as_secs_f64();
    println!("{} keys, one producer, eight workers: {rate:.0} keys a second", names.len());
}
