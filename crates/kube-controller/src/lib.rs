//! From events to work: what a Kubernetes controller needs besides informers.
//!
//! - [`workqueue`]: keys that wait to be worked on, with delays, rate limits and priorities.
//! - [`events`]: telling people what was done, without waiting for anybody.
//! - [`leader`]: one of many does the work, agreed upon by a Lease.
//! - [`metrics`]: all of it, as Prometheus reads it.

mod clock;
pub mod events;
mod generations;
pub mod leader;
pub mod metrics;
mod random;
pub mod workqueue;

pub use events::EventRecorder;
pub use leader::LeaderElector;
pub use metrics::Metrics;
pub use workqueue::WorkQueue;
pub use {k8s_openapi, kube_client};
