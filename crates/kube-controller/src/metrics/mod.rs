//! Figures about queues, elections and controllers, for Prometheus.
//!
//! [`Metrics::register`] adds a collector to a registry; queues and electors are then built with it. Figures are read
//! from them when they are asked for, and what nobody holds any more leaves no series behind. The names are client-go's
//! and, of controllers, controller-runtime's.
//!
//! | name | what it says |
//! |---|---|
//! | `workqueue_depth` | keys that wait; by `priority` too where a queue merges delays ([`Rules::Merged`](crate::workqueue::Rules)) |
//! | `workqueue_adds_total` | keys that were added, those that waited already not counted |
//! | `workqueue_queue_duration_seconds` | how long keys have waited |
//! | `workqueue_work_duration_seconds` | how long it took to work on them |
//! | `workqueue_unfinished_work_seconds` | how long the work that is not done yet has taken so far, together |
//! | `workqueue_longest_running_processor_seconds` | the same of the one that takes longest |
//! | `workqueue_retries_total` | adds with a delay |
//! | `leader_election_master_status` | 1 for a leader, 0 for others |
//! | `leader_election_slowpath_total` | renewals that had to read the lease first |
//! | `rest_client_requests_total` | requests to API servers, by `code`, `method` and `host`; those of clients with [`Metrics::requests`] |
//! | `controller_runtime_reconcile_total` | reconciles, by `result`: `success`, `error`, `requeue`, `requeue_after` |
//! | `controller_runtime_reconcile_errors_total` | reconciles that failed, however they did |
//! | `controller_runtime_terminal_reconcile_errors_total` | those of them that are not tried again |
//! | `controller_runtime_reconcile_panics_total` | those of them that panicked |
//! | `controller_runtime_reconcile_timeouts_total` | those of them that took too long |
//! | `controller_runtime_reconcile_time_seconds` | how long reconciles took |
//! | `controller_runtime_max_concurrent_reconciles` | how many there can be at a time |
//! | `controller_runtime_active_workers` | how many there are now |
//!
//! Every series of a queue or an elector has the label `name`, those of a controller have the label `controller`, and those
//! of the queue of a controller have both. Two of one name are told apart by a number after it.
//!
//! What controller-runtime shows only if it is asked to, of requests (their durations and sizes), and what Go says of its
//! own runtime is not here. A request that is given up before it is answered is not counted.

mod collect;
mod controllers;
mod requests;

use std::sync::{Arc, Weak};
use std::time::Duration;

use http::Uri;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;

use crate::controller::Figures as Controller;
use crate::leader::Shared as Elector;
use crate::workqueue::Observed as ObservedQueue;

pub use requests::{CountRequests, Counted};

/// Shows queues and electors to a Prometheus registry. Clones are the same.
///
/// ```
/// use kube_controller::Metrics;
/// use kube_controller::workqueue::WorkQueue;
/// use prometheus_client::registry::Registry;
///
/// let mut registry = Registry::default();
/// let metrics = Metrics::register(&mut registry);
/// let queue = WorkQueue::builder().name("foos").metrics(&metrics).build();
/// queue.add("default/foo");
///
/// let mut page = String::new();
/// prometheus_client::encoding::text::encode(&mut page, &registry)?;
/// assert!(page.contains(r#"workqueue_depth{name="foos"} 1"#));
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    shown: Arc<Shown>,
}

/// A queue that is shown, and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatus {
    /// Its `name` label.
    pub name: String,
    /// Keys that wait.
    pub depth: usize,
    /// Keys that were added.
    pub adds: u64,
    /// Adds with a delay.
    pub retries: u64,
    /// How long the work that is not done yet has taken so far, together.
    pub unfinished: Duration,
    /// The same of the one that takes longest.
    pub longest: Duration,
}

#[derive(Default)]
struct Shown {
    queues: Mutex<Vec<Entry<dyn ObservedQueue>>>,
    electors: Mutex<Vec<Entry<Elector>>>,
    controllers: Mutex<Vec<Entry<Controller>>>,
    requests: Arc<requests::Requests>,
}

/// Something that is shown, under its `name` label.
struct Entry<S: ?Sized> {
    name: String,
    shown: Weak<S>,
}

impl Metrics {
    /// Adds all queues and electors that are built with the result to a registry.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register_collector(Box::new(metrics.clone()));
        metrics
    }

    /// A layer for a client of this server, which counts its requests. To be the outermost one: what a layer within it
    /// sends again is one request here.
    ///
    /// ```
    /// use kube_controller::Metrics;
    /// use kube_controller::kube_client::client::ClientBuilder;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::TestServer::start().await?;
    /// # let config = server.client_config();
    /// let metrics = Metrics::default(); // or that of a manager
    /// let requests = metrics.requests(&config.cluster_url);
    /// let client = ClientBuilder::try_from(config)?.with_layer(&requests).build();
    /// # drop(client);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn requests(&self, server: &Uri) -> CountRequests {
        CountRequests::new(&self.shown.requests, server)
    }

    /// The queues that are shown now, for pages of a program.
    pub fn queues(&self) -> Vec<QueueStatus> {
        let shown = living(&self.shown.queues).into_iter().map(|(name, queue)| {
            let seen = queue.observe();
            QueueStatus {
                name,
                depth: seen.depths.total(),
                adds: seen.adds,
                retries: seen.retries,
                unfinished: seen.unfinished,
                longest: seen.longest,
            }
        });
        shown.collect()
    }

    /// Shows a queue from now on, for as long as it is there.
    pub(crate) fn add_queue(&self, name: &str, queue: Weak<dyn ObservedQueue>) {
        add(&mut self.shown.queues.lock(), name, queue);
    }

    /// Shows an elector from now on, for as long as it is there.
    pub(crate) fn add_elector(&self, name: &str, elector: Weak<Elector>) {
        add(&mut self.shown.electors.lock(), name, elector);
    }
}

impl Metrics {
    /// Shows a controller from now on, for as long as it is there.
    pub(crate) fn add_controller(&self, name: &str, controller: Weak<Controller>) {
        add(&mut self.shown.controllers.lock(), name, controller);
    }
}

fn add<S: ?Sized>(entries: &mut Vec<Entry<S>>, name: &str, shown: Weak<S>) {
    entries.retain(|entry| entry.shown.strong_count() > 0);
    let taken = |name: &str| entries.iter().any(|entry| entry.name == name);
    let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
    let name = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name));
    entries.push(Entry { name: name.unwrap_or_default(), shown });
}

/// What is still there. The lock is not held while it is looked at.
fn living<S: ?Sized>(entries: &Mutex<Vec<Entry<S>>>) -> Vec<(String, Arc<S>)> {
    let entries = entries.lock();
    entries.iter().filter_map(|entry| Some((entry.name.clone(), entry.shown.upgrade()?))).collect()
}

fn names<S: ?Sized>(entries: &Mutex<Vec<Entry<S>>>) -> Vec<String> {
    entries.lock().iter().map(|entry| entry.name.clone()).collect()
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shown")
            .field("queues", &names(&self.queues))
            .field("electors", &names(&self.electors))
            .field("controllers", &names(&self.controllers))
            .finish()
    }
}
