//! The lock, the wake-ups and the clock of the work queue. Its model (`crates/kube-controller/model`) compiles the queue with
//! other ones.

pub(crate) use parking_lot::Mutex;
pub(crate) use tokio::sync::Notify;
pub(crate) use tokio::time::sleep_until;

/// Returns the time on tokio's clock.
pub(crate) fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}
