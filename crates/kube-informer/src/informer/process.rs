//! What ties the rooms together: deltas go to the store, and from there to the listeners.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};

use futures::FutureExt;
use kube_core::Resource;
use tokio::time::Instant;

use super::builder::{OnError, Settings};
use super::status::{Took, oldest};
use super::step::{Step, StepKind, steps};
use super::{Phase, Shared};
use crate::fanout::{Fanout, panic_message};
use crate::object::Residency;
use crate::queue::{Consumer, Depth, queue};
use crate::reflector::{Note, Reflector};
use crate::source::{SourceError, Transform, Want};
use crate::store::Store;

/// How many changes go to the store in one step.
pub(super) const BATCH: usize = 1_000;

pub(super) fn start<K: Resource + Send + Sync + 'static>(shared: &Arc<Shared<K>>, settings: Settings<K>) {
    shared.stage.lock().fanout.start_resync(Instant::now().into_std());
    shared.status.send_modify(|status| status.phase = Phase::Running);
    for (scope, source) in settings.sources.into_iter().enumerate() {
        let (producer, consumer) = queue(settings.queue);
        shared.traffic.lock().queues.push(producer.depth());
        let seed = settings.seed.wrapping_add(scope as u64);
        let reflector = Reflector::new(source, settings.config.clone(), seed)
            .want(
                want(&shared.store, settings.residency, settings.transform.clone())
                    .tasks(shared.tasks.clone()),
            )
            .on_note(note(shared, scope, settings.on_error.clone()));
        spawn(shared, reflector.run(producer, shared.stop.clone()));
        let processor = Processor { shared: Arc::downgrade(shared), scope, consumer };
        spawn(shared, processor.run());
    }
    if shared.stage.lock().fanout.next_resync().is_some() {
        spawn(shared, resync(Arc::downgrade(shared)));
    }
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

/// Runs a task of the informer, until the informer is stopped. Tasks hold the informer weakly: one that nobody else
/// holds any more is dropped, and that stops them.
fn spawn<K, F>(shared: &Arc<Shared<K>>, task: F)
where
    K: Resource + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (stop, weak) = (shared.stop.clone(), Arc::downgrade(shared));
    shared.tasks.spawn(async move {
        let outcome = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            outcome = AssertUnwindSafe(task).catch_unwind() => outcome,
        };
        let Some(shared) = weak.upgrade() else { return };
        if let Err(panic) = outcome {
            // An index function, a hook or a source: nobody knows what the copy is worth now.
            let error = SourceError::panicked(&panic_message(&*panic));
            shared.status.send_modify(|status| status.failed(0, &error, Instant::now().into_std()));
            shared.stop.cancel();
        }
        if shared.stop.is_cancelled() {
            ended(&shared);
        }
    });
}

/// Closes the listeners of an informer that has been stopped.
pub(super) fn ended<K: Resource + Send + Sync + 'static>(shared: &Shared<K>) {
    shared.stage.lock().fanout.close(false);
    shared.status.send_modify(|status| status.phase = Phase::Stopped);
}

/// Writes into the status what happens while following.
fn note<K: Resource + Send + Sync + 'static>(
    shared: &Arc<Shared<K>>,
    scope: usize,
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
        shared.status.send_modify(|status| status.note(scope, &note, now));
        if let (Note::Failed(error), Some(hook)) = (note, &on_error) {
            hook(error);
        }
    }
}

/// Tells listeners everything again, when it is time.
async fn resync<K: Resource + Send + Sync + 'static>(shared: Weak<Shared<K>>) {
    let next = || shared.upgrade().and_then(|shared| shared.stage.lock().fanout.next_resync());
    while let Some(time) = next() {
        tokio::time::sleep_until(time.into()).await;
        let Some(shared) = shared.upgrade() else { return };
        let mut stage = shared.stage.lock();
        stage.fanout.tell_again(Instant::now().into_std(), &shared.store.snapshot());
    }
}

/// Takes what one reflector says.
struct Processor<K> {
    shared: Weak<Shared<K>>,
    scope: usize,
    consumer: Consumer<K>,
}

impl<K: Resource + Send + Sync + 'static> Processor<K> {
    async fn run(mut self) {
        while let Some(batch) = self.consumer.pop_batch(BATCH).await {
            let Some(shared) = self.shared.upgrade() else { return };
            for step in steps(batch) {
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
        let (scope, kind, version) = (self.scope, step.kind(), step.version().to_owned());
        let mut stage = shared.stage.lock();
        let current = stage.reach(scope, &version);
        let Reached { namespace, listed: listed_before, .. } = &stage.scopes[scope];
        let applied = step.apply(&shared.store, namespace.as_deref(), !listed_before, current.as_deref());
        stage.fanout.tell(&applied.events);
        let listed = kind == StepKind::Everything;
        stage.scopes[scope].listed |= listed;
        if listed && stage.scopes.iter().all(|scope| scope.listed) {
            stage.fanout.initial_complete();
        }
        drop(stage);
        let (events, objects) = (applied.events.len() as u64, shared.store.snapshot().len());
        let took = Took { kind, version, events, objects, quarantine: applied.quarantine };
        shared.status.send_modify(|status| status.took(scope, took, Instant::now().into_std()));
    }
}

/// What is written to, step by step.
pub(super) struct Stage<K> {
    pub(super) fanout: Fanout<K>,
    scopes: Vec<Reached>,
}

/// How far one scope has come.
struct Reached {
    namespace: Option<String>,
    version: String,
    listed: bool,
}

impl<K> Stage<K> {
    pub(super) fn new(fanout: Fanout<K>, namespaces: impl IntoIterator<Item = Option<String>>) -> Self {
        let reached = |namespace| Reached { namespace, version: String::new(), listed: false };
        Self { fanout, scopes: namespaces.into_iter().map(reached).collect() }
    }

    /// Notes the version that a scope has reached; returns the one that all have.
    fn reach(&mut self, scope: usize, version: &str) -> Option<String> {
        if !version.is_empty() {
            version.clone_into(&mut self.scopes[scope].version);
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
    fn heard(&mut self, bytes: usize, now: std::time::Instant) {
        self.received_bytes += bytes as u64;
        self.last_heard = Some(now);
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
