//! What is counted about a controller.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;

/// controller-runtime's buckets, in seconds.
const BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

/// How a reconcile ended, as metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Success,
    Requeue,
    RequeueAfter,
    Error,
}

impl Ended {
    pub(crate) const ALL: [Self; 4] = [Self::Success, Self::Error, Self::Requeue, Self::RequeueAfter];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

/// What is counted about a controller.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) concurrency: usize,
    ended: [AtomicU64; 4],
    pub(crate) terminal: Count,
    pub(crate) panics: Count,
    pub(crate) timeouts: Count,
    active: AtomicU64,
    pub(crate) times: Histogram,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Figures {
    pub(super) fn new(concurrency: usize) -> Self {
        Self {
            concurrency,
            ended: Default::default(),
            terminal: Count::default(),
            panics: Count::default(),
            timeouts: Count::default(),
            active: AtomicU64::new(0),
            times: Histogram::new(BUCKETS),
        }
    }

    /// A reconcile begins; it ends when what is returned is dropped.
    pub(super) fn begin(&self) -> Active<'_> {
        self.active.fetch_add(1, Ordering::Relaxed);
        Active(self)
    }

    pub(super) fn ended(&self, how: Ended, took: Duration) {
        self.ended[how as usize].fetch_add(1, Ordering::Relaxed);
        self.times.observe(took.as_secs_f64());
    }

    pub(crate) fn count(&self, how: Ended) -> u64 {
        self.ended[how as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn active(&self) -> u64 {
        self.active.load(Ordering::Relaxed)
    }
}

/// A reconcile that is under way.
pub(super) struct Active<'a>(&'a Figures);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}
