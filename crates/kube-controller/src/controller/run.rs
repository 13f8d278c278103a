//! A controller from its start to its end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube_informer::object::ObjectName;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::builder::ControllerBuilder;
use super::shared::Shared;
use super::status::{ControllerHandle, ControllerPhase};
use super::{ControllerError, RequestKey, worker};

/// How long reconciles that were cut off may take to let go. Only one that never waits takes longer.
const CUT_OFF_WAIT: Duration = Duration::from_secs(1);

/// Calls a reconciler with the requests that its sources add; see [the module](super) for what it promises.
///
/// Dropped, or its future dropped while it runs, it listens to nothing any more and its reconciles are cut off.
#[must_use = "a controller does nothing until it runs"]
pub struct Controller<R: RequestKey = ObjectName> {
    pub(super) shared: Arc<Shared<R>>,
    pub(super) concurrency: usize,
    pub(super) sync_timeout: Duration,
    pub(super) grace: Duration,
    pub(super) needs_leader: bool,
    pub(super) warms_up: bool,
}

impl Controller {
    /// Settings for a controller whose requests are the names of objects. The name is for metrics and messages. For
    /// other requests see [`ControllerBuilder::new`].
    pub fn builder(name: impl Into<String>) -> ControllerBuilder<ObjectName> {
        ControllerBuilder::new(name)
    }
}

impl<R: RequestKey> Controller<R> {
    /// The name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// It must only [run](Self::run) where one is the leader.
    pub fn needs_leader(&self) -> bool {
        self.needs_leader
    }

    /// It wants to [listen](Self::warm_up) before it may work.
    pub fn warms_up(&self) -> bool {
        self.warms_up
    }

    /// What can be asked of it while it runs.
    pub fn handle(&self) -> ControllerHandle<R> {
        ControllerHandle { shared: Arc::clone(&self.shared) }
    }

    /// Starts to listen, and returns when everything that was there from the start waits in the queue. Nothing is worked
    /// on before [`run`](Self::run), which does this first if it was not done. Returns too when it is told to stop. After
    /// an error the controller is of no use.
    pub async fn warm_up(&self, stop: CancellationToken) -> Result<(), ControllerError> {
        let synced = async {
            let sources = self.shared.start_sources()?;
            self.shared.synced(&sources, self.sync_timeout).await
        };
        let Some(synced) = stop.run_until_cancelled(synced).await else { return Ok(()) };
        if synced.is_err() {
            self.shared.ended();
        }
        synced?;
        if self.shared.phase() == ControllerPhase::Syncing {
            self.shared.enter(ControllerPhase::Warm);
        }
        Ok(())
    }

    /// Listens, waits until everything that is there is known, and works until it is told to stop: then what runs may
    /// end within the grace, and what waits is dropped. What was left undone can be
    /// [asked for](ControllerHandle::unfinished).
    ///
    /// Fails if something that it listens to cannot be had, or ends before it.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ControllerError> {
        self.warm_up(stop.clone()).await?;
        if stop.is_cancelled() {
            return Ok(());
        }
        self.shared.enter(ControllerPhase::Running);
        let mut workers = JoinSet::new();
        for _ in 0..self.concurrency {
            workers.spawn(worker::run(Arc::clone(&self.shared)));
        }
        let result = self.supervise(&mut workers, &stop).await;
        self.shared.close();
        self.finish(workers).await;
        result
    }

    /// Waits until it is told to stop, or something goes wrong.
    async fn supervise(
        &self,
        workers: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) -> Result<(), ControllerError> {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                Some(ended) = workers.join_next() => {
                    resume(ended);
                    // The queue was shut down by somebody who holds it.
                    return Ok(());
                }
                error = self.shared.source_failed() => return Err(error),
                // There is a source to look after that was not there before.
                () = self.shared.changed.notified() => {}
            }
        }
    }

    /// Lets what runs come to its end, within the grace.
    async fn finish(&self, mut workers: JoinSet<()>) {
        let all = async {
            while let Some(ended) = workers.join_next().await {
                resume(ended);
            }
        };
        if tokio::time::timeout(self.grace, all).await.is_ok() {
            return;
        }
        let cut_off = self.shared.active.lock().values().cloned().collect();
        self.shared.unfinished.lock().cut_off = cut_off;
        workers.abort_all();
        let gone = async { while workers.join_next().await.is_some() {} };
        // A reconcile that never waits cannot be cut off, and must not hold up the rest of the program.
        let _ = tokio::time::timeout(CUT_OFF_WAIT, gone).await;
    }
}

/// A panic that was not to be caught goes on where the controller runs.
fn resume(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

impl<R: RequestKey> Drop for Controller<R> {
    fn drop(&mut self) {
        self.shared.ended();
    }
}

impl<R: RequestKey> fmt::Debug for Controller<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.shared.name)
            .field("phase", &self.shared.phase())
            .field("queue", &self.shared.queue)
            .finish_non_exhaustive()
    }
}
