//! What runs, by group.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use kube_informer::panics;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::permission::while_allowed;
use super::runnable::{Behind, Running};
use super::{AddError, BoxError, Group, ManagerError, Runnable};
use crate::leader::{Leading, Loss};

/// Adds to a manager, also while it runs. Clones are the same.
#[derive(Clone)]
pub struct ManagerHandle {
    pub(super) hub: Arc<Hub>,
}

/// What a manager and its handles share.
pub(super) struct Hub {
    groups: [Tasks; 4],
    state: Mutex<State>,
    /// What runs or warms up now, by a number of its own.
    active: Mutex<BTreeMap<u64, Active>>,
    failures: mpsc::UnboundedSender<ManagerError>,
    /// This process leads, or has led, or need not ask.
    elected: CancellationToken,
    /// The right to act, from when there is one; none inside if nobody has to ask.
    leading: OnceLock<Option<Leading>>,
}

/// A part that has not ended.
struct Active {
    name: String,
    /// It prepares itself, and does not run yet.
    warms_up: bool,
}

/// The tasks of a group.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) stop: CancellationToken,
    pub(super) abort: CancellationToken,
    pub(super) tasks: TaskTracker,
}

#[derive(Default)]
struct State {
    /// Nothing more is taken.
    stopping: bool,
    /// What is added to these groups starts at once.
    started: [bool; 4],
    /// What waits for its group to start.
    waiting: [Vec<Box<dyn Runnable>>; 4],
    launched: u64,
    /// The checks of whether the program is ready.
    behind: Vec<Arc<Behind>>,
}

impl ManagerHandle {
    /// Adds something. It starts with its group, or at once if that has started. Refused when the manager stops.
    pub fn add(&self, runnable: impl Runnable) -> Result<(), AddError> {
        self.hub.add(Box::new(runnable))
    }

    /// Waits until this process leads. Without election it does as soon as everything else has started.
    pub async fn elected(&self) {
        self.hub.elected.cancelled().await;
    }

    /// This process leads, or has led.
    pub fn is_elected(&self) -> bool {
        self.hub.elected.is_cancelled()
    }

    /// This process may do now what only a leader may. Becomes false by the clock alone, also in a process that was
    /// frozen: tasks that leader-only work has spawned have to ask before anything that two must not do. Always true from
    /// the start on if there is no election.
    pub fn may_act(&self) -> bool {
        self.hub.may_act()
    }

    /// Does work, and [asks](Self::may_act) each time before it goes on. None if it may not: then it is dropped where it
    /// stands. This is for tasks that leader-only work spawns.
    pub async fn while_leading<W: Future>(&self, work: W) -> Option<W::Output> {
        while_allowed(|| self.may_act(), work).await
    }

    /// What runs now; what only a leader may do is not among it before.
    pub fn running(&self) -> Vec<String> {
        self.hub.running()
    }
}

impl Hub {
    pub(super) fn new(failures: mpsc::UnboundedSender<ManagerError>) -> Self {
        Self {
            groups: Default::default(),
            state: Mutex::default(),
            active: Mutex::default(),
            failures,
            elected: CancellationToken::new(),
            leading: OnceLock::new(),
        }
    }

    pub(super) fn group(&self, group: Group) -> &Tasks {
        &self.groups[group as usize]
    }

    fn add(self: &Arc<Self>, runnable: Box<dyn Runnable>) -> Result<(), AddError> {
        let mut state = self.state.lock();
        if state.stopping {
            return Err(AddError::Stopping { name: runnable.name() });
        }
        let group = runnable.group();
        state.behind.extend(runnable.behind().map(Arc::new));
        if state.started[group as usize] {
            self.launch(&mut state, group, runnable);
        } else {
            state.waiting[group as usize].push(runnable);
        }
        Ok(())
    }

    /// Returns what has not synced of what was added. The lock is not held while the checks run.
    pub(super) fn behind(&self) -> Vec<String> {
        let checks = self.state.lock().behind.clone();
        checks.iter().flat_map(|behind| behind()).collect()
    }

    /// Removes the checks.
    pub(super) fn forget_behind(&self) {
        self.state.lock().behind.clear();
    }

    /// Starts a group, and returns what has to be waited for, by name.
    pub(super) fn start(self: &Arc<Self>, group: Group) -> Vec<(String, Running<'static>)> {
        let mut state = self.state.lock();
        if state.stopping {
            return Vec::new();
        }
        state.started[group as usize] = true;
        let waiting = std::mem::take(&mut state.waiting[group as usize]);
        let mut ready = Vec::new();
        for runnable in waiting {
            ready.push((runnable.name(), runnable.ready()));
            self.launch(&mut state, group, runnable);
        }
        ready
    }

    /// This process leads from now on. False if it stops: then nothing has started.
    pub(super) fn lead(&self, leading: Option<Leading>) -> bool {
        let state = self.state.lock();
        if !state.stopping {
            // Leadership is had once in the life of a manager.
            let _ = self.leading.set(leading);
            self.elected.cancel();
        }
        !state.stopping
    }

    fn may_act(&self) -> bool {
        match self.leading.get() {
            None => false,
            Some(None) => true,
            Some(Some(leading)) => leading.is_leading(),
        }
    }

    pub(super) fn is_elected(&self) -> bool {
        self.elected.is_cancelled()
    }

    /// Nothing more is taken, and nothing that waits will start.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.stopping = true;
        state.waiting = Default::default();
    }

    pub(super) fn running(&self) -> Vec<String> {
        let active = self.active.lock();
        active.values().filter(|one| !one.warms_up).map(|one| one.name.clone()).collect()
    }

    /// What runs now, and what still prepares itself.
    pub(super) fn unfinished(&self) -> Vec<String> {
        self.active.lock().values().map(|one| one.name.clone()).collect()
    }

    fn launch(self: &Arc<Self>, state: &mut State, group: Group, mut runnable: Box<dyn Runnable>) {
        state.launched += 1;
        let (hub, id, name) = (Arc::clone(self), state.launched, runnable.name());
        runnable.managed_by(&ManagerHandle { hub: Arc::clone(self) });
        let Tasks { stop, abort, tasks } = self.group(group);
        let (stop, abort) = (stop.clone(), abort.clone());
        tasks.spawn(async move {
            let entered = Arc::clone(&hub);
            let called = name.clone();
            let mut work = AbortOnDropHandle::new(tokio::spawn(async move {
                if group == Group::LeaderOnly {
                    entered.active.lock().insert(id, Active { name: called.clone(), warms_up: true });
                    runnable.warm_up(stop.child_token()).await?;
                    entered.active.lock().remove(&id);
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => return Ok(()),
                        () = entered.elected.cancelled() => {}
                    }
                }
                entered.active.lock().insert(id, Active { name: called, warms_up: false });
                if group != Group::LeaderOnly {
                    return Ok(runnable.run(stop).await?);
                }
                let work = async { runnable.run(stop).await };
                while_allowed(|| entered.may_act(), work).await.ok_or(Ended::Lost)??;
                Ok(())
            }));
            let ended = tokio::select! {
                biased;
                ended = &mut work => Some(ended),
                () = abort.cancelled() => {
                    work.abort();
                    // Returns when what was aborted has been dropped.
                    let _ = work.await;
                    None
                }
            };
            hub.active.lock().remove(&id);
            let failure = match ended {
                None | Some(Ok(Ok(()))) => return,
                Some(Ok(Err(Ended::Failed(cause)))) => ManagerError::Failed { name, cause },
                Some(Ok(Err(Ended::Lost))) => ManagerError::LostLeadership(Loss::NotRenewed),
                Some(Err(ended)) => ManagerError::Panicked { name, message: panic_message(ended) },
            };
            // Nobody listens when the manager has ended.
            let _ = hub.failures.send(failure);
        });
    }
}

impl Tasks {
    /// Tells the group to stop, and waits until it has.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.ended().await;
    }

    /// Waits until everything has ended.
    pub(super) async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Why a part has ended, other than because it was done.
enum Ended {
    Failed(BoxError),
    /// The time of the lease is over, and nobody has stopped it before: the process was frozen.
    Lost,
}

impl From<BoxError> for Ended {
    fn from(cause: BoxError) -> Self {
        Self::Failed(cause)
    }
}

/// Returns the message of the panic that ended a task. A formatted one may have values of objects in it, and is withheld.
pub(crate) fn panic_message(ended: JoinError) -> String {
    ended.try_into_panic().map_or_else(|_| "it was aborted".to_owned(), panics::message)
}

impl std::fmt::Debug for ManagerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ManagerHandle")
            .field("running", &self.running())
            .field("elected", &self.is_elected())
            .finish_non_exhaustive()
    }
}
