//! Settings for a manager.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use tokio::sync::mpsc;

use super::groups::Hub;
use super::health::informers_have_synced;
use super::hosts::Hosts;
use super::http::{Answer, Page, PageRequest, Server};
use super::tls::{Reads, Secure, TlsFiles};
use super::{BuildError, HealthChecks, Manager, ManagerHandle, MetricsAccess, Unhealthy, debug};
use crate::leader::LeaderElectorBuilder;
use crate::metrics::Metrics;

/// How long everything has to end, unless it is said otherwise.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// How long caches have to sync, unless it is said otherwise.
pub const DEFAULT_CACHE_SYNC_TIMEOUT: Duration = Duration::from_secs(120);

/// A leader is unhealthy that still works so long after its lease was over.
const ELECTION_TOLERANCE: Duration = Duration::from_secs(20);

const HEALTH: &str = "health";

const METRICS: &str = "metrics";

/// What OpenMetrics is called on the wire.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Settings for a manager; made by [`Manager::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct ManagerBuilder {
    registry: Registry,
    metrics: Metrics,
    informer_metrics: kube_informer::Metrics,
    election: Option<LeaderElectorBuilder>,
    grace: Option<Duration>,
    cache_sync_timeout: Duration,
    health_address: Option<SocketAddr>,
    metrics_address: Option<SocketAddr>,
    debug_address: Option<SocketAddr>,
    debug_hosts: Vec<String>,
    access: Option<MetricsAccess>,
    health_tls: Option<TlsFiles>,
    metrics_tls: Option<TlsFiles>,
}

impl ManagerBuilder {
    pub(super) fn new() -> Self {
        let mut registry = Registry::default();
        Self {
            metrics: Metrics::register(&mut registry),
            informer_metrics: kube_informer::Metrics::register(&mut registry),
            registry,
            election: None,
            grace: Some(DEFAULT_GRACE),
            cache_sync_timeout: DEFAULT_CACHE_SYNC_TIMEOUT,
            health_address: None,
            metrics_address: None,
            debug_address: None,
            debug_hosts: Vec::new(),
            access: None,
            health_tls: None,
            metrics_tls: None,
        }
    }

    /// Asks for leadership before it runs what only a leader may do. Without this it runs that at once.
    pub fn leader_election(mut self, election: LeaderElectorBuilder) -> Self {
        self.election = Some(election);
        self
    }

    /// How long everything has to end when the manager stops; 30 seconds by default. With zero nothing is waited for.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Waits until everything has ended, however long that takes.
    pub fn unlimited_grace(mut self) -> Self {
        self.grace = None;
        self
    }

    /// How long each group has to be ready, which is for caches to sync; 2 minutes by default. What cannot sync fails
    /// at once.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.cache_sync_timeout = timeout;
        self
    }

    /// Serves `/healthz` and `/readyz` there. With port 0 a free one is taken.
    pub fn health_address(mut self, address: SocketAddr) -> Self {
        self.health_address = Some(address);
        self
    }

    /// Serves `/metrics` there. With port 0 a free one is taken.
    pub fn metrics_address(mut self, address: SocketAddr) -> Self {
        self.metrics_address = Some(address);
        self
    }

    /// Serves `/healthz` and `/readyz` over TLS only. Probes need `scheme: HTTPS` then.
    #[cfg(feature = "tls")]
    pub fn health_tls(mut self, files: TlsFiles) -> Self {
        self.health_tls = Some(files);
        self
    }

    /// Serves `/metrics` over TLS only.
    #[cfg(feature = "tls")]
    pub fn metrics_tls(mut self, files: TlsFiles) -> Self {
        self.metrics_tls = Some(files);
        self
    }

    /// Who may see the metrics; everybody if it is not said.
    pub fn metrics_access(mut self, access: MetricsAccess) -> Self {
        self.access = Some(access);
        self
    }

    /// Serves `/debug/informers` and `/debug/queues` there, which must be a loopback address. With port 0 a free one is
    /// taken.
    pub fn debug_address(mut self, address: SocketAddr) -> Self {
        self.debug_address = Some(address);
        self
    }

    /// Names, without a port, under which the debug pages may be asked for besides `localhost` and IP addresses: that of a
    /// proxy, say. A request whose `Host` is anything else is refused with 421, since a web page may have pointed its own name
    /// here. Health and metrics are for other machines, and are shown under any name.
    pub fn debug_hosts(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.debug_hosts.extend(names.into_iter().map(Into::into));
        self
    }

    /// Where queues, electors and requests are shown, for what is built before the manager: clients, mostly.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Shows other figures beside those of the manager.
    pub fn register(mut self, register: impl FnOnce(&mut Registry)) -> Self {
        register(&mut self.registry);
        self
    }

    /// The manager. Takes the ports, and starts nothing.
    pub async fn build(mut self) -> Result<Manager, BuildError> {
        let (healthz, readyz) = (HealthChecks::default(), HealthChecks::default());
        healthz.add("ping", || Ok(()));
        readyz.add("ping", || Ok(()));
        let (sender, failures) = mpsc::unbounded_channel();
        let handle = ManagerHandle { hub: Arc::new(Hub::new(sender)) };
        // Not for longer than there is a manager: what it holds may hold these checks.
        let (informers, hub) = (self.informer_metrics.clone(), Arc::downgrade(&handle.hub));
        readyz.add("informer-sync", move || {
            hub.upgrade().map_or(Ok(()), |hub| informers_have_synced(&informers, &hub))
        });
        let elector = match self.election.take() {
            Some(election) => Some(election.metrics(&self.metrics).build()?),
            None => None,
        };
        if let Some(elector) = &elector {
            let check = elector.health_check(ELECTION_TOLERANCE);
            healthz.add("leader-election", move || check.check().map_err(|why| Unhealthy(why.to_string())));
        }
        if let Some(address) = self.debug_address.filter(|address| !address.ip().is_loopback()) {
            return Err(BuildError::NotLoopback(address));
        }
        let [health_tls, metrics_tls] = self.secured().await?;

        let health = health_pages(healthz.clone(), readyz.clone());
        let figures = metrics_pages(self.registry, self.access);
        let hosts = Hosts::new(&self.debug_hosts);
        let debug = debug_pages(hosts, self.informer_metrics.clone(), self.metrics.clone());
        let mut addresses = [None; 3];
        let all = [
            (HEALTH, self.health_address, health, health_tls),
            (METRICS, self.metrics_address, figures, metrics_tls),
            ("debug pages", self.debug_address, debug, None),
        ];
        for (number, (what, address, answer, secure)) in all.into_iter().enumerate() {
            if let Some(address) = address {
                let (server, bound) = Server::bind(what, address, answer, secure).await?;
                addresses[number] = Some(bound);
                // Refused only by a manager that stops.
                let _ = handle.add(server);
            }
        }
        Ok(Manager {
            handle,
            failures,
            elector,
            grace: self.grace,
            cache_sync_timeout: self.cache_sync_timeout,
            metrics: self.metrics,
            informer_metrics: self.informer_metrics,
            healthz,
            readyz,
            addresses,
        })
    }

    /// Reads the certificates for health and for metrics, where they are wanted.
    async fn secured(&mut self) -> Result<[Option<Secure>; 2], BuildError> {
        let files = [(HEALTH, self.health_tls.take()), (METRICS, self.metrics_tls.take())];
        let mut secured = [None, None];
        if files.iter().all(|(_, files)| files.is_none()) {
            return Ok(secured);
        }
        let reads = Reads::register(&mut self.registry);
        for (number, (what, files)) in files.into_iter().enumerate() {
            if let Some(files) = files {
                secured[number] = Some(Secure::new(what, files, reads.clone()).await?);
            }
        }
        Ok(secured)
    }
}

fn health_pages(healthz: HealthChecks, readyz: HealthChecks) -> Answer {
    answer(move |request| {
        let mut parts = request.path.trim_matches('/').splitn(2, '/');
        let (first, check) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        match first {
            "healthz" | "livez" => healthz.page(first, check, &request.query),
            "readyz" => readyz.page(first, check, &request.query),
            _ => Page::not_found(),
        }
    })
}

fn debug_pages(hosts: Hosts, informers: kube_informer::Metrics, queues: Metrics) -> Answer {
    answer(move |request| {
        hosts.refuse(&request).unwrap_or_else(|| debug::page(&request.path, &informers, &queues))
    })
}

fn metrics_pages(registry: Registry, access: Option<MetricsAccess>) -> Answer {
    let registry = Arc::new(registry);
    Arc::new(move |request: PageRequest| {
        let (registry, access) = (Arc::clone(&registry), access.clone());
        Box::pin(async move {
            if request.path != "/metrics" {
                return Page::not_found();
            }
            if let Some(access) = access
                && let Some(refusal) = access.refuse(&request.headers, &request.path).await
            {
                return refusal;
            }
            let mut text = String::new();
            match prometheus_client::encoding::text::encode(&mut text, &registry) {
                Ok(()) => Page { content_type: OPEN_METRICS, ..Page::text(200, text) },
                Err(_) => Page::text(500, "the metrics could not be written\n".to_owned()),
            }
        })
    })
}

/// An answer that is there at once.
fn answer(page: impl Fn(PageRequest) -> Page + Send + Sync + 'static) -> Answer {
    Arc::new(move |request| Box::pin(std::future::ready(page(request))))
}

impl fmt::Debug for ManagerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerBuilder")
            .field("election", &self.election)
            .field("grace", &self.grace)
            .field("health_address", &self.health_address)
            .field("metrics_address", &self.metrics_address)
            .field("debug_address", &self.debug_address)
            .finish_non_exhaustive()
    }
}
