//! Tells a reflector that the server's versions went back, as was found elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Tells a reflector that the server's versions went back. It stays with the scope that the reflector follows.
#[derive(Debug, Default)]
pub(crate) struct Rewound {
    notify: Notify,
    epoch_is_due: AtomicBool,
}

impl Rewound {
    /// Asks for a list of everything. An epoch begins with it only if it is older than the copy.
    pub(crate) fn suspect(&self) {
        self.notify.notify_one();
    }

    /// Asks for a list of everything, with which an epoch begins whatever its version.
    pub(crate) fn prove(&self) {
        self.epoch_is_due.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Says that the epoch that was due has begun.
    pub(crate) fn epoch_began(&self) {
        self.epoch_is_due.store(false, Ordering::Release);
    }

    /// Whether the versions of the copy are proven to be of an epoch that has ended.
    pub(crate) fn is_epoch_due(&self) -> bool {
        self.epoch_is_due.load(Ordering::Acquire)
    }

    /// Waits until it is told.
    pub(super) async fn notified(&self) {
        self.notify.notified().await;
    }
}
