//! Many controllers in one program, by name: the way of kube-controller-manager.
//!
//! Each controller is a [`ControllerDescriptor`]: a name, and how to build it. A [`ControllerRegistry`] has them all, a list
//! such as `*,foo,-bar` [chooses](ControllerRegistry::select) among them, and [`Controllers`] builds and runs the chosen
//! ones around one [`ControllerContext`]: the same informers for all, a client for each.
//!
//! 1. The API server has to answer.
//! 2. All controllers are built, one after the other; one that cannot be built ends the program.
//! 3. The informers that they have asked for are started, and [`ControllerContext::informers_started`] is told.
//! 4. The controllers run, each after a random part of the start interval. Each waits for the kinds that it uses.
//! 5. When it is told to stop, they have ten seconds; those that still run are named in the error.
//!
//! [`Controllers`] is a [`Runnable`](crate::manager::Runnable) that only a leader runs.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_controller::manager::Manager;
//! use kube_controller::registry::{ClientBuilder, ControllerDescriptor, ControllerRegistry, Controllers, NewController};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # let client = server.client()?;
//! let stop = CancellationToken::new();
//! let done = stop.clone();
//! let mut registry = ControllerRegistry::new();
//! registry.register(ControllerDescriptor::new("pod-counter", move |context| async move {
//!     let pods = context.informers.of::<Pod>()?;
//!     Ok(NewController::new(move |_stop| async move {
//!         pods.synced().await;
//!         println!("{} pods", pods.store().list().len());
//!         done.cancel();
//!         Ok(())
//!     }))
//! }))?;
//! let chosen = registry.select("*")?;
//! let manager = Manager::builder().build().await?;
//! let controllers = Controllers::builder(ClientBuilder::shared(client), registry, chosen).managed_by(&manager).build();
//! manager.add(controllers)?;
//! manager.run(stop).await?;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod clients;
mod context;
mod controllers;
mod descriptor;
mod mapper;
mod selection;

pub use clients::ClientBuilder;
pub use context::{ControllerContext, InformersStarted};
pub use controllers::{
    Controllers, ControllersBuilder, ControllersError, DEFAULT_SHUTDOWN_TIMEOUT, SERVER_PATIENCE,
};
pub use descriptor::{ControllerDescriptor, ControllerRegistry, NewController, RegistryError};
pub use mapper::{MAPPER_LIFE, RestMapper};
pub use selection::Selection;
