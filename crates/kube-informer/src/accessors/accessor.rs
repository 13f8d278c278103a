//! What a factory has of one kind.

use std::fmt;
use std::marker::PhantomData;

use kube_core::Resource;
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
    kind: PhantomData<fn() -> K>,
}

impl<K> Accessor<K> {
    /// The kind in a factory.
    pub fn new(factory: &SharedInformerFactory) -> Self {
        Self { factory: factory.clone(), kind: PhantomData }
    }
}

impl<K> Accessor<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    /// The informer, made when it is first asked for. It has to be [started](SharedInformerFactory::start) with the
    /// factory.
    pub fn informer(&self) -> Result<SharedInformer<K>, FactoryError> {
        self.factory.of::<K>()
    }

    /// Reads what the informer has. Asking for it asks for the informer.
    pub fn lister(&self) -> Result<Lister<K>, FactoryError> {
        self.factory.lister::<K>()
    }
}

impl<K> Clone for Accessor<K> {
    fn clone(&self) -> Self {
        Self::new(&self.factory)
    }
}

impl<K> fmt::Debug for Accessor<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accessor").field("factory", &self.factory).finish_non_exhaustive()
    }
}
