//! Many workers on several threads. Real threads, but no test of time.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

const KEYS: u64 = 200;
const WORKERS: u64 = 32;
const PRODUCERS: u64 = 8;
const ADDS: u64 = 5_000;

/// Whatever was added last is worked on after that, by one worker at a time, and nobody sleeps while there is work.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_nothing_is_missed_and_no_key_has_two_workers() {
    for rules in ALL_RULES {
        let queue = queue::<u64>(rules);
        let busy = Arc::new(parking_lot::Mutex::new(HashSet::new()));
        // What each key should be, and what its last worker saw.
        let wanted: Arc<Vec<AtomicU64>> = Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect());
        let seen: Arc<Vec<AtomicU64>> = Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect());
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| {
                let (queue, busy) = (queue.clone(), Arc::clone(&busy));
                let (wanted, seen) = (Arc::clone(&wanted), Arc::clone(&seen));
                tokio::spawn(async move {
                    while let Some(work) = queue.get().await {
                        assert!(busy.lock().insert(*work), "{} has two workers", *work);
                        let want = wanted[*work as usize].load(Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        seen[*work as usize].store(want, Ordering::SeqCst);
                        assert!(busy.lock().remove(&work));
                        if number % 3 == 0 {
                            work.done();
                        }
                    }
                })
            })
            .collect();
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let (queue, wanted) = (queue.clone(), Arc::clone(&wanted));
                tokio::spawn(async move {
                    for round in 0..ADDS {
                        let key = (round * 31 + producer * 7) % KEYS;
                        wanted[key as usize].fetch_add(1, Ordering::SeqCst);
                        match round % 5 {
                            0 => queue.add_after(key, Duration::from_micros(round % 300)),
                            1 => queue.add_with(key, priority((round % 3) as i32)),
                            _ => queue.add(key),
                        };
                        if round % 64 == 0 {
                            // Some give up waiting, and must not take a key or a timer with them.
                            let _ = tokio::time::timeout(Duration::ZERO, queue.get())
                                .await
                                .map(|work| work.map(|work| queue.add(*work)));
                            tokio::task::yield_now().await;
                        }
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.await.unwrap();
        }
        while queue.delayed() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(queue.shut_down_with_drain().await.is_empty());
        for worker in workers {
            worker.await.unwrap();
        }
        for key in 0..KEYS as usize {
            assert_eq!(
                seen[key].load(Ordering::SeqCst),
                wanted[key].load(Ordering::SeqCst),
                "the last change of {key} was missed"
            );
        }
    }
}

/// As above, but the only thing that wakes a worker is a timer that somebody keeps.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_the_time_is_always_kept_by_somebody() {
    let queue = WorkQueue::<u64>::new();
    let done = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..16)
        .map(|_| {
            let (queue, done) = (queue.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                while let Some(work) = queue.get().await {
                    done.fetch_add(1, Ordering::SeqCst);
                    work.done();
                }
            })
        })
        .collect();
    for round in 0..50 {
        for key in 0..40 {
            queue.add_after(round * 100 + key, Duration::from_micros(key * 50));
        }
        let all = async {
            while done.load(Ordering::SeqCst) < (round + 1) * 40 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), all).await.unwrap();
    }
    queue.shut_down();
    for worker in workers {
        worker.await.unwrap();
    }
}
