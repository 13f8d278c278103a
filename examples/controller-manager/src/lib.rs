//! kube-controller-manager in the small: controllers that share one set of informers.
//!
//! | controller | what it does |
//! |---|---|
//! | [`deployment`] | makes replica sets of deployments: rolling update, recreate, revisions and their history |
//! | [`replicaset`] | makes pods of replica sets |
//! | [`garbage`] | deletes what nobody owns any more, and lets go what is to be orphaned |
//! | [`podgc`] | deletes pods that nobody will end: on nodes that are gone, or too many finished ones |
//! | [`ttl`] | deletes jobs some time after they have finished |
//!
//! They are written with plain handlers, a work queue and listers. [`registry`] has them by name.

pub mod deployment;
pub mod expectations;
pub mod garbage;
pub mod owners;
pub mod podgc;
pub mod pods;
pub mod replicaset;
pub mod ttl;
pub mod worker;

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::jiff::Timestamp;
use kube_controller::manager::ManagerHandle;
use kube_controller::registry::{ControllerContext, ControllerRegistry, RegistryError};
use kube_informer::factory::{FactoryBuilder, Typed};

/// What all controllers are told. Clones are the same.
#[derive(Clone)]
pub struct Options {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    report: Arc<dyn Fn(&str) + Send + Sync>,
    /// Who is asked whether this process leads, if anybody.
    leader: Option<ManagerHandle>,
}

impl Options {
    /// With this time of day.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(now), report: Arc::new(|_| {}), leader: None }
    }

    /// Tells this what went wrong and will be tried again.
    #[must_use]
    pub fn on_report(mut self, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.report = Arc::new(report);
        self
    }

    /// The time of day.
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// With the manager of those who build controllers.
    fn led_by(mut self, context: &ControllerContext) -> Self {
        self.leader.clone_from(&context.manager);
        self
    }

    fn report(&self, what: &str) {
        (self.report)(what);
    }
}

/// Makes the types known that controllers here use, so that those who ask for informers by resource share theirs.
pub fn known_kinds(informers: FactoryBuilder<Typed>) -> FactoryBuilder<Typed> {
    informers.kind::<Deployment>().kind::<ReplicaSet>().kind::<Pod>().kind::<Node>().kind::<Job>()
}

/// All controllers, by the names of kube-controller-manager.
pub fn registry(options: &Options) -> Result<ControllerRegistry, RegistryError> {
    let mut registry = ControllerRegistry::new();
    for descriptor in [
        deployment::descriptor(options.clone()),
        replicaset::descriptor(options.clone()),
        garbage::descriptor(options.clone()),
        podgc::descriptor(options.clone()),
        ttl::descriptor(options.clone()),
    ] {
        registry.register(descriptor)?;
    }
    Ok(registry)
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("now", &self.now()).finish_non_exhaustive()
    }
}
