//! Somebody whom a coordinator may choose.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use futures::stream;
use k8s_openapi::api::coordination::v1beta1::LeaseCandidateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube_client::Client;
use kube_client::api::{Api, PostParams};
use kube_core::{NamespaceResourceScope, Resource};
use kube_informer::SharedInformer;
use kube_informer::fanout::Event;
use kube_informer::object::ObjectName;
use kube_informer::source::KubeSource;
use kube_informer::store::Store;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::ConfigError;
use super::attempt::Hook;
use crate::clock::Clock;
use crate::controller::{
    Action, Context, Controller, ControllerBuilder, ControllerError, Failure, ReconcileError, Reconciler,
    Watch,
};
use crate::manager::{Group, Runnable, Running};

/// How often a candidate says that it is there though nobody asks.
pub const CANDIDATE_RENEWAL: Duration = Duration::from_secs(5 * 60);

/// The strategy by which the candidate of the oldest emulation version leads: what is understood by all of them.
pub const OLDEST_EMULATION_VERSION: &str = "OldestEmulationVersion";

/// Says with an object of kind `LeaseCandidate` that somebody is there who could hold a lease: makes it, answers when the
/// coordinator asks whether it is still there, and says so every five minutes even if it does not. If somebody deletes the
/// object, it is made again.
///
/// It has to run beside a [coordinated](super::LeaderElectorBuilder::coordinated) elector whose identity is its name.
///
/// ```
/// use kube_controller::leader::{LeaderElector, LeaseCandidate};
/// use kube_controller::manager::Manager;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # let client = server.client()?;
/// let me = "my-pod-7d4b9";
/// let candidate = LeaseCandidate::builder(client.clone(), "default", me, "my-controller")
///     .binary_version("1.4.0")
///     .emulation_version("1.3.0")
///     .build()?;
/// let election = LeaderElector::builder(client, "default", "my-controller").identity(me).coordinated(true);
/// let manager = Manager::builder().leader_election(election).build().await?;
/// manager.add(candidate)?;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[must_use = "a candidate does nothing until it runs"]
pub struct LeaseCandidate {
    informer: SharedInformer<Written>,
    controller: ControllerBuilder<ObjectName>,
    keeper: Keeper,
}

/// Settings for a candidate; see [`LeaseCandidate::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct LeaseCandidateBuilder {
    client: Client,
    namespace: String,
    name: String,
    lease: String,
    binary_version: String,
    emulation_version: String,
    strategy: String,
    clock: Option<Clock>,
    on_error: Hook<ReconcileError>,
}

impl LeaseCandidate {
    /// Settings for a candidate of this name for a lease in the same namespace.
    pub fn builder(
        client: Client,
        namespace: impl Into<String>,
        name: impl Into<String>,
        lease: impl Into<String>,
    ) -> LeaseCandidateBuilder {
        LeaseCandidateBuilder {
            client,
            namespace: namespace.into(),
            name: name.into(),
            lease: lease.into(),
            binary_version: String::new(),
            emulation_version: String::new(),
            strategy: OLDEST_EMULATION_VERSION.to_owned(),
            clock: None,
            on_error: None,
        }
    }

    /// Is a candidate until `stop` is cancelled. The object stays, and is removed by the coordinator when it is old.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ControllerError> {
        let outcome = self.controller.run(stop, self.keeper).await;
        self.informer.shutdown().await;
        outcome
    }
}

/// Runs whether this process leads or not.
impl Runnable for LeaseCandidate {
    fn name(&self) -> String {
        "lease candidate".to_owned()
    }

    fn group(&self) -> Group {
        Group::Others
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> Running<'static> {
        Box::pin(async move { Ok(LeaseCandidate::run(*self, stop).await?) })
    }
}

impl LeaseCandidateBuilder {
    /// The version of this program, `1.37.0`. Must be given.
    pub fn binary_version(mut self, version: impl Into<String>) -> Self {
        self.binary_version = version.into();
        self
    }

    /// The version that it behaves like; that of the program if it is not said.
    pub fn emulation_version(mut self, version: impl Into<String>) -> Self {
        self.emulation_version = version.into();
        self
    }

    /// How the coordinator chooses; [`OLDEST_EMULATION_VERSION`] by default.
    pub fn strategy(mut self, strategy: impl Into<String>) -> Self {
        self.strategy = strategy.into();
        self
    }

    /// The time of day that is written into the object.
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Some(Clock::new(now));
        self
    }

    /// Called with each write that failed, and will be tried again. Must not block.
    pub fn on_error(mut self, hook: impl Fn(&ReconcileError) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Box::new(hook));
        self
    }

    /// The candidate, or what is wrong with the settings.
    pub fn build(self) -> Result<LeaseCandidate, ConfigError> {
        let named = [
            ("namespace", &self.namespace),
            ("name of a candidate", &self.name),
            ("name", &self.lease),
            ("binary version", &self.binary_version),
            ("strategy", &self.strategy),
        ];
        if let Some((what, _)) = named.into_iter().find(|(_, value)| value.is_empty()) {
            return Err(ConfigError::Empty(what));
        }
        let source = KubeSource::namespaced(self.client.clone(), &self.namespace, &())
            .fields(format!("metadata.name={}", self.name));
        let informer = SharedInformer::builder(source).name("leasecandidates").build();
        let me = ObjectName::new(&self.namespace, &self.name);
        let emulated = if self.emulation_version.is_empty() {
            self.binary_version.clone()
        } else {
            self.emulation_version
        };
        let keeper = Keeper {
            api: Api::namespaced(self.client, &self.namespace),
            store: informer.store().clone(),
            clock: self.clock.unwrap_or_else(Clock::machine),
            first: Written {
                metadata: ObjectMeta {
                    name: Some(self.name),
                    namespace: Some(self.namespace),
                    ..ObjectMeta::default()
                },
                spec: LeaseCandidateSpec {
                    lease_name: self.lease,
                    binary_version: self.binary_version,
                    emulation_version: Some(emulated),
                    strategy: self.strategy,
                    ..LeaseCandidateSpec::default()
                },
                ..Written::default()
            },
        };
        let mut controller = Controller::builder("leasecandidate")
            .for_(Watch::new(&informer).filter_events(is_news))
            // There is something to do though nothing is there.
            .stream("itself", stream::once(std::future::ready(me)));
        if let Some(hook) = self.on_error {
            controller = controller.on_error(move |failure: &Failure<'_, ObjectName>| hook(failure.error));
        }
        Ok(LeaseCandidate { informer, controller, keeper })
    }
}

/// Somebody asks whether we are there, or thinks that we are not.
fn is_news(event: &Event<Written>) -> bool {
    match event {
        Event::Updated { new, .. } => is_asked(new),
        Event::Deleted(_) => true,
        _ => false,
    }
}

/// The coordinator has asked since the candidate last said that it is there.
fn is_asked(candidate: &Written) -> bool {
    let LeaseCandidateSpec { ping_time, renew_time, .. } = &candidate.spec;
    let Some(asked) = ping_time else { return false };
    renew_time.as_ref().is_none_or(|answered| answered.0 < asked.0)
}

/// The object. Versions of k8s-openapi differ in whether its spec may be absent.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    spec: LeaseCandidateSpec,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            api_version: Self::api_version(&()).into_owned(),
            kind: Self::kind(&()).into_owned(),
            metadata: ObjectMeta::default(),
            spec: LeaseCandidateSpec::default(),
        }
    }
}

impl Resource for Written {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "LeaseCandidate".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "coordination.k8s.io".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1beta1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "leasecandidates".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Keeps the object.
struct Keeper {
    api: Api<Written>,
    store: Store<Written>,
    clock: Clock,
    /// As it is made.
    first: Written,
}

impl Reconciler<ObjectName> for Keeper {
    async fn reconcile(&self, me: ObjectName, _: Context) -> Result<Action, ReconcileError> {
        let params = PostParams::default();
        match self.store.get(&me.namespace, &me.name) {
            None => self.api.create(&params, &self.renewed(&self.first)).await?,
            // With the version that was looked at: if it is old, there will be another try.
            Some(known) => self.api.replace(&me.name, &params, &self.renewed(&known)).await?,
        };
        Ok(Action::requeue_after(CANDIDATE_RENEWAL))
    }
}

impl Keeper {
    fn renewed(&self, candidate: &Written) -> Written {
        let mut candidate = candidate.clone();
        let spec = &mut candidate.spec;
        let asked = spec.ping_time.as_ref().map(|asked| asked.0);
        // A coordinator whose clock is ahead has its answer too, and does not ask for ever.
        spec.renew_time = Some(MicroTime(asked.unwrap_or(Timestamp::MIN).max(self.clock.now())));
        candidate
    }
}

impl fmt::Debug for LeaseCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseCandidate").field("controller", &self.controller).finish_non_exhaustive()
    }
}

impl fmt::Debug for LeaseCandidateBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseCandidateBuilder")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
