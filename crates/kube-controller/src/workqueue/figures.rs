//! What is counted about a queue.

use std::time::Duration;

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::time::Instant;

use super::Rules;
use super::depths::Depths;
use super::running::{Running, Seat};
use super::slab::Id;

/// What is counted about a queue.
#[derive(Debug)]
pub(super) struct Figures {
    adds: u64,
    retries: u64,
    depths: Depths,
    running: Running,
    /// Only where somebody wants to see them.
    times: Option<Times>,
}

#[derive(Clone, Debug)]
struct Times {
    waited: Histogram,
    worked: Histogram,
}

/// A queue that can be shown.
pub(crate) trait Observed: Send + Sync {
    /// How it is doing.
    fn observe(&self) -> Observation;
}

/// How a queue is doing at the moment of the question.
#[derive(Debug)]
pub(crate) struct Observation {
    /// It is the queue of a controller of its name.
    pub(crate) of_controller: bool,
    pub(crate) rules: Rules,
    pub(crate) depths: Depths,
    pub(crate) adds: u64,
    pub(crate) retries: u64,
    pub(crate) waited: Histogram,
    pub(crate) worked: Histogram,
    /// What those who work now have needed so far, together.
    pub(crate) unfinished: Duration,
    /// The one who has needed the most.
    pub(crate) longest: Duration,
}

impl Figures {
    pub(super) fn new(shown: bool) -> Self {
        Self {
            adds: 0,
            retries: 0,
            depths: Depths::default(),
            running: Running::default(),
            times: shown.then(|| Times { waited: histogram(), worked: histogram() }),
        }
    }

    pub(super) fn added(&mut self, priority: i32) {
        self.adds += 1;
        self.depths.add(priority);
    }

    pub(super) fn raised(&mut self, from: i32, to: i32) {
        self.depths.remove(from);
        self.depths.add(to);
    }

    pub(super) fn dropped(&mut self, priority: i32) {
        self.depths.remove(priority);
    }

    pub(super) fn retried(&mut self) {
        self.retries += 1;
    }

    /// Says where it sits from now on.
    pub(super) fn taken(&mut self, id: Id, priority: i32, since: Instant, now: Instant) -> Seat {
        self.depths.remove(priority);
        if let Some(times) = &self.times {
            times.waited.observe(now.saturating_duration_since(since).as_secs_f64());
        }
        self.running.insert(id, now)
    }

    /// Says who sits there now in its place, if somebody does.
    pub(super) fn finished(&mut self, seat: Seat, now: Instant) -> Option<Id> {
        let (since, moved) = self.running.remove(seat)?;
        if let Some(times) = &self.times {
            times.worked.observe(now.saturating_duration_since(since).as_secs_f64());
        }
        moved
    }

    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    pub(super) fn observe(&self, rules: Rules, now: Instant) -> Observation {
        let times = self.times.clone().unwrap_or_else(|| Times { waited: histogram(), worked: histogram() });
        Observation {
            of_controller: false,
            rules,
            depths: self.depths.clone(),
            adds: self.adds,
            retries: self.retries,
            waited: times.waited,
            worked: times.worked,
            unfinished: self.running.needed(now).sum(),
            longest: self.running.needed(now).max().unwrap_or_default(),
        }
    }
}

/// client-go's buckets: from 10 nanoseconds to 10 seconds, each ten times the one before.
fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(1e-8, 10.0, 10))
}
