//! The cluster's time: a start on the wall clock, and tokio's clock from there on, so that paused time
//! moves timestamps, bookmarks and time-outs together.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Timestamp,
    started: Instant,
}

impl Clock {
    /// Starts at `epoch`, or at the machine's time.
    pub(crate) fn start(epoch: Option<Timestamp>) -> Self {
        Self { epoch: epoch.unwrap_or_else(machine_time), started: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// Now, as `creationTimestamp` is written: whole seconds.
    pub(crate) fn now_text(&self) -> String {
        timestamp_text(self.now())
    }
}

/// A time as Kubernetes writes it: RFC 3339 in UTC with whole seconds.
pub(crate) fn timestamp_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[expect(clippy::disallowed_methods, reason = "the one place where the cluster's time starts")]
fn machine_time() -> Timestamp {
    Timestamp::now()
}
