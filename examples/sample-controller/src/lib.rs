//! The sample that every author of controllers knows: a Foo says that there shall be a Deployment of a certain name with
//! so many replicas, and the controller sees to it.
//!
//! - [`foo`]: the type, and the accessors that a factory gets for it.
//! - [`reconcile`]: what is done about a Foo.
//! - [`written`]: what was written and has not been heard of yet.
//! - [`deployment`]: the Deployment that a Foo wants.
//! - [`cluster`]: what stands for the rest of a cluster on the embedded server.
//! - [`ledger`]: how often each Foo was looked at, and how often there was a reason to.
//! - [`many`]: what ten thousand Foos cost.

#![allow(clippy::disallowed_names, reason = "here a foo is a Foo")]

pub mod cluster;
pub mod deployment;
pub mod foo;
pub mod ledger;
pub mod many;
pub mod reconcile;
pub mod written;

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube_client::Client;
use kube_controller::controller::{BuildError, Controller, ControllerBuilder, Watch, predicate};
use kube_controller::events::EventRecorder;
use kube_controller::workqueue::limiter::{Bucket, ItemExponential, MaxOf};
use kube_informer::SharedInformerFactory;
use kube_informer::factory::FactoryError;
use kube_informer::object::ObjectName;

use foo::{Foo, SampleController as _};
use reconcile::Sample;
use written::Written;

/// What the controller calls itself: in events, and as the manager of the fields that it writes.
pub const NAME: &str = "sample-controller";

/// What a server has to know before there can be Foos: their definition, as YAML.
pub const DEFINITION: &str = include_str!("../deploy/crd.yaml");

/// How often everything is looked at again though nothing has changed.
pub const RESYNC: Duration = Duration::from_secs(30);

/// How many Foos are worked on at a time, unless it is said otherwise.
pub const WORKERS: usize = 2;

/// Why there is no controller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoController {
    /// The factory does not give what is needed.
    #[error(transparent)]
    Factory(#[from] FactoryError),
    /// The settings make no sense.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Settings for the controller: which kinds, which of their events, how quickly failures come again.
pub fn settings(factory: &SharedInformerFactory) -> Result<ControllerBuilder<ObjectName>, FactoryError> {
    let foos = factory.samplecontroller().v1alpha1().foos().informer()?;
    let deployments = factory.apps().v1().deployments().informer()?;
    let limiter = MaxOf::new()
        .and(ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000)))
        .and(Bucket::new(50.0, 300));
    Ok(Controller::builder(NAME)
        // The status is ours: that it has changed is no news. A resync is: it mends what others have broken.
        .for_(Watch::new(&foos).filter(predicate::generation_changed().or(predicate::resync())))
        .owns(Watch::new(&deployments).filter(predicate::resource_version_changed()))
        .concurrency(WORKERS)
        .rate_limiter(limiter))
}

/// The controller as it is.
pub fn controller(
    client: Client,
    factory: &SharedInformerFactory,
    recorder: EventRecorder,
) -> Result<Controller, NoController> {
    Ok(settings(factory)?.build(reconciler(client, factory, recorder)?)?)
}

/// What is done about Foos.
pub fn reconciler(
    client: Client,
    factory: &SharedInformerFactory,
    recorder: EventRecorder,
) -> Result<Sample, FactoryError> {
    let (foos, deployments) = (factory.lister::<Foo>()?, factory.lister::<Deployment>()?);
    Ok(Sample { client, foos, deployments, recorder, written: Written::default() })
}
