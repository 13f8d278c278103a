//! An informer for one: a store and one handler, without sharing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube_core::Resource;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::builder::OnError;
use super::process::{BATCH, want};
use super::status::{InformerStatus, Phase, Took};
use super::step::{List, Step, StepKind, steps};
use crate::fanout::{Event, Handle};
use crate::object::Residency;
use crate::queue::{Consumer, DEFAULT_CAPACITY, Delta, Producer, queue};
use crate::random::any_seed;
use crate::reflector::{Config, Note, Reflector};
use crate::source::{ListWatch, Scope, SourceError, Transform};
use crate::store::Store;

/// The number of the only source.
const SOURCE: u64 = 0;

/// Follows a source, keeps a store, and calls one handler: a [`SharedInformer`](super::SharedInformer) without the
/// sharing.
///
/// Everything happens in one future, [`run`](Self::run): the handler is called there, after the store has been written
/// and before the next change is looked at. So a slow handler slows the watch down, and a panic leaves `run`. It is a
/// part to build on; most programs want a shared informer.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::fanout::Event;
/// use kube_informer::informer::Controller;
/// use kube_informer::source::KubeSource;
/// use tokio_util::sync::CancellationToken;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}")?;
/// # let client = server.client()?;
/// let source = KubeSource::<ConfigMap>::all(client, &());
/// let controller = Controller::new(source, |event: Event<ConfigMap>| println!("{}", event.object().key()));
/// let (store, mut status, stop) = (controller.store(), controller.watch_status(), CancellationToken::new());
/// let running = tokio::spawn(controller.run(stop.clone()));
/// status.wait_for(|status| status.synced).await?;
/// assert!(store.get("default", "hello").is_some());
/// stop.cancel();
/// running.await?;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[must_use = "a controller does nothing until it is run"]
pub struct Controller<K, S, H> {
    source: S,
    handler: H,
    store: Store<K>,
    status: watch::Sender<InformerStatus>,
    config: Config,
    seed: u64,
    resync: Duration,
    residency: Residency,
    transform: Option<Transform<K>>,
    on_error: Option<OnError>,
}

impl<K, S, H> Controller<K, S, H>
where
    K: Resource + Send + Sync + 'static,
    S: ListWatch<K>,
    H: Handle<K>,
{
    /// Follows a source and calls a handler.
    pub fn new(source: S, handler: H) -> Self {
        let mut status = InformerStatus::default();
        status.cover(&[(SOURCE, source.scope())], 0);
        Self {
            source,
            handler,
            store: Store::new(),
            status: watch::Sender::new(status),
            config: Config::default(),
            seed: any_seed(),
            resync: Duration::ZERO,
            residency: Residency::default(),
            transform: None,
            on_error: None,
        }
    }

    /// How to follow the server.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Makes waits and time-outs repeatable.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Tells the handler everything again, every so often; never by default.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = period;
        self
    }

    /// Changes each object, exactly once, before it reaches the store.
    pub fn transform(mut self, transform: impl Fn(K) -> K + Send + Sync + 'static) -> Self {
        self.transform = Some(Arc::new(transform));
        self
    }

    /// How objects rest in memory; adaptive by default.
    pub fn residency(mut self, residency: Residency) -> Self {
        self.residency = residency;
        self
    }

    /// Is called with everything that goes wrong while following.
    pub fn on_error(mut self, hook: impl Fn(&SourceError) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(hook));
        self
    }

    /// The copy.
    pub fn store(&self) -> Store<K> {
        self.store.clone()
    }

    /// How it is doing. It is synced when the handler has been told of the whole first list.
    pub fn watch_status(&self) -> watch::Receiver<InformerStatus> {
        self.status.subscribe()
    }

    /// Follows until told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let (producer, consumer) = queue(DEFAULT_CAPACITY);
        let (status, on_error) = (self.status.clone(), self.on_error);
        let want = want(&self.store, self.residency, self.transform);
        let reflector = Reflector::new(self.source, self.config, self.seed).want(want).on_note(move |note| {
            status.send_modify(|status| status.note(SOURCE, &note, Instant::now().into_std()));
            if let (Note::Failed { error, .. }, Some(hook)) = (note, &on_error) {
                hook(error);
            }
        });
        self.status.send_modify(|status| status.phase = Phase::Running);
        let _stopped_at_the_end = Stops(self.status.clone());
        let process = Process { handler: self.handler, store: self.store, status: self.status };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = process.run(consumer) => {}
            () = resync(producer.clone(), self.resync) => {}
            () = reflector.run(producer, stop.clone()) => {}
        }
    }
}

/// Says that it is over, however it ends: also if its future is dropped, or the handler panics.
struct Stops(watch::Sender<InformerStatus>);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.send_modify(|status| status.phase = Phase::Stopped);
    }
}

struct Process<K, H> {
    handler: H,
    store: Store<K>,
    status: watch::Sender<InformerStatus>,
}

/// Says every so often that everything is to be told again; zero for never.
async fn resync<K>(queue: Producer<K>, period: Duration) {
    while let Some(next) = Instant::now().checked_add(period).filter(|_| !period.is_zero()) {
        tokio::time::sleep_until(next).await;
        if queue.push(Delta::Resync).await.is_err() {
            return;
        }
    }
    std::future::pending::<()>().await;
}

impl<K: Resource + Send + Sync + 'static, H: Handle<K>> Process<K, H> {
    async fn run(mut self, mut consumer: Consumer<K>) {
        while let Some(batch) = consumer.pop_batch(BATCH).await {
            let any_quarantined = !self.status.borrow().quarantined.is_empty();
            for step in steps(batch, any_quarantined) {
                self.take(step);
            }
        }
    }

    fn take(&mut self, step: Step<K>) {
        if step.kind() == StepKind::Again {
            for object in self.store.list() {
                self.handler.handle(Event::Updated { old: object.clone(), new: object, resync: true });
            }
            return;
        }
        let (kind, version) = (step.kind(), step.version().to_owned());
        let initial = !self.status.borrow().synced;
        let list = List { scope: &Scope::default(), initial, trust: step.trust() };
        let applied = step.apply(&self.store, list, Some(&version));
        let events = applied.events.len() as u64;
        for event in applied.events {
            self.handler.handle(event);
        }
        let there = self.store.snapshot();
        let (objects, epoch) = (there.len(), there.epoch());
        let quarantine = applied.quarantine;
        let (scope_epoch, epoch_is_due) = (epoch, false);
        let took = Took { kind, version, events, objects, epoch, scope_epoch, epoch_is_due, quarantine };
        self.status.send_modify(|status| status.took(SOURCE, took, Instant::now().into_std()));
    }
}

impl<K, S: fmt::Debug, H> fmt::Debug for Controller<K, S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("source", &self.source).finish_non_exhaustive()
    }
}
