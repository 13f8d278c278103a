//! The way of a manager from its start to its end.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::groups::Hub;
use super::{AddError, Group, HealthChecks, ManagerBuilder, ManagerError, ManagerHandle, Runnable};
use crate::leader::{LeaderElector, Outcome};
use crate::metrics::Metrics;

/// How long what was aborted is waited for: it ends as soon as it waits for anything.
const ABORT_WAIT: Duration = Duration::from_secs(1);

/// Runs the parts of a program; see [the module](super) for what it promises.
pub struct Manager {
    pub(super) handle: ManagerHandle,
    pub(super) failures: mpsc::UnboundedReceiver<ManagerError>,
    pub(super) elector: Option<LeaderElector>,
    pub(super) grace: Option<Duration>,
    pub(super) cache_sync_timeout: Duration,
    pub(super) metrics: Metrics,
    pub(super) informer_metrics: kube_informer::Metrics,
    pub(super) healthz: HealthChecks,
    pub(super) readyz: HealthChecks,
    pub(super) addresses: [Option<SocketAddr>; 3],
}

impl Manager {
    /// Settings for a manager.
    pub fn builder() -> ManagerBuilder {
        ManagerBuilder::new()
    }

    /// Adds something; see [`ManagerHandle::add`].
    pub fn add(&self, runnable: impl Runnable) -> Result<(), AddError> {
        self.handle.add(runnable)
    }

    /// What can be done with the manager while it runs.
    pub fn handle(&self) -> ManagerHandle {
        self.handle.clone()
    }

    /// Where queues and electors are shown; build them with it.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns where informers are shown; build factories, caches and informers with it.
    ///
    /// `/readyz` watches the informers that are shown here, and those of each factory and cache that is
    /// [added](Self::add), shown or not. Each of them has to sync. The program becomes unready again
    ///
    /// - when an informer of an added factory or cache stops, unless it was removed from it, and
    /// - when a shown informer stops by itself: a function of the program panicked, or the informer's runtime ended.
    ///
    /// An informer that is neither shown nor added does not count: add a [check](Self::readyz) for it.
    pub fn informer_metrics(&self) -> &kube_informer::Metrics {
        &self.informer_metrics
    }

    /// What `/healthz` asks: whether the program should be ended and started again.
    pub fn healthz(&self) -> &HealthChecks {
        &self.healthz
    }

    /// What `/readyz` asks: whether the program does its work.
    pub fn readyz(&self) -> &HealthChecks {
        &self.readyz
    }

    /// Where `/healthz` and `/readyz` are; none if they are not served.
    pub fn health_address(&self) -> Option<SocketAddr> {
        self.addresses[0]
    }

    /// Where `/metrics` is; none if it is not served.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.addresses[1]
    }

    /// Where the debug pages are; none if they are not served.
    pub fn debug_address(&self) -> Option<SocketAddr> {
        self.addresses[2]
    }

    /// Runs everything until `stop` is cancelled, something fails, or leadership is lost. Everything has ended when this
    /// returns; what did not in time is named in the error.
    ///
    /// When this is dropped, everything is aborted.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), ManagerError> {
        let _ends = AbortAll(Arc::clone(&self.handle.hub));
        let mut errors = Vec::new();
        let started = {
            let hub = Arc::clone(&self.handle.hub);
            let mut starting = pin!(start(&hub, self.cache_sync_timeout));
            tokio::select! {
                biased;
                () = stop.cancelled() => Ok(false),
                failure = self.failures.recv() => failure.map_or(Ok(false), Err),
                started = &mut starting => started.map(|()| true),
            }
        };
        let mut election = None;
        match started {
            Ok(true) => {
                election = self.elect();
                errors.extend(self.wait(&stop, &mut election).await);
            }
            Ok(false) => {}
            Err(error) => errors.push(error),
        }
        errors.extend(self.end(election, &errors).await);
        while let Ok(failure) = self.failures.try_recv() {
            // Each part that only a leader may run says so.
            if !(failure.is_loss() && errors.iter().any(ManagerError::is_loss)) {
                errors.push(failure);
            }
        }
        ManagerError::of(errors).map_or(Ok(()), Err)
    }

    /// Begins to ask for leadership, or leads at once.
    fn elect(&mut self) -> Option<Election> {
        let hub = Arc::clone(&self.handle.hub);
        hub.start(Group::LeaderOnly);
        let Some(mut elector) = self.elector.take() else {
            hub.lead(None);
            return None;
        };
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let work = |leading: crate::leader::Leading| async move {
                let group = hub.group(Group::LeaderOnly);
                // When this is aborted, so is the group.
                let _abort = group.abort.clone().drop_guard();
                if hub.lead(Some(leading.clone())) {
                    leading.stopped().await;
                    group.end().await;
                }
            };
            elector.run(&stopped, work).await
        });
        Some(Election { stop, task: AbortOnDropHandle::new(task) })
    }

    /// Waits for what ends everything.
    async fn wait(
        &mut self,
        stop: &CancellationToken,
        election: &mut Option<Election>,
    ) -> Option<ManagerError> {
        let lost = async {
            match election {
                Some(election) => (&mut election.task).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => None,
            failure = self.failures.recv() => failure,
            outcome = lost => {
                *election = None;
                match outcome {
                    Ok(Outcome::Lost(loss)) => Some(ManagerError::LostLeadership(loss)),
                    Ok(Outcome::Panicked(message)) => {
                        Some(ManagerError::Panicked { name: ELECTION.to_owned(), message })
                    }
                    Ok(Outcome::Cancelled | Outcome::Ended) => None,
                    Err(ended) => {
                        let message = super::panic_message(ended);
                        Some(ManagerError::Panicked { name: ELECTION.to_owned(), message })
                    }
                }
            }
        }
    }

    /// Ends the groups one after the other, within the time that there is for it.
    async fn end(&mut self, election: Option<Election>, errors: &[ManagerError]) -> Option<ManagerError> {
        let hub = Arc::clone(&self.handle.hub);
        hub.close();
        if let Some(election) = election.as_ref().filter(|_| !hub.is_elected()) {
            election.stop.cancel();
        }
        // Others may lead by now: there is no time to lose.
        let lost = errors.iter().any(ManagerError::is_loss);
        let grace = if lost { Some(Duration::ZERO) } else { self.grace };
        let orderly = async {
            hub.group(Group::Others).end().await;
            if let Some(Election { stop, task }) = election {
                stop.cancel();
                // What went wrong with it is of no interest any more.
                let _ = task.await;
            }
            for group in [Group::LeaderOnly, Group::Caches, Group::Servers] {
                hub.group(group).end().await;
            }
        };
        let late = async {
            match grace {
                Some(grace) => tokio::time::sleep(grace).await,
                None => std::future::pending().await,
            }
        };
        let still = tokio::select! {
            biased;
            () = orderly => None,
            () = late => Some(hub.unfinished()),
        };
        abort_all(&hub);
        let aborted = async {
            for group in GROUPS {
                hub.group(group).ended().await;
            }
        };
        let _ = tokio::time::timeout(ABORT_WAIT, aborted).await;
        let grace = grace.filter(|grace| !grace.is_zero())?;
        still.filter(|names| !names.is_empty()).map(|names| ManagerError::StillRunning { names, grace })
    }
}

/// What asks for leadership.
struct Election {
    stop: CancellationToken,
    task: AbortOnDropHandle<Outcome>,
}

const ELECTION: &str = "leader election";

const GROUPS: [Group; 4] = [Group::Servers, Group::Caches, Group::Others, Group::LeaderOnly];

/// Starts all groups but the last, each when the one before is ready.
async fn start(hub: &Arc<Hub>, patience: Duration) -> Result<(), ManagerError> {
    for group in [Group::Servers, Group::Caches, Group::Others] {
        let mut waited_for: Vec<String> = Vec::new();
        let mut all = tokio::task::JoinSet::new();
        for (name, ready) in hub.start(group) {
            waited_for.push(name.clone());
            all.spawn(async move { (name, ready.await) });
        }
        let ready = async {
            while let Some(one) = all.join_next().await {
                let Ok((name, outcome)) = one else { continue };
                outcome.map_err(|cause| ManagerError::Failed { name: name.clone(), cause })?;
                if let Some(at) = waited_for.iter().position(|other| *other == name) {
                    waited_for.remove(at);
                }
            }
            Ok(())
        };
        match tokio::time::timeout(patience, ready).await {
            Ok(ready) => ready?,
            Err(_) => return Err(ManagerError::NotReady { group, names: waited_for, after: patience }),
        }
    }
    Ok(())
}

fn abort_all(hub: &Hub) {
    for group in GROUPS {
        hub.group(group).stop.cancel();
        hub.group(group).abort.cancel();
    }
}

/// Ends what a manager runs that is dropped.
struct AbortAll(Arc<Hub>);

impl Drop for AbortAll {
    fn drop(&mut self) {
        self.0.close();
        self.0.forget_behind();
        abort_all(&self.0);
    }
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager")
            .field("handle", &self.handle)
            .field("elector", &self.elector)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}
