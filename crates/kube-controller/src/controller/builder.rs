//! Settings for a controller.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::Stream;
use kube_core::Resource;
use kube_informer::Object;
use kube_informer::fanout::{AnyEvent, Event};
use kube_informer::object::ObjectName;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::figures::Figures;
use super::shared::{FailureHook, Shared, Sources};
use super::source::EventFilter;
use super::{
    BuildError, Controller, ControllerError, ControllerPhase, Enqueuer, Failure, IntoWatch, Owner, Owners,
    Reconciler, RequestKey, Running, Source, Unfinished,
};
use crate::metrics::Metrics;
use crate::workqueue::{RateLimiter, Rules, WorkQueue, WorkQueueBuilder};

/// How long a controller waits for what it listens to, unless it is said otherwise.
pub const DEFAULT_SYNC_TIMEOUT: Duration = Duration::from_secs(120);

/// How long reconciles may take to end when the controller stops, unless it is said otherwise.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// Settings for a controller; see [`Controller::builder`].
#[must_use = "a builder does nothing until `build` or `run`"]
pub struct ControllerBuilder<R: RequestKey> {
    name: String,
    owner: Option<Owner>,
    for_kinds: usize,
    /// What is owned, before it is known by whom.
    owned: Vec<Owned<R>>,
    sources: Vec<Source<R>>,
    filters: Vec<EventFilter>,
    queue: WorkQueueBuilder<R>,
    rules: Rules,
    concurrency: usize,
    timeout: Option<Duration>,
    recover_panics: bool,
    on_error: Option<FailureHook<R>>,
    sync_timeout: Duration,
    grace: Duration,
    needs_leader: bool,
    warms_up: bool,
    metrics: Option<Metrics>,
}

struct Owned<R: RequestKey> {
    name: String,
    source: Box<dyn FnOnce(Owner) -> Source<R> + Send>,
}

impl ControllerBuilder<ObjectName> {
    /// The kind that the controller is for: requests are the names of its objects.
    pub fn for_<W>(self, watch: W) -> Self
    where
        W: IntoWatch<Kind: Resource<DynamicType = (), Scope: 'static>>,
    {
        self.for_kind(watch, Owner::of::<W::Kind>())
    }

    /// The kind that the controller is for, where the type alone does not say which it is.
    pub fn for_kind(mut self, watch: impl IntoWatch, kind: Owner) -> Self {
        self.owner = Some(kind);
        self.for_kinds += 1;
        self.source(Source::objects(watch))
    }

    /// A kind whose objects are controlled by those that the controller is for: requests are the names of the owners.
    pub fn owns(self, watch: impl IntoWatch) -> Self {
        self.owns_by(watch, Owners::Controller)
    }

    /// A kind whose objects are owned by those that the controller is for, in one of several ways.
    pub fn owns_by(mut self, watch: impl IntoWatch, which: Owners) -> Self {
        let watch = watch.into_watch();
        let name = watch.informer.resource();
        let source = Box::new(move |owner| Source::owners(watch, owner, which));
        self.owned.push(Owned { name, source });
        self
    }
}

impl<R: RequestKey> ControllerBuilder<R> {
    /// Settings for a controller with requests of any type.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            owner: None,
            for_kinds: 0,
            owned: Vec::new(),
            sources: Vec::new(),
            filters: Vec::new(),
            queue: WorkQueue::builder(),
            rules: Rules::Merged,
            concurrency: 1,
            timeout: None,
            recover_panics: true,
            on_error: None,
            sync_timeout: DEFAULT_SYNC_TIMEOUT,
            grace: DEFAULT_GRACE,
            needs_leader: true,
            warms_up: false,
            metrics: None,
        }
    }

    /// Another kind, and what requests its objects stand for. Of a change the function is asked for both sides; the same
    /// request is added once.
    pub fn watches<W, I>(self, watch: W, map: impl Fn(&Object<W::Kind>) -> I + Send + Sync + 'static) -> Self
    where
        W: IntoWatch,
        I: IntoIterator<Item = R>,
    {
        self.source(Source::mapped(watch, map))
    }

    /// Another kind, and a function that adds requests itself: with delays, with priorities, or not at all.
    pub fn handles<W: IntoWatch>(
        self,
        watch: W,
        handle: impl Fn(&Event<W::Kind>, &Enqueuer<R>) + Send + Sync + 'static,
    ) -> Self {
        self.source(Source::handled(watch, handle))
    }

    /// Requests from a stream; see [`Source::stream`].
    pub fn stream(self, name: impl Into<String>, requests: impl Stream<Item = R> + Send + 'static) -> Self {
        self.source(Source::stream(name, requests))
    }

    /// Requests from a channel; see [`Source::channel`].
    pub fn channel(self, name: impl Into<String>, requests: mpsc::Receiver<R>) -> Self {
        self.source(Source::channel(name, requests))
    }

    /// Requests from a function; see [`Source::func`].
    pub fn func<F, Fut>(self, name: impl Into<String>, function: F) -> Self
    where
        F: FnOnce(Enqueuer<R>, Running) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        self.source(Source::func(name, function))
    }

    /// Requests from a source.
    pub fn source(mut self, source: Source<R>) -> Self {
        self.sources.push(source);
        self
    }

    /// Events of whatever kind that the function refuses do not matter.
    pub fn filter_all(mut self, accepts: impl Fn(&AnyEvent) -> bool + Send + Sync + 'static) -> Self {
        self.filters.push(Arc::new(accepts));
        self
    }

    /// How many requests are reconciled at a time; 1 by default. The same request never is.
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.concurrency = workers;
        self
    }

    /// How long a request waits after a failure. By default 5 ms, doubled with each failure up to 1000 s; with
    /// [`priority_queue(false)`](Self::priority_queue) also no more than 10 requests a second over all.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<R> + 'static) -> Self {
        self.queue = self.queue.rate_limiter(limiter);
        self
    }

    /// Whether what is there from the start, and what is told again though it has not changed, comes after what has
    /// changed; true by default. Without it the queue follows client-go's [rules](Rules::Layered).
    pub fn priority_queue(mut self, on: bool) -> Self {
        self.rules = if on { Rules::Merged } else { Rules::Layered };
        self
    }

    /// A reconcile that takes longer is cut off and counts as a failure. By default it may take for ever.
    pub fn reconcile_timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Whether a reconcile that panics counts as a failure; true by default. Else the panic goes on where the controller
    /// runs.
    pub fn recover_panics(mut self, recover: bool) -> Self {
        self.recover_panics = recover;
        self
    }

    /// Is called with every failure. Failures are counted and tried again without it.
    pub fn on_error(mut self, hook: impl Fn(&Failure<'_, R>) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(hook));
        self
    }

    /// How long the controller waits for what it listens to; [`DEFAULT_SYNC_TIMEOUT`] by default.
    pub fn sync_timeout(mut self, limit: Duration) -> Self {
        self.sync_timeout = limit;
        self
    }

    /// How long reconciles may take to end when the controller stops; [`DEFAULT_GRACE`] by default.
    pub fn grace(mut self, limit: Duration) -> Self {
        self.grace = limit;
        self
    }

    /// Whether the controller must only run where one is the leader; true by default.
    pub fn needs_leader(mut self, needs: bool) -> Self {
        self.needs_leader = needs;
        self
    }

    /// Whether the controller listens before it may work, so that it is quick when it may; false by default.
    pub fn warms_up(mut self, warms_up: bool) -> Self {
        self.warms_up = warms_up;
        self
    }

    /// Shows the controller and its queue to Prometheus.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self
    }

    /// The controller, which [runs](Controller::run) later.
    pub fn build(self, reconciler: impl Reconciler<R>) -> Result<Controller<R>, BuildError> {
        let controller = self.name.clone();
        if self.name.is_empty() {
            return Err(BuildError::NoName);
        }
        if self.for_kinds > 1 {
            return Err(BuildError::TwoKinds { controller });
        }
        if self.concurrency == 0 {
            return Err(BuildError::NoWorkers { controller });
        }
        let mut sources = self.sources;
        for Owned { name, source } in self.owned {
            let Some(owner) = self.owner.clone() else {
                return Err(BuildError::NoOwner { controller, owned: name });
            };
            sources.push(source(owner));
        }
        if sources.is_empty() {
            return Err(BuildError::NoSource { controller });
        }
        let mut queue = self.queue.name(&self.name).of_controller().rules(self.rules);
        let figures = Arc::new(Figures::new(self.concurrency));
        if let Some(metrics) = &self.metrics {
            queue = queue.metrics(metrics);
            metrics.add_controller(&self.name, Arc::downgrade(&figures));
        }
        let shared = Shared {
            name: self.name.into(),
            queue: queue.build(),
            rules: self.rules,
            reconciler: Box::new(reconciler),
            filters: self.filters.into(),
            timeout: self.timeout,
            recover_panics: self.recover_panics,
            on_error: self.on_error,
            figures,
            sources: Mutex::new(Sources {
                phase: ControllerPhase::Created,
                waiting: sources,
                started: Vec::new(),
            }),
            changed: Notify::new(),
            active: Mutex::new(BTreeMap::new()),
            last_failure: Mutex::new(None),
            unfinished: Mutex::new(Unfinished { dropped: Vec::new(), cut_off: Vec::new() }),
            stop: CancellationToken::new(),
            leader: OnceLock::new(),
        };
        Ok(Controller {
            shared: Arc::new(shared),
            concurrency: self.concurrency,
            sync_timeout: self.sync_timeout,
            grace: self.grace,
            needs_leader: self.needs_leader,
            warms_up: self.warms_up,
        })
    }

    /// Builds the controller and [runs](Controller::run) it.
    pub async fn run(
        self,
        stop: CancellationToken,
        reconciler: impl Reconciler<R>,
    ) -> Result<(), ControllerError> {
        self.build(reconciler)?.run(stop).await
    }
}

impl<R: RequestKey> fmt::Debug for ControllerBuilder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerBuilder")
            .field("name", &self.name)
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}
