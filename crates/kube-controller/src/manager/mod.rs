//! One program around many parts: what starts first, who leads, what ends last, and how it is doing.
//!
//! A [`Manager`] runs [`Runnable`]s: controllers, caches, servers, anything that goes on until it is told to stop.
//!
//! - **Order.** [Servers](Group::Servers) start first, then [caches](Group::Caches), [others](Group::Others) and what
//!   [only a leader](Group::LeaderOnly) may do; each group is ready before the next one starts. They end the other way
//!   round: others, leader-only, caches, servers.
//! - **One leader.** What is leader-only starts when this process leads. It may [warm up](Runnable::warm_up) before, so that
//!   a standby takes over at once. When leadership is lost, the group has ended before anybody else can lead, and
//!   [`run`](Manager::run) returns an error.
//! - **Frozen.** A process that was stopped, and wakes up when another may lead, does nothing more of that: the clock is asked
//!   before each step of the future of a leader-only part, and before each step of the reconciles of a
//!   [`Controller`](crate::controller::Controller) and of each of the [`Controllers`](crate::registry::Controllers) of a
//!   registry. Other tasks that a part spawns may run before it is ended: they have to
//!   ask [`may_act`](ManagerHandle::may_act) themselves, or run [while it leads](ManagerHandle::while_leading). A request that was sent before arrives whenever it does.
//! - **The end has a deadline.** What has not ended by then is named in the error, and aborted.
//! - **One failure ends all**, in order, and is returned with whatever else went wrong on the way.
//! - **Pages.** `/healthz` and `/readyz` with a path for each check (whether informers have synced is one of them),
//!   `/metrics` for Prometheus, open to all or to those whom the API server lets, and on loopback only, as JSON, how each
//!   informer and queue is doing. A port that is taken is an error before anything starts.
//! - **Limits.** A connection serves one request, which has to be there within 10 seconds, and its answer to be read within
//!   60. At 128 connections of a server, the oldest that has not sent its request makes room for the next one, so that a
//!   probe is answered beside any number of silent clients. Debug pages refuse a `Host` that is not `localhost`, an IP address
//!   or [allowed](ManagerBuilder::debug_hosts).
//! - **TLS** for health and metrics, with the feature `tls`: from files of certificates that are read again when they change.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_controller::manager::{Group, Manager, Task};
//! use kube_informer::SharedInformerFactory;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # let client = server.client()?;
//! let manager = Manager::builder().health_address("127.0.0.1:0".parse()?).build().await?;
//! let factory = SharedInformerFactory::builder(client).metrics(manager.informer_metrics()).build();
//! let pods = factory.of::<Pod>()?;
//! manager.add(factory)?;
//!
//! let stop = CancellationToken::new(); // or `manager::stop_on_signal()?`
//! let done = stop.clone();
//! manager.add(Task::new("count pods", move |_| async move {
//!     println!("{} pods", pods.store().list().len());
//!     done.cancel();
//!     Ok(())
//! }))?;
//! manager.run(stop).await?;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod auth;
mod builder;
mod connections;
mod debug;
mod error;
mod groups;
mod health;
mod hosts;
mod http;
mod permission;
mod run;
mod runnable;
mod signals;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;

pub use auth::MetricsAccess;
pub use builder::{DEFAULT_CACHE_SYNC_TIMEOUT, DEFAULT_GRACE, ManagerBuilder};
pub use error::{AddError, BuildError, ManagerError};
pub use groups::ManagerHandle;
pub(crate) use groups::panic_message;
pub use health::{HealthChecks, Unhealthy};
pub use run::Manager;
pub use runnable::{Behind, BoxError, Group, Runnable, Running, Task};
pub use signals::stop_on_signal;
#[cfg(feature = "tls")]
pub use tls::{CertificateError, DEFAULT_CERTIFICATE_CHECK, TlsFiles};
