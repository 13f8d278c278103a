//! A check for the health page of a program.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Shared;

/// Says whether a leader renews its lease; see [`LeaderElector::health_check`](super::LeaderElector::health_check).
#[derive(Clone, Debug)]
pub struct HealthCheck {
    pub(super) shared: Arc<Shared>,
    pub(super) name: String,
    pub(super) tolerance: Duration,
}

/// The work runs though the lease was over long ago: it does not stop, and somebody else may lead as well. The process
/// should be ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the work that needs lease {lease} still runs, but the lease was last renewed {ago:?} ago: end this process"
)]
pub struct NotRenewed {
    /// Which lease.
    pub lease: String,
    /// How long ago it was renewed.
    pub ago: Duration,
}

impl HealthCheck {
    /// An error if the work runs and the lease has been over for longer than is tolerated. Those who do not lead are
    /// healthy.
    pub fn check(&self) -> Result<(), NotRenewed> {
        let status = self.shared.status.borrow();
        let Some(renewed) = status.last_renewed.filter(|_| status.leading) else { return Ok(()) };
        let ago = Instant::now().saturating_duration_since(renewed);
        if ago > self.shared.lease_duration.saturating_add(self.tolerance) {
            return Err(NotRenewed { lease: self.name.clone(), ago });
        }
        Ok(())
    }
}
