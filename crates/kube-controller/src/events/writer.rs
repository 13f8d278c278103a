//! The side that writes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::events::v1::Event as Written;
use k8s_openapi::jiff::Timestamp;
use kube_client::api::{Api, Patch, PatchParams, PostParams};
use kube_client::{Client, Error};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::correlate::{Correlator, Key, Write};
use super::recorder::{Counts, Recorded, add};
use crate::clock::Clock;
use crate::random::Random;

/// A server that cannot be reached is tried so often.
const TRIES: u32 = 12;
/// So long apart; the first wait is a random part of it, so that not everybody comes back at once.
const PAUSE: Duration = Duration::from_secs(10);
/// One request may take so long.
const REQUEST: Duration = Duration::from_secs(10);
/// What is left when it is told to stop is written for so long.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// Writes what an [`EventRecorder`](super::EventRecorder) takes.
#[must_use = "nothing is written until `run` is awaited"]
pub struct EventWriter {
    client: Client,
    waiting: mpsc::Receiver<Recorded>,
    correlator: Correlator,
    counts: Arc<Counts>,
    clock: Clock,
    random: Random,
}

/// What came of a write.
enum Done {
    Yes,
    /// Another try may help.
    Later,
    /// No other try will help.
    Never,
    /// What was to be changed is gone.
    Gone,
}

impl EventWriter {
    pub(super) fn new(
        client: Client,
        waiting: mpsc::Receiver<Recorded>,
        correlator: Correlator,
        counts: Arc<Counts>,
    ) -> Self {
        let random = Random::new(Random::seed_of(correlator.instance()));
        Self { client, waiting, correlator, counts, clock: Clock::machine(), random }
    }

    /// The time of day that is written into events.
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Clock::new(now);
        self
    }

    /// Writes until it is told to stop, or nobody is left who records. What waits then is tried once, and so are counts
    /// that were not written yet: for ten seconds in all, after the request that is under way.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let due = self.correlator.next_due();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                recorded = self.waiting.recv() => match recorded {
                    Some(recorded) => {
                        for (key, write) in self.correlate(recorded) {
                            self.write(&stop, key, write).await;
                        }
                    }
                    None => break,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    for (key, write) in self.correlator.due(Instant::now()) {
                        self.write(&stop, key, write).await;
                    }
                }
            }
        }
        self.finish().await;
    }

    /// One write for what happened, if any, and those of what had to be forgotten for it.
    fn correlate(&mut self, recorded: Recorded) -> Vec<(Key, Write)> {
        let now = Instant::now();
        let seen = self.correlator.see(now, self.clock.now(), &recorded.about, recorded.event);
        if seen.is_none() {
            add(&self.counts.counted, 1);
        }
        seen.into_iter().chain(self.correlator.due(now)).collect()
    }

    async fn write(&mut self, stop: &CancellationToken, key: Key, write: Write) {
        let mut pause = PAUSE.mul_f64(self.random.fraction());
        for _ in 0..TRIES {
            match self.write_once(&write).await {
                Done::Yes => return,
                Done::Never | Done::Gone => break,
                Done::Later => {}
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
            pause = PAUSE;
        }
        add(&self.counts.failed, 1);
        self.correlator.forget(&key);
    }

    /// What is left, each once, while there is time.
    async fn finish(&mut self) {
        self.waiting.close();
        let until = Instant::now() + LAST_WRITES;
        while let Ok(recorded) = self.waiting.try_recv() {
            for (_, write) in self.correlate(recorded) {
                self.write_last(until, &write).await;
            }
        }
        for (_, write) in self.correlator.behind() {
            self.write_last(until, &write).await;
        }
    }

    async fn write_last(&self, until: Instant, write: &Write) {
        if Instant::now() >= until {
            add(&self.counts.dropped, 1);
        } else if !matches!(timeout_at(until, self.write_once(write)).await, Ok(Done::Yes)) {
            add(&self.counts.failed, 1);
        }
    }

    async fn write_once(&self, write: &Write) -> Done {
        let done = match write {
            Write::Create(event) => self.create(event).await,
            Write::Series(event) => match self.patch(event).await {
                // It was kept for its hour and is gone; the count goes on.
                Done::Gone => self.create(event).await,
                done => done,
            },
        };
        if matches!(done, Done::Yes) {
            add(&self.counts.written, 1);
        }
        done
    }

    async fn create(&self, event: &Written) -> Done {
        let request = async { self.api(event).create(&PostParams::default(), event).await };
        match timeout(REQUEST, request).await {
            // The answer to an earlier try was lost.
            Ok(Err(Error::Api(status))) if status.code == 409 => Done::Yes,
            Ok(answer) => judge(answer),
            Err(_) => Done::Later,
        }
    }

    async fn patch(&self, event: &Written) -> Done {
        let (Some(name), Some(series)) = (&event.metadata.name, &event.series) else { return Done::Never };
        let patch = Patch::Merge(Written { series: Some(series.clone()), ..Written::default() });
        let request = async { self.api(event).patch(name, &PatchParams::default(), &patch).await };
        timeout(REQUEST, request).await.map_or(Done::Later, judge)
    }

    fn api(&self, event: &Written) -> Api<Written> {
        Api::namespaced(self.client.clone(), event.metadata.namespace.as_deref().unwrap_or_default())
    }
}

fn judge(answer: Result<Written, Error>) -> Done {
    match answer {
        Ok(_) => Done::Yes,
        Err(Error::Api(status)) if status.code == 404 => Done::Gone,
        // A server that says no will say it again; one that cannot answer now may do so later.
        Err(Error::Api(status)) if status.code < 500 && status.code != 429 => Done::Never,
        Err(Error::BuildRequest(_) | Error::SerdeError(_)) => Done::Never,
        Err(_) => Done::Later,
    }
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
