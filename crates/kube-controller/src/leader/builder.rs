//! Settings for an elector.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube_client::Client;

use super::attempt::{Candidate, Hooks};
use super::lock::Lock;
use super::news::News;
use super::record::Record;
use super::timing::Timing;
use super::{ConfigError, ElectionError, LeaderElector, Shared};
use crate::clock::Clock;
use crate::events::EventRecorder;
use crate::metrics::Metrics;
use crate::random::Random;

/// Settings for an elector; see [`LeaderElector::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct LeaderElectorBuilder {
    client: Client,
    namespace: String,
    name: String,
    identity: String,
    labels: BTreeMap<String, String>,
    timing: Timing,
    release_on_cancel: bool,
    coordinated: bool,
    hooks: Hooks,
    clock: Option<Clock>,
    seed: Option<u64>,
    metrics: Option<Metrics>,
    events: Option<EventRecorder>,
}

impl LeaderElectorBuilder {
    pub(super) fn new(client: Client, namespace: String, name: String) -> Self {
        Self {
            client,
            namespace,
            name,
            identity: String::new(),
            labels: BTreeMap::new(),
            timing: Timing::default(),
            release_on_cancel: false,
            coordinated: false,
            hooks: Hooks::default(),
            clock: None,
            seed: None,
            metrics: None,
            events: None,
        }
    }

    /// What this candidate is called. Must be given, and no two candidates may have the same: the name of the pod does, or
    /// the host's with something random.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = identity.into();
        self
    }

    /// A label for the lease; may be called several times.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// How long a lease that is not renewed is respected; 15 seconds by default. Leases count whole seconds: a fraction is
    /// rounded up for the others.
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.timing.lease_duration = duration;
        self
    }

    /// How long a leader goes on that cannot renew its lease; 10 seconds by default.
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.timing.renew_deadline = deadline;
        self
    }

    /// How long to wait between tries; 2 seconds by default.
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.timing.retry_period = period;
        self
    }

    /// Whether the lease is given away when the work has ended or the elector was told to stop, so that others need not
    /// wait until it is over. Off by default, as in client-go; it is safe here, because the work has ended by then.
    pub fn release_on_cancel(mut self, release: bool) -> Self {
        self.release_on_cancel = release;
        self
    }

    /// Whether a coordinator decides who leads, which is a part of some API servers. The lease is never made or taken then,
    /// only renewed when it was given to this candidate, and not even that when somebody else shall have it next. The
    /// identity must be the name of a [`LeaseCandidate`](super::LeaseCandidate), which has to run too. Off by default.
    ///
    /// The coordinator goes by the time of day in the lease, and not by a clock of its own: the times of day of both
    /// machines must not differ by more than what is between the renew deadline and the lease duration.
    pub fn coordinated(mut self, coordinated: bool) -> Self {
        self.coordinated = coordinated;
        self
    }

    /// Called when another candidate, or this one, is seen to lead. Must not block.
    pub fn on_new_leader(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.hooks.on_new_leader = Some(Box::new(hook));
        self
    }

    /// Called at the end of every [run](LeaderElector::run), as client-go's `OnStoppedLeading`: also of one that has never
    /// led. Other than there, the work has ended by then, and the lease is given away if it is to be. Must not block.
    pub fn on_stopped(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.on_stopped = Some(Box::new(hook));
        self
    }

    /// Called with each try that failed. Must not block.
    pub fn on_error(mut self, hook: impl Fn(&ElectionError) + Send + Sync + 'static) -> Self {
        self.hooks.on_error = Some(Box::new(hook));
        self
    }

    /// The time of day that is written into the lease. Nothing is decided by it.
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Some(Clock::new(now));
        self
    }

    /// Where the random part of waits comes from; by default the identity.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Shows the elector to Prometheus, under the name of the lease.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self
    }

    /// Records events about the lease: who leads, and who does not any more.
    pub fn events(mut self, recorder: &EventRecorder) -> Self {
        self.events = Some(recorder.clone());
        self
    }

    /// The elector, or what is wrong with the settings.
    pub fn build(self) -> Result<LeaderElector, ConfigError> {
        let named = [("namespace", &self.namespace), ("name", &self.name), ("identity", &self.identity)];
        if let Some((what, _)) = named.into_iter().find(|(_, value)| value.is_empty()) {
            return Err(ConfigError::Empty(what));
        }
        let timing = self.timing.validate()?;
        let shared = Arc::new(Shared::new(timing.lease_duration));
        if let Some(metrics) = &self.metrics {
            metrics.add_elector(&self.name, Arc::downgrade(&shared));
        }
        let random = Random::new(self.seed.unwrap_or_else(|| Random::seed_of(&self.identity)));
        let news =
            self.events.map(|recorder| News::new(recorder, &self.namespace, &self.name, &self.identity));
        let full_name = format!("{}/{}", self.namespace, self.name);
        let candidate = Candidate {
            lock: Lock::new(self.client, self.namespace, self.name, timing.request()),
            record: Record::new(self.identity, timing.lease_seconds(), self.labels),
            timing,
            clock: self.clock.unwrap_or_else(Clock::machine),
            shared,
            hooks: self.hooks,
            coordinated: self.coordinated,
            reported: None,
        };
        Ok(LeaderElector::new(candidate, random, full_name, self.release_on_cancel, news))
    }
}

impl fmt::Debug for LeaderElectorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElectorBuilder")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("identity", &self.identity)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}
