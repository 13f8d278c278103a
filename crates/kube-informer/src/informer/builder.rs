//! Settings for an informer.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use kube_core::Resource;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::process::{Stage, Traffic};
use super::sources::{Sources, disjoint};
use super::{InformerError, InformerStatus, Shared, SharedInformer};
use crate::fanout::{Fanout, Zone};
use crate::metrics::{self, Metrics, Observed};
use crate::object::Residency;
use crate::queue::{DEFAULT_CAPACITY, MAX_CAPACITY};
use crate::random::any_seed;
use crate::reflector::Config;
use crate::source::{ListWatch, Make, Scope, SourceError, Transform};
use crate::store::Store;

/// Is told of everything that goes wrong.
pub(super) type OnError = Arc<dyn Fn(&SourceError) + Send + Sync>;

/// Settings for an informer; made by [`SharedInformer::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct InformerBuilder<K> {
    name: Option<String>,
    /// One, or one for each namespace.
    sources: Vec<Arc<dyn ListWatch<K>>>,
    resync: Vec<Zone>,
    metrics: Option<Metrics>,
    settings: Settings<K>,
}

/// What an informer needs to follow a source.
pub(super) struct Settings<K> {
    pub(super) config: Config,
    pub(super) seed: u64,
    pub(super) queue: usize,
    pub(super) residency: Residency,
    pub(super) transform: Option<Transform<K>>,
    pub(super) make: Option<Make<K>>,
    pub(super) on_error: Option<OnError>,
}

impl<K: Resource + Send + Sync + 'static> InformerBuilder<K> {
    pub(super) fn new(source: impl ListWatch<K>) -> Self {
        Self::of(vec![Arc::new(source)])
    }

    pub(super) fn across(sources: impl IntoIterator<Item: ListWatch<K>>) -> Result<Self, InformerError> {
        let sources = sources.into_iter().map(|source| Arc::new(source) as Arc<dyn ListWatch<K>>);
        let builder = Self::of(sources.collect());
        if builder.sources.is_empty() {
            return Err(InformerError::NoSource);
        }
        disjoint(&builder.sources.iter().map(ListWatch::scope).collect::<Vec<_>>())?;
        Ok(builder)
    }

    /// An informer that may have no source yet.
    pub(crate) fn of(sources: Vec<Arc<dyn ListWatch<K>>>) -> Self {
        let settings = Settings {
            config: Config::default(),
            seed: any_seed(),
            queue: DEFAULT_CAPACITY,
            residency: Residency::default(),
            transform: None,
            make: None,
            on_error: None,
        };
        Self { name: None, sources, resync: vec![Zone::default()], metrics: None, settings }
    }

    /// A name, for logs and metrics; that of the resource by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tells listeners everything again, every so often; never by default. Listeners may ask for other periods.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = vec![Zone::everything(period)];
        self
    }

    /// Tells listeners the objects of each zone again at its own period.
    pub(crate) fn resync_zones(mut self, zones: Vec<Zone>) -> Self {
        self.resync = zones;
        self
    }

    /// Shows the informer there, under its name.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self
    }

    /// How to follow the server.
    pub fn config(mut self, config: Config) -> Self {
        self.settings.config = config;
        self
    }

    /// Makes waits, time-outs and the order of objects repeatable, for tests only. Without it they are different in each
    /// informer of each program: programs do not all reconnect at the same moment, and nobody can choose names that slow
    /// the store down.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// How many changes wait at most for the store before the watch is slowed down; 1,024 by default, and no more
    /// than [`MAX_CAPACITY`](crate::queue::MAX_CAPACITY). Nor do more than [`MAX_BYTES`](crate::queue::MAX_BYTES) wait,
    /// whatever their number.
    pub fn queue_capacity(mut self, deltas: usize) -> Self {
        self.settings.queue = deltas.min(MAX_CAPACITY);
        self
    }

    /// How objects rest in memory; adaptive by default. Objects that are changed by a [transform](Self::transform) rest
    /// decoded.
    pub fn residency(mut self, residency: Residency) -> Self {
        self.settings.residency = residency;
        self
    }

    /// Changes each object, exactly once, before it reaches the store: to drop what nobody reads. An object for which
    /// it panics is in quarantine, like one that cannot be decoded.
    pub fn transform(mut self, transform: impl Fn(K) -> K + Send + Sync + 'static) -> Self {
        self.settings.transform = Some(Arc::new(transform));
        self
    }

    /// Makes handles of objects and their bytes with a function, instead of as residency and transform say.
    pub(crate) fn making(mut self, make: Make<K>) -> Self {
        self.settings.make = Some(make);
        self
    }

    /// Is called with everything that goes wrong while following: failed requests, errors inside watches, broken
    /// connections, answers that do not come, watches that end as soon as they have begun. Objects that cannot be decoded
    /// are in the [status](crate::informer::InformerStatus::quarantined). A watch on which nothing has arrived for long
    /// is opened anew and counted in the [status](crate::informer::InformerStatus::restarts), and nothing more: where
    /// nothing changes that is no error. The hook runs on the task that follows: it must not block.
    pub fn on_error(mut self, hook: impl Fn(&SourceError) + Send + Sync + 'static) -> Self {
        self.settings.on_error = Some(Arc::new(hook));
        self
    }

    /// The informer, not yet started.
    pub fn build(self) -> SharedInformer<K> {
        let tasks = TaskTracker::new();
        let first = self.sources.first().map(ListWatch::scope).unwrap_or_default();
        let store = Store::seeded(self.settings.seed);
        let sources = Sources::new(self.settings, self.sources);
        let scopes: Vec<(u64, Scope)> = sources.scopes().collect();
        let mut fanout = Fanout::with_tasks(tasks.clone());
        fanout.resync_zones(self.resync, Instant::now().into_std());
        let mut status = InformerStatus::default();
        status.cover(&scopes, 0);
        let mut stage = Stage::new(fanout);
        stage.cover(&scopes, &store);
        let shared = Shared {
            name: self.name.unwrap_or_else(|| first.resource()),
            scope: Scope { namespace: None, except: BTreeSet::new(), ..first },
            store,
            stage: Mutex::new(stage),
            resync_changed: Arc::default(),
            status: watch::Sender::new(status),
            traffic: Mutex::new(Traffic::default()),
            sources: Mutex::new(Some(sources)),
            tasks,
            runtime: OnceLock::new(),
            stop: CancellationToken::new(),
            latency: self.metrics.as_ref().map(|_| metrics::latency()),
        };
        let shared = Arc::new(shared);
        if let Some(metrics) = &self.metrics {
            let observed: Weak<dyn Observed> = Arc::downgrade(&shared) as _;
            metrics.add(&shared.name, observed);
        }
        SharedInformer { shared }
    }
}

impl<K> fmt::Debug for InformerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
