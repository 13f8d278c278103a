//! What a factory has of one kind.

use std::fmt;

use kube_core::Resource;
use kube_wire::{BuiltIn, Codec};
use serde::de::DeserializeOwned;

use crate::factory::{FactoryError, SharedInformerFactory};
use crate::informer::SharedInformer;
use crate::lister::Lister;

/// What a factory has of one kind: the informer and the lister. Made by `factory.core().v1().pods()` and its like, or
/// by [`Accessor::new`]; costs nothing until one of them is asked for.
///
/// It can be handed to whoever needs the kind, like a `PodInformer` in client-go.
pub struct Accessor<K> {
    factory: SharedInformerFactory,
    codec: Codec<K>,
}

impl<K: DeserializeOwned + 'static> Accessor<K> {
    /// The kind in a factory.
    pub fn new(factory: &SharedInformerFactory) -> Self {
        Self { factory: factory.clone(), codec: Codec::serde() }
    }
}

impl<K: BuiltIn> Accessor<K> {
    /// The built-in kind in a factory. Unlike with [`new`](Self::new), the decoder of a kind that clusters have many of is not compiled
    /// with the program.
    pub fn built_in(factory: &SharedInformerFactory) -> Self {
        Self { factory: factory.clone(), codec: K::codec() }
    }
}

impl<K> Accessor<K>
where
    K: Resource<DynamicType = ()> + Send + Sync + 'static,
{
    /// The informer, made when it is first asked for. It has to be [started](SharedInformerFactory::start) with the
    /// factory.
    pub fn informer(&self) -> Result<SharedInformer<K>, FactoryError> {
        self.factory.decoding(self.codec)
    }

    /// Reads what the informer has. Asking for it asks for the informer.
    pub fn lister(&self) -> Result<Lister<K>, FactoryError> {
        Ok(Lister::new(self.informer()?.store().clone(), &()))
    }
}

impl<K> Clone for Accessor<K> {
    fn clone(&self) -> Self {
        Self { factory: self.factory.clone(), codec: self.codec }
    }
}

impl<K> fmt::Debug for Accessor<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accessor").field("factory", &self.factory).finish_non_exhaustive()
    }
}
