//! The side of those who have something to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::ObjectReference;
use kube_client::Client;
use tokio::sync::mpsc;

use super::correlate::Correlator;
use super::{Event, EventWriter};

/// So many events wait at most to be written.
pub const QUEUE: usize = 1000;

/// Takes events, and never waits. Clones are the same.
#[derive(Clone, Debug)]
pub struct EventRecorder {
    queue: mpsc::Sender<Recorded>,
    counts: Arc<Counts>,
}

/// What became of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventStats {
    /// Events that were taken.
    pub recorded: u64,
    /// Writes that succeeded: new events, and counts.
    pub written: u64,
    /// Events that made no write: they are in a count, or were too much.
    pub counted: u64,
    /// Events for which there was no room, or no time at the end.
    pub dropped: u64,
    /// Writes that failed.
    pub failed: u64,
}

/// Something that waits to be written.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) about: ObjectReference,
    pub(super) event: Event,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) recorded: AtomicU64,
    pub(super) written: AtomicU64,
    pub(super) counted: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) failed: AtomicU64,
}

impl EventRecorder {
    /// A recorder, and the writer that must [run](EventWriter::run) for anything to be written. The controller is
    /// something like `example.com/my-controller`, the instance something like the name of the pod.
    pub fn new(
        client: Client,
        controller: impl Into<String>,
        instance: impl AsRef<str>,
    ) -> (Self, EventWriter) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let correlator = Correlator::new(controller.into(), instance.as_ref());
        let writer = EventWriter::new(client, waiting, correlator, Arc::clone(&counts));
        (Self { queue, counts }, writer)
    }

    /// Records that something has happened to an object. False if it was dropped, because too many wait or nobody writes
    /// any more.
    pub fn record(&self, about: &ObjectReference, event: Event) -> bool {
        let taken = self.queue.try_send(Recorded { about: about.clone(), event }).is_ok();
        add(if taken { &self.counts.recorded } else { &self.counts.dropped }, 1);
        taken
    }

    /// What became of events so far.
    pub fn stats(&self) -> EventStats {
        let Counts { recorded, written, counted, dropped, failed } = &*self.counts;
        let [recorded, written, counted, dropped, failed] =
            [recorded, written, counted, dropped, failed].map(|count| count.load(Ordering::Relaxed));
        EventStats { recorded, written, counted, dropped, failed }
    }
}

pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}
