//! A real kube-apiserver for tests, and what makes its days bad.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use kube_informer_e2e::{Options, RealServer};
//!
//! let mut server = RealServer::start(Options::new().rbac()).await?; // a few seconds
//! let client = server.client().await?; // a cluster admin
//! server.kill();
//! server.restart().await?; // the same address, the same data
//! # Ok(())
//! # }
//! ```
//!
//! The program is built by `cargo xtask e2e-server`. Tests that find none [`skip`], unless
//! `KUBE_INFORMER_REQUIRE_E2E=1` is set. `KUBE_INFORMER_E2E_KEEP=1` keeps the folders of servers, with their logs.

mod compare;
mod luck;
mod proxy;
mod server;
mod skip;

pub use compare::{Different, Versions, caught_up, in_store, on_server, versions};
pub use luck::{Chance, Struck};
pub use proxy::Proxy;
pub use server::{Options, RealServer, ServerError};
pub use skip::skip;
