//! How an elector is doing, for those who look.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// How an elector is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaderStatus {
    /// The work runs.
    pub leading: bool,
    /// Who holds the lease, as far as is known.
    pub holder: Option<String>,
    /// When the last renewal that succeeded was sent.
    pub last_renewed: Option<Instant>,
    /// What went wrong with the last try; none if it went well.
    pub last_error: Option<String>,
}

/// What an elector shares with those who look.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) status: watch::Sender<LeaderStatus>,
    pub(super) lease_duration: Duration,
    slow_paths: AtomicU64,
}

impl Shared {
    pub(super) fn new(lease_duration: Duration) -> Self {
        Self { status: watch::Sender::default(), lease_duration, slow_paths: AtomicU64::new(0) }
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.status.borrow().leading
    }

    /// How often the lease had to be read to be renewed.
    pub(crate) fn slow_paths(&self) -> u64 {
        self.slow_paths.load(Ordering::Relaxed)
    }

    pub(super) fn count_slow_path(&self) {
        self.slow_paths.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut LeaderStatus)) {
        self.status.send_modify(change);
    }
}
