//! From events to work: what a Kubernetes controller needs besides informers.
//!
//! - [`workqueue`]: keys that wait to be worked on, with delays, rate limits and priorities.
//! - [`metrics`]: all of it, as Prometheus reads it.

pub mod metrics;
pub mod workqueue;

pub use metrics::Metrics;
pub use workqueue::WorkQueue;
pub use {k8s_openapi, kube_client};
