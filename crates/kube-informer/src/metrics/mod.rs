//! Figures about informers, for Prometheus.
//!
//! [`Metrics::register`] adds a collector to a registry, and informers are then
//! [built with it](crate::informer::InformerBuilder::metrics). Figures are read from the informers when they are asked
//! for: nothing is counted twice, and an informer that has stopped, or that nobody holds any more, leaves no series
//! behind. The first three names are client-go's.
//!
//! | name | what it says |
//! |---|---|
//! | `informer_queued_items` | changes that wait for the store |
//! | `informer_processing_latency_seconds` | how long it took to write changes to the store and hand them to listeners |
//! | `informer_store_resource_version` | the version up to which the copy is current (its last 15 digits) |
//! | `informer_objects` | objects in the copy |
//! | `informer_packed_bytes` | bytes as which packed objects rest; what rests decoded is not counted |
//! | `informer_synced` | 1 if the copy has been complete |
//! | `informer_received_bytes_total` | bytes that have arrived from the server |
//! | `informer_seconds_since_last_byte` | how long nothing has arrived |
//! | `informer_changes_total` | changes after the first list |
//! | `informer_errors_total` | errors while following |
//! | `informer_relists_total` | how often everything was asked for again, by `reason` |
//! | `informer_watch_restarts_total` | how often a watch was opened anew, by `reason` |
//! | `informer_quarantined_objects` | objects that cannot be decoded |
//! | `informer_index_panics_total` | panics of the function, by `index` |
//! | `informer_handler_pending_events` | events that wait, by `handler` |
//! | `informer_handler_oldest_pending_seconds` | how long the first of them has waited, by `handler` |
//! | `informer_handler_events_total` | events that were told, by `handler` |
//! | `informer_handler_coalesced_events_total` | events that were merged because too many waited, by `handler` |
//! | `informer_handler_panics_total` | panics, by `handler` |
//!
//! Every series has the labels `name`, `group`, `version` and `resource`. Two informers of one name are told apart by a
//! number after it.

mod collect;

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::informer::InformerStatus;
use crate::source::Scope;

/// The upper bounds of the latency's buckets, in seconds.
const LATENCY_BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// Shows informers to a Prometheus registry. Clones are the same.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{Metrics, SharedInformerFactory};
/// use prometheus_client::registry::Registry;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # let client = server.client()?;
/// let mut registry = Registry::default();
/// let metrics = Metrics::register(&mut registry);
/// let factory = SharedInformerFactory::builder(client).metrics(&metrics).build();
/// let pods = factory.of::<Pod>()?;
/// factory.start();
/// factory.wait_for_cache_sync().await?;
///
/// let mut page = String::new();
/// prometheus_client::encoding::text::encode(&mut page, &registry)?;
/// assert!(page.contains(r#"informer_synced{name="pods",group="",version="v1",resource="pods"} 1"#));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    shown: Arc<Shown>,
}

#[derive(Default)]
struct Shown {
    informers: Mutex<Vec<Entry>>,
}

struct Entry {
    /// The `name` label.
    name: String,
    informer: Weak<dyn Observed>,
}

/// Something to be shown.
pub(crate) trait Observed: Send + Sync {
    /// It is still to be shown: it has not been stopped, or has stopped because something panicked.
    fn is_shown(&self) -> bool;

    /// How it is doing; none if it is not to be shown any more.
    fn observe(&self) -> Option<Observation>;

    /// What it is an informer of, and how it is doing; none if it is not to be shown any more.
    fn shown(&self) -> Option<(String, InformerStatus)>;
}

/// An informer that is shown, and how it is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShownInformer {
    /// Its `name` label.
    pub name: String,
    /// What it is an informer of: `deployments.apps`.
    pub resource: String,
    /// How it is doing.
    pub status: InformerStatus,
}

/// How an informer is doing, at the moment of the question.
pub(crate) struct Observation {
    pub(crate) scope: Scope,
    pub(crate) status: InformerStatus,
    pub(crate) packed_bytes: usize,
    pub(crate) latency: Histogram,
}

impl Metrics {
    /// Adds all informers that are built with the result to a registry.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register_collector(Box::new(metrics.clone()));
        metrics
    }

    /// The informers that are shown now, for pages of a program and checks of its health. One that has stopped because a
    /// function of the program panicked is among them, though it has no series, for as long as the program holds it.
    pub fn informers(&self) -> Vec<ShownInformer> {
        let informers: Vec<_> = {
            let entries = self.shown.informers.lock();
            entries.iter().filter_map(|entry| Some((entry.name.clone(), entry.informer.upgrade()?))).collect()
        };
        let shown = informers.into_iter().filter_map(|(name, informer)| {
            let (resource, status) = informer.shown()?;
            Some(ShownInformer { name, resource, status })
        });
        shown.collect()
    }

    /// Shows an informer from now on, for as long as it is there.
    pub(crate) fn add(&self, name: &str, informer: Weak<dyn Observed>) {
        let mut informers = self.shown.informers.lock();
        informers.retain(|entry| entry.informer.upgrade().is_some_and(|informer| informer.is_shown()));
        let taken = |name: &str| informers.iter().any(|entry| entry.name == name);
        let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
        let name = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name));
        informers.push(Entry { name: name.unwrap_or_default(), informer });
    }
}

/// What the latency of an informer is measured with.
pub(crate) fn latency() -> Histogram {
    Histogram::new(LATENCY_BUCKETS)
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.informers.lock().iter().map(|entry| entry.name.clone()).collect();
        f.debug_tuple("Shown").field(&names).finish()
    }
}
