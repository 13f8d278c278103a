//! Controllers: whoever notices a change adds a request, and a reconciler works on requests.
//!
//! ```
//! use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
//! use kube_controller::controller::{Action, Controller, ReconcileError};
//! use kube_informer::SharedInformerFactory;
//! use kube_informer::object::ObjectName;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # server.seed("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}")?;
//! # let client = server.client()?;
//! let factory = SharedInformerFactory::new(client);
//! let (deployments, sets) = (factory.of::<Deployment>()?, factory.of::<ReplicaSet>()?);
//! let stop = CancellationToken::new();
//! # let stopping = stop.clone();
//! let lister = factory.lister::<Deployment>()?;
//! Controller::builder("deployments")
//!     .for_(&deployments)
//!     .owns(&sets)
//!     .concurrency(4)
//!     .run(stop, move |request: ObjectName, _| {
//!         let lister = lister.clone();
//! #       let stopping = stopping.clone();
//!         async move {
//!             let Ok(deployment) = lister.namespaced(&request.namespace).get(&request.name) else {
//!                 return Ok(()); // It is gone.
//!             };
//!             println!("{} is to be made so", deployment.key());
//! #           stopping.cancel();
//!             Ok(())
//!         }
//!     })
//!     .await?;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! What a [`Controller`] promises:
//!
//! - **It listens to informers that others use too.** Ten controllers on a kind cost one watch. It starts those that it
//!   uses, and takes its handlers away when it ends.
//! - **It begins when it knows everything**: when each of its kinds has synced and all that was there has been added. It
//!   waits for no kind that it does not use, and an error says which kind did not come, and why.
//! - **One reconcile for each request at a time**, and [so many](ControllerBuilder::concurrency) in all.
//! - **What has changed comes first.** What is there from the start, and what is told again at a resync, has a low priority.
//! - **Failures come again**, later each time, until one goes well. [Terminal](ReconcileError::terminal) ones wait for a
//!   change. Panics and [timeouts](ControllerBuilder::reconcile_timeout) are failures. All are counted, shown in the
//!   [status](ControllerHandle::status) and told to [`on_error`](ControllerBuilder::on_error).
//! - **Its end loses nothing silently.** Reconciles may end within a [grace](ControllerBuilder::grace), and what was not
//!   done is [named](ControllerHandle::unfinished).
//!
//! A controller can also be made of its parts, as client-go's users do: handlers of an informer that add keys to a
//! [`WorkQueue`](crate::WorkQueue), and tasks that take them out. `tests/controller/plain.rs` has one of sixty lines.

mod action;
mod builder;
mod context;
mod enqueue;
mod error;
mod figures;
mod func;
mod managed;
mod owner;
pub mod predicate;
mod reconciler;
mod run;
mod shared;
mod source;
mod status;
mod watch;
mod worker;

pub use action::{Action, ErrorKind, ReconcileError};
pub use builder::{ControllerBuilder, DEFAULT_GRACE, DEFAULT_SYNC_TIMEOUT};
pub use context::Context;
pub use enqueue::Enqueuer;
pub use error::{BuildError, ControllerError, Unsynced};
pub(crate) use figures::{Ended, Figures};
pub use func::Running;
pub use owner::{Owner, Owners};
pub use reconciler::Reconciler;
pub use run::Controller;
pub use source::Source;
pub use status::{
    ControllerHandle, ControllerPhase, ControllerStatus, LastFailure, SourceStatus, Unfinished,
};
pub use watch::{IntoWatch, Watch};

use std::fmt;

use crate::workqueue::Key;

/// What a controller can be asked to look at. Most use the name of an object,
/// [`ObjectName`](kube_informer::object::ObjectName).
pub trait RequestKey: Key + Sync + fmt::Display {}

impl<T: Key + Sync + fmt::Display> RequestKey for T {}

/// A reconcile that failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure<'a, R> {
    /// What was to be done.
    pub request: &'a R,
    /// What went wrong.
    pub error: &'a ReconcileError,
    /// How often it had failed before.
    pub failures: u32,
}
