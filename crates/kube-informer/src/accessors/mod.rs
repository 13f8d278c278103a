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
//! `cargo xtask accessors` makes them ([`groups`]). Types of custom resources get theirs from the macro
//! [`accessors!`](macro@crate::accessors). All of them are another way to write
//! [`factory.of::<K>()`](crate::SharedInformerFactory::of), and compile nothing of a kind before they are called.

#[macro_use]
mod macros;
mod accessor;
mod custom;
pub mod groups;

pub use accessor::Accessor;

/// How a type of a macro [`accessors!`](macro@crate::accessors) is decoded.
#[doc(hidden)]
pub fn codec<K: serde::de::DeserializeOwned + 'static>() -> Codec<K> {
    Codec::serde()
}

use kube_core::Resource;
use kube_wire::Codec;

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
    /// One of the types. A visitor that does not ask how it is decoded has no decoder compiled into it.
    fn visit<K>(&mut self, codec: impl FnOnce() -> Codec<K>)
    where
        K: Resource<DynamicType = ()> + Send + Sync + 'static;
}
