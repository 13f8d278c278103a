//! What the work of a leader is given.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Shared;

/// The right to act, for as long as it lasts. Clones are the same.
#[derive(Clone, Debug)]
pub struct Leading {
    stop: CancellationToken,
    until: Arc<Mutex<Instant>>,
}

impl Leading {
    /// Nobody else acts now. Becomes false by the clock alone, also for somebody who was frozen: ask before anything that
    /// two must not do.
    pub fn is_leading(&self) -> bool {
        Instant::now() < self.until()
    }

    /// Until when nobody else acts, unless the lease is renewed meanwhile.
    pub fn until(&self) -> Instant {
        *self.until.lock()
    }

    /// The work should stop: the lease was lost, or the elector was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits until the work should stop.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Is cancelled when the work should stop; to be handed to everything that works.
    pub fn token(&self) -> CancellationToken {
        self.stop.child_token()
    }
}

/// The time in which the work may run. When this is dropped it is over.
#[derive(Debug)]
pub(super) struct Term {
    leading: Leading,
    shared: Arc<Shared>,
}

impl Term {
    pub(super) fn begin(shared: &Arc<Shared>, until: Instant) -> Self {
        shared.change(|status| status.leading = true);
        let leading = Leading { stop: CancellationToken::new(), until: Arc::new(Mutex::new(until)) };
        Self { leading, shared: Arc::clone(shared) }
    }

    pub(super) fn leading(&self) -> Leading {
        self.leading.clone()
    }

    /// The lease was renewed.
    pub(super) fn extend(&self, until: Instant) {
        *self.leading.until.lock() = until;
    }

    /// The work should stop, but may still act.
    pub(super) fn stop(&self) {
        self.leading.stop.cancel();
    }

    /// Somebody else may act from now on.
    pub(super) fn end(&self) {
        *self.leading.until.lock() = Instant::now();
        self.stop();
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.end();
        self.shared.change(|status| status.leading = false);
    }
}
