//! What a controller, its workers and its handles have in common.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all, select_all};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::figures::Figures;
use super::reconciler::AnyReconciler;
use super::source::{EventFilter, Started, Starting};
use super::status::{ControllerPhase, LastFailure, SourceStatus, Unfinished};
use super::{ControllerError, Enqueuer, Failure, RequestKey, Source, Unsynced};
use crate::manager::ManagerHandle;
use crate::workqueue::{Rules, WorkQueue};

/// Is told of every failure.
pub(super) type FailureHook<R> = Arc<dyn Fn(&Failure<'_, R>) + Send + Sync>;

pub(super) struct Shared<R: RequestKey> {
    pub(super) name: Arc<str>,
    pub(super) queue: WorkQueue<R>,
    pub(super) rules: Rules,
    pub(super) reconciler: Box<dyn AnyReconciler<R>>,
    pub(super) filters: Arc<[EventFilter]>,
    pub(super) timeout: Option<Duration>,
    pub(super) recover_panics: bool,
    pub(super) on_error: Option<FailureHook<R>>,
    pub(super) figures: Arc<Figures>,
    pub(super) sources: Mutex<Sources<R>>,
    /// A source was started.
    pub(super) changed: Notify,
    /// Reconciles that are under way, by number.
    pub(super) active: Mutex<BTreeMap<u64, R>>,
    pub(super) last_failure: Mutex<Option<LastFailure>>,
    pub(super) unfinished: Mutex<Unfinished<R>>,
    /// Cancelled when the work is to end.
    pub(super) stop: CancellationToken,
    /// Who is asked before anything is done that only a leader may do.
    pub(super) leader: OnceLock<ManagerHandle>,
}

/// What a controller listens to.
pub(super) struct Sources<R: RequestKey> {
    pub(super) phase: ControllerPhase,
    pub(super) waiting: Vec<Source<R>>,
    pub(super) started: Vec<Listened>,
}

/// A source that was started, and its name.
#[derive(Clone)]
pub(super) struct Listened {
    pub(super) name: String,
    pub(super) source: Arc<dyn Started>,
}

impl<R: RequestKey> Shared<R> {
    pub(super) fn phase(&self) -> ControllerPhase {
        self.sources.lock().phase
    }

    pub(super) fn enter(&self, phase: ControllerPhase) {
        self.sources.lock().phase = phase;
    }

    /// Starts all sources that have not been started. Returns those that there are now.
    pub(super) fn start_sources(&self) -> Result<Vec<Listened>, ControllerError> {
        let mut sources = self.sources.lock();
        match sources.phase {
            ControllerPhase::Created => sources.phase = ControllerPhase::Syncing,
            ControllerPhase::Stopped => return Err(self.ended_error()),
            _ => {}
        }
        for source in std::mem::take(&mut sources.waiting) {
            let listened = self.start(source)?;
            sources.started.push(listened);
        }
        Ok(sources.started.clone())
    }

    pub(super) fn add_source(&self, source: Source<R>) -> Result<(), ControllerError> {
        let mut sources = self.sources.lock();
        match sources.phase {
            ControllerPhase::Created => sources.waiting.push(source),
            ControllerPhase::Stopped => return Err(self.ended_error()),
            _ => {
                let listened = self.start(source)?;
                sources.started.push(listened);
                drop(sources);
                self.changed.notify_one();
            }
        }
        Ok(())
    }

    fn start(&self, source: Source<R>) -> Result<Listened, ControllerError> {
        let Source { name, start } = source;
        let starting = Starting {
            controller: &self.name,
            queue: Enqueuer::new(self.queue.clone(), self.rules),
            filters: Arc::clone(&self.filters),
            stop: self.stop.clone(),
        };
        match start.start(starting) {
            Ok(source) => Ok(Listened { name, source }),
            Err(why) => Err(self.source_error(&name, why)),
        }
    }

    fn ended_error(&self) -> ControllerError {
        ControllerError::Ended { controller: self.name.to_string() }
    }

    fn source_error(&self, name: &str, why: String) -> ControllerError {
        ControllerError::Source { controller: self.name.to_string(), source_name: name.to_owned(), why }
    }

    /// Waits until these sources have added everything that was there from the start.
    pub(super) async fn synced(&self, sources: &[Listened], limit: Duration) -> Result<(), ControllerError> {
        let each = sources.iter().map(|listened| async move {
            listened.source.synced().await.map_err(|why| self.source_error(&listened.name, why))
        });
        match tokio::time::timeout(limit, futures::future::try_join_all(each)).await {
            Ok(all) => all.map(|_| ()),
            Err(_) => {
                let late = join_all(sources.iter().filter(|listened| !listened.source.is_synced()).map(
                    |listened| async {
                        Unsynced { name: listened.name.clone(), cause: listened.source.trouble() }
                    },
                ));
                let sources = late.await;
                let controller = self.name.to_string();
                Err(ControllerError::NotSynced { controller, waited: limit, sources })
            }
        }
    }

    /// Ends when a source fails. To be asked anew when there are others.
    pub(super) async fn source_failed(&self) -> ControllerError {
        let sources: Vec<Listened> = self.sources.lock().started.clone();
        let each = sources.iter().map(|listened| -> BoxFuture<'_, ControllerError> {
            async { self.source_error(&listened.name, listened.source.failed().await) }.boxed()
        });
        let mut each: Vec<_> = each.collect();
        // One that never ends, so that there is always something to wait for.
        each.push(std::future::pending().boxed());
        select_all(each).await.0
    }

    pub(super) fn source_status(&self) -> Vec<SourceStatus> {
        let sources = self.sources.lock();
        let started = sources.started.iter().map(|listened| {
            let (panics, last_panic) = listened.source.panics();
            SourceStatus {
                name: listened.name.clone(),
                synced: listened.source.is_synced(),
                trouble: listened.source.trouble(),
                panics,
                last_panic,
            }
        });
        let waiting = sources.waiting.iter().map(|source| SourceStatus {
            name: source.name.clone(),
            synced: false,
            trouble: None,
            panics: 0,
            last_panic: None,
        });
        started.chain(waiting).collect()
    }

    /// Nothing is added, nothing more is begun, and reconciles that look learn of it.
    pub(super) fn close(&self) {
        self.stop.cancel();
        for listened in &self.sources.lock().started {
            listened.source.close();
        }
        let dropped = self.queue.shut_down_now();
        self.unfinished.lock().dropped.extend(dropped);
    }

    /// The end.
    pub(super) fn ended(&self) {
        self.close();
        let mut sources = self.sources.lock();
        sources.phase = ControllerPhase::Stopped;
        let gone = (std::mem::take(&mut sources.started), std::mem::take(&mut sources.waiting));
        drop(sources);
        drop(gone);
    }
}
