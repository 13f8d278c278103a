//! A Kubernetes API server in your process.
//!
//! It speaks real HTTP on 127.0.0.1, is ready in milliseconds, keeps everything in memory, and behaves as
//! Kubernetes does where clients can tell: one resource version for the cluster, watches with history and
//! bookmarks, consistent pages, selectors, server-side apply, custom resources, finalizers, the same errors.
//! And it can be told to [misbehave](Fault): to answer late, to break off in the middle of an event, to forget
//! its history, to lose the answer to a write that did happen.
//!
//! ```
//! use kube_testserver::{Fault, TestServer, Verb};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = TestServer::start().await?;
//! server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}, data: {greeting: hi}}")?;
//! server.inject(Fault::reply(503).on(Verb::List).resource("configmaps").times(1));
//!
//! let client = server.client()?;
//! // … use any Kubernetes client: kube here, or kubectl with `server.kubeconfig()`.
//! # drop(client);
//! assert_eq!(server.requests().len(), 0);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! What it does not do: validate built-in kinds beyond types and metadata, run admission, evaluate
//! CEL rules, call webhooks, or run pods. See the crate's README for the whole list.

mod access;
mod apply;
mod clock;
mod cluster;
mod crd;
mod crds;
mod discovery;
mod faults;
mod http;
mod kinds;
mod lifecycle;
mod log;
mod names;
mod patch;
mod paths;
mod random;
mod represent;
mod schema;
mod selector;
mod server;
mod status;
mod storage;
mod system;
mod table;
mod verbs;
mod yaml;

pub use access::{Access, Rule};
pub use faults::{Fault, InjectedFault};
pub use kinds::Verb;
pub use log::RequestRecord;
pub use server::{Backup, SeedError, ServerStats, TestServer, TestServerBuilder};

/// The client library whose [`Client`](kube_client::Client) the server hands out.
pub use kube_client;
