//! How a controller is doing, and what can be asked of it while it runs.

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use super::figures::Ended;
use super::shared::Shared;
use super::{ControllerError, ErrorKind, RequestKey, Source};
use crate::workqueue::WorkQueue;

/// What a controller is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControllerPhase {
    /// It has not been started.
    #[default]
    Created,
    /// It waits for what it listens to.
    Syncing,
    /// It listens, and does not work yet.
    Warm,
    /// It works.
    Running,
    /// It has ended.
    Stopped,
}

/// How a controller is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControllerStatus {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub phase: ControllerPhase,
    /// Requests that can be worked on.
    pub waiting: usize,
    /// Requests that wait for their time.
    pub delayed: usize,
    /// Reconciles that are under way.
    pub active: u64,
    /// Reconciles that have ended, however they did.
    pub reconciles: u64,
    /// Reconciles that failed, however they did.
    pub errors: u64,
    /// Reconciles that failed and are not tried again.
    pub terminal_errors: u64,
    /// Reconciles that panicked.
    pub panics: u64,
    /// Reconciles that took too long.
    pub timeouts: u64,
    /// The last reconcile that failed.
    pub last_failure: Option<LastFailure>,
    /// What it listens to.
    pub sources: Vec<SourceStatus>,
}

/// A reconcile that failed, as the status tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastFailure {
    /// The request, as text.
    pub request: String,
    /// The error and its causes.
    pub message: String,
    /// How it failed.
    pub kind: ErrorKind,
    /// When, by tokio's clock.
    pub at: Instant,
}

/// How something that a controller listens to is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceStatus {
    /// What it is: `deployments.apps`.
    pub name: String,
    /// Everything that was there from the start has been added.
    pub synced: bool,
    /// What is wrong; none while all is well.
    pub trouble: Option<String>,
    /// How often a predicate, a mapping or a function panicked. What it was to add is not there.
    pub panics: u64,
    /// What the last panic said.
    pub last_panic: Option<String>,
}

/// What a controller did not do before it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished<R> {
    /// Requests that waited, or would have been tried again.
    pub dropped: Vec<R>,
    /// Requests whose reconcile was cut off at the end of the grace.
    pub cut_off: Vec<R>,
}

/// What can be asked of a controller, and added to it, while it runs. Clones are the same.
pub struct ControllerHandle<R: RequestKey> {
    pub(super) shared: Arc<Shared<R>>,
}

impl<R: RequestKey> ControllerHandle<R> {
    /// The controller's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// How the controller is doing.
    pub fn status(&self) -> ControllerStatus {
        let shared = &*self.shared;
        let figures = &*shared.figures;
        ControllerStatus {
            name: shared.name.to_string(),
            phase: shared.phase(),
            waiting: shared.queue.len(),
            delayed: shared.queue.delayed(),
            active: figures.active(),
            reconciles: Ended::ALL.iter().map(|ended| figures.count(*ended)).sum(),
            errors: figures.count(Ended::Error),
            terminal_errors: figures.terminal.get(),
            panics: figures.panics.get(),
            timeouts: figures.timeouts.get(),
            last_failure: shared.last_failure.lock().clone(),
            sources: shared.source_status(),
        }
    }

    /// The queue: to add requests by hand, and to look at.
    pub fn queue(&self) -> &WorkQueue<R> {
        &self.shared.queue
    }

    /// Listens to one more source. In a controller that was started it begins at once and is not waited for; else it
    /// begins with the others.
    pub fn add_source(&self, source: Source<R>) -> Result<(), ControllerError> {
        self.shared.add_source(source)
    }

    /// What was left undone; none before the controller has ended.
    pub fn unfinished(&self) -> Option<Unfinished<R>> {
        (self.shared.phase() == ControllerPhase::Stopped).then(|| self.shared.unfinished.lock().clone())
    }
}

impl<R: RequestKey> Clone for ControllerHandle<R> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R: RequestKey> fmt::Debug for ControllerHandle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ControllerHandle").field(&self.status()).finish()
    }
}
