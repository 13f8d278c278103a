//! A work queue: adding, adding again, and working.

use std::sync::Arc;

use kube_controller::workqueue::WorkQueue;
use tokio::time::Instant;

use super::{Settings, expect, figure};
use crate::{Error, memory};

/// How many workers take from the queue while it is filled.
const WORKERS: usize = 4;

/// Prints what one key costs, in nanoseconds, in a queue of `count` keys.
pub(super) async fn run(settings: &Settings) -> Result<(), Error> {
    let count = settings.count;
    let each = |begun: Instant| begun.elapsed().as_nanos() as f64 / count as f64;
    let (first, again) = (keys(count), keys(count));
    let before = memory::own().0;
    let queue = WorkQueue::<String>::new();
    let begun = Instant::now();
    for key in first {
        queue.add(key);
    }
    figure("add_ns", each(begun));
    figure("resident", memory::own().0.saturating_sub(before) as f64);
    let begun = Instant::now();
    for key in again {
        queue.add(key);
    }
    figure("again_ns", each(begun));
    expect(queue.len(), count)?;
    let begun = Instant::now();
    for _ in 0..count {
        queue.get().await.ok_or("the queue has ended")?.forget();
    }
    figure("take_ns", each(begun));
    expect(queue.len(), 0)?;

    let keys = keys(count);
    let queue = Arc::new(queue);
    let begun = Instant::now();
    let workers: Vec<_> = (0..WORKERS).map(|_| tokio::spawn(work(Arc::clone(&queue)))).collect();
    let filled = Arc::clone(&queue);
    tokio::task::spawn_blocking(move || {
        for key in keys {
            filled.add(key);
        }
        filled.shut_down();
    })
    .await?;
    let mut taken = 0;
    for worker in workers {
        taken += worker.await?;
    }
    figure("together_ns", each(begun));
    expect(taken, count)
}

async fn work(queue: Arc<WorkQueue<String>>) -> usize {
    let mut taken = 0;
    while let Some(work) = queue.get().await {
        work.forget();
        taken += 1;
    }
    taken
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("team-{:03}/web-{number:07}", number / 1_000)).collect()
}
