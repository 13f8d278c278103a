//! Settings for an informer.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use kube_core::Resource;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::process::{Stage, Traffic};
use super::{InformerError, InformerStatus, Shared, SharedInformer};
use crate::fanout::Fanout;
use crate::metrics::{self, Metrics, Observed};
use crate::object::Residency;
use crate::queue::DEFAULT_CAPACITY;
use crate::reflector::Config;
use crate::source::{ListWatch, Scope, SourceError, Transform};
use crate::store::Store;

/// Is told of everything that goes wrong.
pub(super) type OnError = Arc<dyn Fn(&SourceError) + Send + Sync>;

/// Settings for an informer; made by [`SharedInformer::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct InformerBuilder<K> {
    name: Option<String>,
    scopes: Vec<Scope>,
    resync: Duration,
    metrics: Option<Metrics>,
    settings: Settings<K>,
}

/// What an informer needs until it is started.
pub(super) struct Settings<K> {
    /// One, or one for each namespace.
    pub(super) sources: Vec<Arc<dyn ListWatch<K>>>,
    pub(super) config: Config,
    pub(super) seed: u64,
    pub(super) queue: usize,
    pub(super) residency: Residency,
    pub(super) transform: Option<Transform<K>>,
    pub(super) on_error: Option<OnError>,
}

impl<K: Resource + Send + Sync + 'static> InformerBuilder<K> {
    pub(super) fn new(source: impl ListWatch<K>) -> Self {
        Self::of(vec![Arc::new(source)])
    }

    pub(super) fn across(sources: impl IntoIterator<Item: ListWatch<K>>) -> Result<Self, InformerError> {
        let sources = sources.into_iter().map(|source| Arc::new(source) as Arc<dyn ListWatch<K>>);
        let builder = Self::of(sources.collect());
        let mut seen = HashSet::new();
        for scope in &builder.scopes {
            let Some(namespace) = scope.namespace.as_deref() else {
                return if builder.scopes.len() == 1 { Ok(builder) } else { Err(InformerError::Overlap) };
            };
            if !seen.insert(namespace) {
                return Err(InformerError::SameNamespace { namespace: namespace.to_owned() });
            }
        }
        if seen.is_empty() { Err(InformerError::NoSource) } else { Ok(builder) }
    }

    fn of(sources: Vec<Arc<dyn ListWatch<K>>>) -> Self {
        let scopes = sources.iter().map(ListWatch::scope).collect();
        let settings = Settings {
            sources,
            config: Config::default(),
            seed: 0,
            queue: DEFAULT_CAPACITY,
            residency: Residency::default(),
            transform: None,
            on_error: None,
        };
        Self { name: None, scopes, resync: Duration::ZERO, metrics: None, settings }
    }

    /// A name, for logs and metrics; that of the resource by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tells listeners everything again, every so often; never by default. Listeners may ask for other periods.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = period;
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

    /// Makes waits and time-outs repeatable. Informers of one program should have different seeds, so that they do
    /// not all reconnect at the same moment.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// How many changes wait at most for the store before the watch is slowed down; 1,024 by default.
    pub fn queue_capacity(mut self, deltas: usize) -> Self {
        self.settings.queue = deltas;
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

    /// Is called with everything that goes wrong while following: failed requests, errors inside watches, broken and
    /// silent connections, watches that end as soon as they have begun. Objects that cannot be decoded are in the
    /// [status](crate::informer::InformerStatus::quarantined). It runs on the task that follows: it must not block.
    pub fn on_error(mut self, hook: impl Fn(&SourceError) + Send + Sync + 'static) -> Self {
        self.settings.on_error = Some(Arc::new(hook));
        self
    }

    /// The informer, not yet started.
    pub fn build(self) -> SharedInformer<K> {
        let tasks = TaskTracker::new();
        let namespaces = || self.scopes.iter().map(|scope| scope.namespace.clone());
        let fanout = Fanout::with_tasks(tasks.clone()).resync(self.resync);
        let shared = Shared {
            name: self.name.unwrap_or_else(|| self.scopes.first().map(Scope::resource).unwrap_or_default()),
            scope: Scope { namespace: None, ..self.scopes.first().cloned().unwrap_or_default() },
            store: Store::new(),
            stage: Mutex::new(Stage::new(fanout, namespaces())),
            status: watch::Sender::new(InformerStatus::new(namespaces())),
            traffic: Mutex::new(Traffic::default()),
            settings: Mutex::new(Some(self.settings)),
            tasks,
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
