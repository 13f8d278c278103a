//! What ties the rooms together: deltas go to the store, and from there to the listeners.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use futures::FutureExt;
use futures::future::BoxFuture;
use kube_core::Resource;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::builder::{OnError, Settings};
use super::sources::Followed;
use super::status::{Took, oldest};
use super::step::{Applied, List, Step, StepKind, steps, written};
use super::{Phase, Shared};
use crate::fanout::{Event, Fanout};
use crate::object::{Residency, Spent};
use crate::panics;
use crate::queue::{Closed, Consumer, Delta, Depth, Producer, queue};
use crate::reflector::{Note, Reflector, Rewound};
use crate::source::{Scope, SourceError, Transform, Want};
use crate::store::{Store, Trust, Version, Write};

/// How many changes go to the store in one step.
pub(super) const BATCH: usize = 1_000;

/// An informer begins to follow, on the runtime that this is called on.
pub(super) fn started<K: Resource + Send + Sync + 'static>(shared: &Arc<Shared<K>>) {
    shared.runtime.get_or_init(tokio::runtime::Handle::current);
    shared.status.send_modify(|status| status.enter(Phase::Running));
    shared.stage.lock().fanout.start_resync(Instant::now().into_std());
    // On a runtime that has ended this stops the informer at once.
    notice_end_of_runtime(shared);
    keep_telling(shared);
}

/// Sees to it that listeners are told everything again when it is time.
pub(super) fn keep_telling<K: Resource + Send + Sync + 'static>(shared: &Arc<Shared<K>>) {
    let mut stage = shared.stage.lock();
    if !stage.resyncing && !shared.stop.is_cancelled() && stage.fanout.next_resync().is_some() {
        stage.resyncing = true;
        drop(stage);
        let task = resync(Arc::downgrade(shared), Arc::clone(&shared.resync_changed));
        spawn(shared, shared.stop.clone(), task.boxed());
    }
}

/// Follows one source.
pub(super) fn run<K: Resource + Send + Sync + 'static>(
    shared: &Arc<Shared<K>>,
    settings: &Settings<K>,
    followed: &Followed<K>,
) {
    let (producer, consumer) = queue(settings.queue);
    shared.traffic.lock().add(producer.depth());
    let seed = settings.seed.wrapping_add(followed.id - 1);
    let want = want(&shared.store, settings.residency, settings.transform.clone());
    let want = want.making(settings.make.clone()).tasks(shared.tasks.clone());
    let spent = Arc::clone(want.spent());
    let mut reflector = Reflector::new(Arc::clone(&followed.source), settings.config.clone(), seed)
        .want(want)
        .on_note(note(shared, followed.id, settings.on_error.clone()));
    if followed.anew {
        reflector = reflector.distrusting();
    }
    if let Some(scope) = shared.stage.lock().scopes.iter().find(|scope| scope.source == followed.id) {
        if scope.rewound.is_epoch_due() {
            // The reflector that was told may have gone before it had listed.
            scope.rewound.prove();
        }
        reflector = reflector.starting_at(&scope.from).rewound_by(Arc::clone(&scope.rewound));
    }
    spawn(shared, followed.stop.clone(), reflector.run(producer, followed.stop.clone()).boxed());
    let processor = Processor { shared: Arc::downgrade(shared), source: followed.id, consumer, spent };
    spawn(shared, followed.stop.clone(), processor.run().boxed());
}

/// How objects are wanted: what is in the store already is not decoded again.
pub(super) fn want<K: Resource + Send + Sync + 'static>(
    store: &Store<K>,
    residency: Residency,
    transform: Option<Transform<K>>,
) -> Want<K> {
    let want = Want::new().residency(residency).knowing(store.clone());
    match transform {
        Some(transform) => want.transform(move |object| transform(object)),
        None => want,
    }
}

/// Runs a task of the informer, until the informer is stopped, or what the task is for is gone. Tasks hold the informer
/// weakly: one that nobody else holds any more is dropped, and that stops them. They are boxed, so that what runs tasks is
/// not compiled anew for each of each type.
fn spawn<K: Resource + Send + Sync + 'static>(
    shared: &Arc<Shared<K>>,
    gone: CancellationToken,
    task: BoxFuture<'static, ()>,
) {
    let (stop, weak) = (shared.stop.clone(), Arc::downgrade(shared));
    let task = async move {
        let outcome = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            () = gone.cancelled() => Ok(()),
            outcome = AssertUnwindSafe(task).catch_unwind() => outcome,
        };
        let Some(shared) = weak.upgrade() else { return };
        if let Err(panic) = outcome {
            // A source: nobody knows what the copy is worth now.
            let error = SourceError::panicked(&panics::message(panic));
            shared.status.send_modify(|status| status.end(error, Instant::now().into_std()));
            shared.stop.cancel();
        }
        if shared.stop.is_cancelled() {
            ended(&shared);
        }
    };
    match shared.runtime.get() {
        // What is changed later may be changed from anywhere.
        Some(runtime) => shared.tasks.spawn_on(task.boxed(), runtime),
        None => shared.tasks.spawn(task.boxed()),
    };
}

/// Stops the informer when its runtime ends. A runtime that ends drops all its tasks, wherever they are; this task does nothing else
/// than to be dropped.
fn notice_end_of_runtime<K: Resource + Send + Sync + 'static>(shared: &Arc<Shared<K>>) {
    let (stop, ends) = (shared.stop.clone(), EndsWithRuntime(Arc::downgrade(shared)));
    let task = async move {
        stop.cancelled().await;
        // It has been stopped before, and this does nothing any more.
        drop(ends);
    };
    shared.tasks.spawn(task.boxed());
}

/// Stops an informer when it is dropped, if nobody has before.
struct EndsWithRuntime<K: Resource + Send + Sync + 'static>(Weak<Shared<K>>);

impl<K: Resource + Send + Sync + 'static> Drop for EndsWithRuntime<K> {
    fn drop(&mut self) {
        let Some(shared) = self.0.upgrade().filter(|shared| !shared.stop.is_cancelled()) else { return };
        shared.stop.cancel();
        let error = SourceError::runtime_ended();
        shared.status.send_modify(|status| status.end(error, Instant::now().into_std()));
        // On a runtime that is ending, `start` drops this while it holds the sources.
        drop(shared.sources.try_lock().map(|mut sources| sources.take()));
        close(&shared);
    }
}

/// Closes the listeners of an informer that has been stopped.
pub(super) fn ended<K: Resource + Send + Sync + 'static>(shared: &Shared<K>) {
    drop(shared.sources.lock().take());
    close(shared);
}

fn close<K: Resource + Send + Sync + 'static>(shared: &Shared<K>) {
    shared.tasks.close();
    shared.stage.lock().fanout.close(false);
    shared.status.send_modify(|status| status.enter(Phase::Stopped));
}

/// Writes into the status what happens while following.
fn note<K: Resource + Send + Sync + 'static>(
    shared: &Arc<Shared<K>>,
    source: u64,
    on_error: Option<OnError>,
) -> impl Fn(Note<'_>) + Send + Sync + 'static {
    let shared = Arc::downgrade(shared);
    move |note| {
        let Some(shared) = shared.upgrade() else { return };
        let now = Instant::now().into_std();
        if let Note::Heard { bytes } = note {
            shared.traffic.lock().heard(bytes, now);
            return;
        }
        shared.status.send_modify(|status| status.note(source, &note, now));
        if let (Note::Failed { error, .. }, Some(hook)) = (note, &on_error)
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(error)))
        {
            let error = SourceError::trouble(format!("the error hook panicked: {}", panics::message(panic)));
            shared.status.send_modify(|status| status.hook_failed(error, now));
        }
    }
}

/// Tells listeners everything again, when it is time; ends if that will never be.
async fn resync<K: Resource + Send + Sync + 'static>(shared: Weak<Shared<K>>, changed: Arc<Notify>) {
    let turn = || {
        let shared = shared.upgrade()?;
        let mut stage = shared.stage.lock();
        let due = stage.fanout.note_due(Instant::now().into_std());
        let next = stage.fanout.next_resync();
        stage.resyncing = next.is_some();
        // In order with what the source says; where there are several, they have no order among them.
        Some((due.then(|| shared.traffic.lock().any_queue()), next))
    };
    while let Some((due, next)) = turn() {
        if let Some(queue) = due {
            let queued = match queue {
                Some(queue) => queue.push(Delta::Resync).await,
                None => Err(Closed),
            };
            if let (Err(Closed), Some(shared)) = (queued, shared.upgrade()) {
                tell_again(&shared);
            }
        }
        let Some(next) = next else { return };
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(next.into()) => {}
            () = changed.notified() => {}
        }
    }
}

/// Tells listeners that are due everything again.
fn tell_again<K: Resource + Send + Sync + 'static>(shared: &Shared<K>) {
    let mut stage = shared.stage.lock();
    stage.fanout.tell_again(Instant::now().into_std(), &shared.store.snapshot());
}

/// Takes what one reflector says.
struct Processor<K> {
    shared: Weak<Shared<K>>,
    source: u64,
    consumer: Consumer<K>,
    /// Where those who decode find what they may make new ones of.
    spent: Arc<Spent<K>>,
}

impl<K: Resource + Send + Sync + 'static> Processor<K> {
    async fn run(mut self) {
        while let Some(batch) = self.consumer.pop_batch(BATCH).await {
            let Some(shared) = self.shared.upgrade() else { return };
            let any_quarantined = !shared.status.borrow().quarantined.is_empty();
            for step in steps(batch, any_quarantined) {
                let measured = shared.latency.as_ref().map(|latency| (latency, Instant::now()));
                self.take(&shared, step);
                if let Some((latency, began)) = measured {
                    latency.observe(began.elapsed().as_secs_f64());
                }
            }
        }
    }

    /// Takes one step: the store is written and the listeners are told, undisturbed by those who join.
    fn take(&self, shared: &Shared<K>, step: Step<K>) {
        if step.kind() == StepKind::Again {
            return tell_again(shared);
        }
        let (kind, version) = (step.kind(), step.version().to_owned());
        let mut stage = shared.stage.lock();
        // What comes from a source that is followed no more is not wanted.
        let Some(applied) = stage.take(self.source, step, &shared.store, &self.spent) else { return };
        let (events, there) = (applied.told, shared.store.snapshot());
        let (objects, epoch) = (there.len(), there.epoch());
        let (scope_epoch, quarantine) = (stage.epoch_of(self.source), applied.quarantine);
        let epoch_is_due = stage.is_epoch_due(self.source);
        let took = Took { kind, version, events, objects, epoch, scope_epoch, epoch_is_due, quarantine };
        // The status is told of steps in their order.
        shared.status.send_modify(|status| status.took(self.source, took, Instant::now().into_std()));
        stage.complete_if_listed();
    }
}

/// What is written to, step by step.
pub(super) struct Stage<K> {
    pub(super) fanout: Fanout<K>,
    scopes: Vec<Reached>,
    /// Everything has been listed once.
    complete: bool,
    /// There is a task that tells everything again.
    resyncing: bool,
}

/// How far one scope has come.
#[derive(Clone, Default)]
struct Reached {
    source: u64,
    scope: Scope,
    /// The version that its reflector starts from: its first list must not be older, or begins an epoch.
    from: String,
    version: String,
    /// The epoch of the version. In a later epoch of the store the scope has reached no version.
    epoch: u64,
    listed: bool,
    /// Tells its reflector that the server's versions went back.
    rewound: Arc<Rewound>,
}

impl<K: Resource + Send + Sync + 'static> Stage<K> {
    pub(super) fn new(fanout: Fanout<K>) -> Self {
        Self { fanout, scopes: Vec::new(), complete: false, resyncing: false }
    }

    /// Replaces the scope set, and keeps the progress of sources that stay. The caller tells the status, and then
    /// [completes](Self::complete_if_listed).
    pub(super) fn cover(&mut self, scopes: &[(u64, Scope)], store: &Store<K>) {
        let (before, epoch) = (std::mem::take(&mut self.scopes), store.epoch());
        let current = before.iter().filter(|reached| reached.epoch == epoch);
        let versions = current.filter_map(|reached| reached.version.parse().ok());
        let newest: Option<Version> = versions.chain(store.resource_version()).max();
        let from = newest.map(|version| version.to_string()).unwrap_or_default();
        let reached = scopes.iter().map(|(source, scope)| {
            if let Some(known) = before.iter().find(|reached| reached.source == *source) {
                return known.clone();
            }
            // What is there of the scope may be of an earlier epoch.
            let overlapping = before.iter().filter(|reached| reached.scope.overlaps(scope));
            let oldest = overlapping.map(|reached| reached.epoch).min().unwrap_or(epoch);
            let new = Reached { source: *source, scope: scope.clone(), epoch: oldest, ..Reached::default() };
            if before.iter().any(|reached| reached.rewound.is_epoch_due() && reached.scope.overlaps(scope)) {
                new.rewound.prove();
            } else if oldest < epoch {
                new.rewound.suspect();
            }
            Reached { from: from.clone(), ..new }
        });
        self.scopes = reached.collect();
    }

    fn epoch_of(&self, source: u64) -> u64 {
        self.scopes.iter().find(|reached| reached.source == source).map_or(0, |reached| reached.epoch)
    }

    /// Whether an epoch is proven to be due for a source.
    fn is_epoch_due(&self, source: u64) -> bool {
        self.scopes.iter().any(|reached| reached.source == source && reached.rewound.is_epoch_due())
    }

    /// Takes in that `epoch` is proven to have ended for the objects of a namespace. Returns the source that is asked for a list,
    /// with which the next epoch begins; none if it has begun, or if no source has the namespace.
    pub(super) fn epoch_ended(&self, namespace: &str, epoch: u64) -> Option<u64> {
        let scope = self.scopes.iter().find(|reached| reached.scope.covers(namespace))?;
        let is_news = scope.epoch == epoch && !scope.rewound.is_epoch_due();
        is_news.then(|| {
            scope.rewound.prove();
            scope.source
        })
    }

    /// Says that everything has been listed, if that is so for the first time. For handlers to have synced, the informer
    /// must have: its status comes first.
    pub(super) fn complete_if_listed(&mut self) {
        if !self.complete && !self.scopes.is_empty() && self.scopes.iter().all(|scope| scope.listed) {
            self.complete = true;
            self.fanout.initial_complete();
        }
    }

    /// Writes to the store what no source says, and tells it.
    pub(super) fn write(&mut self, store: &Store<K>, writes: Vec<Write<K>>) {
        self.fanout.tell_all(written(store.write(writes, None)));
    }

    /// Takes one step of a source; none if the source is followed no more.
    fn take(&mut self, source: u64, step: Step<K>, store: &Store<K>, spent: &Spent<K>) -> Option<Applied<K>> {
        let at = self.scopes.iter().position(|reached| reached.source == source)?;
        let trust = self.enter_epoch(at, step.trust(), store.epoch());
        let current = self.reach(at, step.version());
        let everything = step.kind() == StepKind::Everything;
        let Reached { scope, listed, .. } = &self.scopes[at];
        let list = List { scope, initial: !listed && !self.complete, trust };
        let mut applied = step.apply(store, list, current.as_deref());
        let events = std::mem::take(&mut applied.events);
        applied.told = events.len() as u64;
        spent.put(events.iter().filter_map(Event::used), store.snapshot().len() / self.scopes.len());
        self.fanout.tell_all(events);
        self.scopes[at].listed |= everything;
        Some(applied)
    }

    /// Notes the epoch that a step of a scope belongs to, where the store is in this one; returns what the step leaves as it is. One
    /// restore begins one epoch: the first scope that notices it begins it, and tells the others to list again and join.
    fn enter_epoch(&mut self, at: usize, trust: Trust, current: u64) -> Trust {
        let is_behind = self.scopes[at].epoch < current;
        if trust == Trust::NewEpoch || (is_behind && trust == Trust::Nothing) {
            self.scopes[at].rewound.epoch_began();
        }
        match trust {
            Trust::NewEpoch if !is_behind => {
                self.scopes[at].epoch = current + 1;
                for behind in self.scopes.iter().filter(|scope| scope.epoch <= current) {
                    behind.rewound.suspect();
                }
                Trust::NewEpoch
            }
            Trust::NewEpoch | Trust::Nothing => {
                self.scopes[at].epoch = current;
                Trust::Nothing
            }
            // A list from before the reflector was told: the next one joins.
            Trust::Versions if is_behind => Trust::Nothing,
            Trust::Versions => Trust::Versions,
        }
    }

    /// Notes the version that a scope has reached; returns the one that all have, none if some are in an earlier epoch.
    fn reach(&mut self, scope: usize, version: &str) -> Option<String> {
        if !version.is_empty() {
            version.clone_into(&mut self.scopes[scope].version);
        }
        let mut epochs = self.scopes.iter().map(|scope| scope.epoch);
        if epochs.next().is_some_and(|first| epochs.any(|epoch| epoch != first)) {
            return None;
        }
        let oldest = oldest(self.scopes.iter().map(|scope| scope.version.as_str()));
        (!oldest.is_empty()).then_some(oldest)
    }
}

/// What is counted too often for the status to be told each time.
pub(super) struct Traffic<K> {
    pub(super) received_bytes: u64,
    pub(super) last_heard: Option<std::time::Instant>,
    queues: Vec<Depth<K>>,
}

impl<K> Traffic<K> {
    fn add(&mut self, queue: Depth<K>) {
        self.queues.retain(Depth::is_open);
        self.queues.push(queue);
    }

    fn heard(&mut self, bytes: usize, now: std::time::Instant) {
        self.received_bytes += bytes as u64;
        self.last_heard = Some(now);
    }

    /// A queue that somebody takes from.
    fn any_queue(&self) -> Option<Producer<K>> {
        self.queues.iter().find_map(Depth::producer)
    }

    /// Changes that wait for the store.
    pub(super) fn queued(&self) -> usize {
        self.queues.iter().map(Depth::get).sum()
    }
}

impl<K> Default for Traffic<K> {
    fn default() -> Self {
        Self { received_bytes: 0, last_heard: None, queues: Vec::new() }
    }
}
