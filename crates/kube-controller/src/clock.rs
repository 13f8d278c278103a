//! The time of day, which is written into leases and events. Nothing is decided by it.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The time of day.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    pub(crate) fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The machine's time of day once, and tokio's clock from there on.
    pub(crate) fn machine() -> Self {
        let (epoch, started) = (machine_time(), Instant::now());
        Self::new(move || {
            let elapsed = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
            epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where the time of day is asked for")]
fn machine_time() -> Timestamp {
    Timestamp::now()
}
