//! From events to work: what a Kubernetes controller needs besides informers.
//!
//! - [`workqueue`]: keys that wait to be worked on, with delays, rate limits and priorities.
//! - [`leader`]: one of many does the work, agreed upon by a Lease.
//! - [`metrics`]: all of it, as Prometheus reads it.

pub mod leader;
pub mod metrics;
mod random;
pub mod workqueue;

pub use leader::LeaderElector;
pub use metrics::Metrics;
pub use workqueue::WorkQueue;
pub use {k8s_openapi, kube_client};
