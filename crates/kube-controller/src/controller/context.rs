//! What a reconciler knows about the reconcile it is in.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

/// What is known of one reconcile.
#[derive(Clone)]
pub struct Context {
    pub(super) controller: Arc<str>,
    pub(super) number: u64,
    pub(super) priority: i32,
    pub(super) failures: u32,
    pub(super) stop: CancellationToken,
}

impl Context {
    /// The name of the controller.
    pub fn controller(&self) -> &str {
        &self.controller
    }

    /// What tells this reconcile from all others of the process, for logs: `foo-17`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.controller, self.number)
    }

    /// The priority that the request had.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// How often the request has failed, or asked to come again rate limited, since it was last well.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Cancelled when the controller is to stop, and when the reconcile is over. A reconcile that takes long should
    /// look at it: at the end of the controller's grace it is cut off where it waits.
    pub fn token(&self) -> &CancellationToken {
        &self.stop
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("id", &self.id())
            .field("priority", &self.priority)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}
