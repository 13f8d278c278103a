//! Settings for an informer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube_core::Resource;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{InformerStatus, Shared, SharedInformer};
use crate::fanout::Fanout;
use crate::queue::DEFAULT_CAPACITY;
use crate::reflector::Config;
use crate::source::{ListWatch, SourceError};
use crate::store::Store;

/// Changes an object before anybody sees it.
pub(super) type Transform<K> = Box<dyn FnMut(K) -> K + Send>;

/// Is told of everything that goes wrong.
pub(super) type OnError = Arc<dyn Fn(&SourceError) + Send + Sync>;

/// Settings for an informer; made by [`SharedInformer::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct InformerBuilder<K> {
    name: String,
    resync: Duration,
    settings: Settings<K>,
}

/// What an informer needs until it is started.
pub(super) struct Settings<K> {
    pub(super) source: Arc<dyn ListWatch<K>>,
    pub(super) config: Config,
    pub(super) seed: u64,
    pub(super) queue: usize,
    pub(super) transform: Option<Transform<K>>,
    pub(super) on_error: Option<OnError>,
}

impl<K: Resource + Send + Sync + 'static> InformerBuilder<K> {
    pub(super) fn new(source: impl ListWatch<K>) -> Self {
        let settings = Settings {
            source: Arc::new(source),
            config: Config::default(),
            seed: 0,
            queue: DEFAULT_CAPACITY,
            transform: None,
            on_error: None,
        };
        Self { name: String::new(), resync: Duration::ZERO, settings }
    }

    /// A name, for logs and metrics.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Tells listeners everything again, every so often; never by default. Listeners may ask for other periods.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = period;
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

    /// Changes each object, exactly once, before it reaches the store: to drop what nobody reads.
    pub fn transform(mut self, transform: impl FnMut(K) -> K + Send + 'static) -> Self {
        self.settings.transform = Some(Box::new(transform));
        self
    }

    /// Is called with everything that goes wrong while following: failed requests, errors inside watches, broken
    /// connections.
    pub fn on_error(mut self, hook: impl Fn(&SourceError) + Send + Sync + 'static) -> Self {
        self.settings.on_error = Some(Arc::new(hook));
        self
    }

    /// The informer, not yet started.
    pub fn build(self) -> SharedInformer<K> {
        let tasks = TaskTracker::new();
        let shared = Shared {
            name: self.name,
            store: Store::new(),
            fanout: Mutex::new(Fanout::with_tasks(tasks.clone()).resync(self.resync)),
            status: watch::Sender::new(InformerStatus::default()),
            settings: Mutex::new(Some(self.settings)),
            tasks,
            stop: CancellationToken::new(),
        };
        SharedInformer { shared: Arc::new(shared) }
    }
}

impl<K> fmt::Debug for InformerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
