//! Settings for a queue.

use std::fmt;
use std::time::Duration;

use super::limiter::{DEFAULT_BASE_DELAY, DEFAULT_MAX_DELAY, ItemExponential, default_controller};
use super::{Key, RateLimiter, Rules, WorkQueue};
use crate::metrics::Metrics;

/// A key that has waited so long gets its share of the workers whatever its priority, unless it is said otherwise.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// Settings for a queue; see [`WorkQueue::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct WorkQueueBuilder<T> {
    pub(super) name: String,
    pub(super) rules: Rules,
    pub(super) patience: Duration,
    pub(super) limiter: Option<Box<dyn RateLimiter<T>>>,
    pub(super) metrics: Option<Metrics>,
    pub(super) of_controller: bool,
}

impl<T: Key> WorkQueueBuilder<T> {
    pub(super) fn new() -> Self {
        Self {
            name: "workqueue".to_owned(),
            rules: Rules::default(),
            patience: DEFAULT_PATIENCE,
            limiter: None,
            metrics: None,
            of_controller: false,
        }
    }

    /// What the queue is called in metrics.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// What becomes of delays.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// How long a key waits at most while others of higher priority are handed out. When it has waited longer, one of
    /// eight keys that are handed out is the oldest of those. `Duration::MAX` for never.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long keys wait that are [added rate limited](WorkQueue::add_rate_limited). The default is client-go's for
    /// controllers with [`Rules::Layered`], and 5 ms to 1000 s for each key with [`Rules::Merged`].
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    /// Shows the queue to Prometheus.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self
    }

    /// It is the queue of a controller of its name, and is shown as such.
    pub(crate) fn of_controller(mut self) -> Self {
        self.of_controller = true;
        self
    }

    /// The queue.
    pub fn build(self) -> WorkQueue<T> {
        WorkQueue::from_builder(self)
    }

    pub(super) fn take_limiter(&mut self) -> Box<dyn RateLimiter<T>> {
        self.limiter.take().unwrap_or_else(|| match self.rules {
            Rules::Layered => Box::new(default_controller()),
            Rules::Merged => Box::new(ItemExponential::new(DEFAULT_BASE_DELAY, DEFAULT_MAX_DELAY)),
        })
    }
}

impl<T> fmt::Debug for WorkQueueBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueueBuilder")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}
