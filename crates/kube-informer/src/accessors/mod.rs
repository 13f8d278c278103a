//! From a factory to each kind by name: `factory.apps().v1().deployments()`.
//!
//! ```
//! use kube_core::Selector;
//! use kube_informer::SharedInformerFactory;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # server.seed("{apiVersion: v1, kind: Node, metadata: {name: node-1}}")?;
//! # let client = server.client()?;
//! let factory = SharedInformerFactory::new(client);
//! let nodes = factory.core().v1().nodes();
//! let deployments = factory.apps().v1().deployments();
//! let (informer, lister) = (nodes.informer()?, nodes.lister()?);
//! deployments.informer()?;
//! factory.start();
//! factory.wait_for_cache_sync().await?;
//! assert_eq!(lister.get("node-1")?.name(), "node-1");
//! assert_eq!(informer.store().list().len(), lister.list(&Selector::default()).len());
//! factory.shutdown().await;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! There is one for every built-in kind that k8s-openapi can list, in the version of Kubernetes that is enabled there.
//! They are in the folders of [`groups`], by group and version, with a file for each kind, which `cargo xtask accessors`
//! makes: `groups/apps/v1/deployment.rs`. Types of custom resources get theirs from the macro
//! [`accessors!`](macro@crate::accessors). All of them are nothing but another way to say
//! [`factory.of::<K>()`](crate::SharedInformerFactory::of): what is not called is not compiled.
//!
//! # What they cost to compile
//!
//! A program that follows three kinds took 12.0 to 14.0 s of CPU time to compile and link with accessors, and 12.5 to 13.7 s with
//! `of::<K>()`: no difference that can be seen. The library itself took 6.7 to 7.9 s with all accessors, and 6.3 to 7.7 s
//! with those of `core` and `apps` alone: about 0.4 s, once. These are `user` times of debug builds, in turns, with rustc 1.95 on two
//! cores that others used too: three runs each of `time cargo rustc -p kube-informer --example three_kinds`, with and
//! without `-- --cfg by_type`, after `touch crates/kube-informer/examples/three_kinds.rs`; and four and five of
//! `time K8S_OPENAPI_ENABLED_VERSION=1.36 cargo build -p kube-informer -p kube-testserver`, after `touch crates/kube-informer/src/lib.rs`, with
//! `groups/mod.rs` as it is and cut down to these two groups.

#[macro_use]
mod macros;
mod accessor;
mod custom;
pub mod groups;

pub use accessor::Accessor;

use kube_core::Resource;
use serde::de::DeserializeOwned;

/// Several types: those of a version of a group, of a group, or all [built-in](BuiltIn) ones.
///
/// Made known to a factory by [`FactoryBuilder::kinds`](crate::factory::FactoryBuilder::kinds).
pub trait Kinds {
    /// Tells of each of them. Whatever the visitor does with a type is compiled for all of them.
    fn each<V: Visit>(visitor: &mut V);
}

/// All built-in kinds that have an accessor.
#[derive(Debug)]
pub enum BuiltIn {}

/// Is told of each of several types by [`Kinds::each`].
pub trait Visit {
    /// One of the types.
    fn visit<K>(&mut self)
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static;
}
