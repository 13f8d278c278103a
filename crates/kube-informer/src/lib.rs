//! A local, indexed, always-current copy of Kubernetes objects.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_informer::{EventHandler, SharedInformer, source::KubeSource};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, labels: {app: web}}}")?;
//! # let client = server.client()?;
//! let configs = SharedInformer::new(KubeSource::<ConfigMap>::all(client, &()));
//! let by_app = configs.add_index("app", |config: &ConfigMap| config.metadata.labels.as_ref()?.get("app").cloned())?;
//! configs.add_event_handler(
//!     EventHandler::<ConfigMap>::new().on_add(|config, _| println!("ADDED {}", config.key())),
//! )?;
//! configs.start();
//!
//! assert!(configs.synced().await);
//! assert_eq!(configs.store().get("default", "hello").unwrap().name(), "hello");
//! assert_eq!(by_app.get("web").len(), 1);
//! configs.shutdown().await;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! A [`SharedInformer`] is made of parts that can be used by themselves: a [`source`] lists and watches one kind, the
//! [`reflector`] follows it by client-go's rules and feeds a [`queue`], the [`store`] keeps the copy, and the
//! [`fanout`] tells the listeners. A [`lister`] reads the copy the way controllers do, and a
//! [`factory`] makes one informer for each type; [`discovery`] says what resources a server has. To wait until something
//! happens, once, see [`watch`]; to select by text, see [`selector`]. [`metrics`] show all of it to Prometheus.

pub mod accessors;
pub mod cache;
mod continuation;
pub mod discovery;
pub mod factory;
pub mod fanout;
mod hash;
pub mod informer;
pub mod lister;
pub mod metrics;
pub mod object;
pub mod panics;
pub mod projection;
pub mod queue;
mod random;
pub mod redact;
pub mod reflector;
pub mod selector;
pub mod source;
pub mod store;
mod version;
pub mod watch;

pub use cache::Cache;
pub use factory::{
    DynamicSharedInformerFactory, MetadataSharedInformerFactory, ObjectOrMetadataInformerFactory,
    SharedInformerFactory,
};
pub use fanout::EventHandler;
pub use informer::SharedInformer;
pub use metrics::Metrics;
pub use object::Object;
pub use {k8s_openapi, kube_client, kube_core};
