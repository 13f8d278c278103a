//! From events to work: what a Kubernetes controller needs besides informers.
//!
//! - [`controller`]: from the events of informers to a reconciler.
//! - [`workqueue`]: keys that wait to be worked on, with delays, rate limits and priorities.
//! - [`leader`]: one of many does the work, agreed upon by a Lease.
//! - [`events`]: telling people what was done, without waiting for anybody.
//! - [`manager`]: a program around all of it: order, leadership, the end, health and metrics.
//! - [`registry`]: many controllers in one program, chosen by name.
//! - [`metrics`]: all of it, as Prometheus reads it.
//!
//! Together: whoever notices a change adds a key, and the leader works on keys until it is told to stop.
//!
//! ```
//! use kube_controller::leader::{LeaderElector, Outcome};
//! use kube_controller::workqueue::WorkQueue;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn reconcile(key: &str) -> Result<(), std::io::Error> { Ok(()) }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # let client = server.client()?;
//! # let stop_soon = |stop: CancellationToken| async move { stop.cancel() };
//! let queue = WorkQueue::<String>::new();
//! // In the handlers of an informer:
//! queue.add("default/web".to_owned());
//!
//! let stop = CancellationToken::new();
//! let mut elector = LeaderElector::builder(client, "default", "my-controller")
//!     .identity("my-pod-7d4b9")
//!     .release_on_cancel(true)
//!     .build()?;
//! let (keys, end) = (queue.clone(), stop.clone());
//! let outcome = elector
//!     .run(&stop, |leading| async move {
//!         let stopped = leading.token();
//!         while let Some(Some(work)) = stopped.run_until_cancelled(keys.get()).await {
//!             if reconcile(&work).await.is_ok() {
//!                 work.forget();
//!             } else {
//!                 work.retry();
//!             }
//! #           stop_soon(end.clone()).await;
//!         }
//!     })
//!     .await;
//! assert_eq!(outcome, Outcome::Cancelled);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! The feature `tls` lets a manager serve its pages over TLS.
//!
//! Nothing here needs a runtime of its own, reads the wall clock to decide anything, or draws randomness without a seed.

mod clock;
pub mod controller;
pub mod events;
mod generations;
pub mod leader;
pub mod manager;
pub mod metrics;
mod random;
pub mod registry;
mod sync;
mod words;
pub mod workqueue;

pub use controller::Controller;
pub use events::EventRecorder;
pub use leader::LeaderElector;
pub use manager::Manager;
pub use metrics::Metrics;
pub use words::in_words;
pub use workqueue::WorkQueue;
pub use {k8s_openapi, kube_client, kube_informer};
