//! Reading a copy whose type is not known here.

use std::fmt;
use std::sync::Arc;

use kube_core::{Resource, Selector};

use super::{Lister, NotFound};
use crate::object::{AnyObject, Lenses, Object, Raw, Unnamed};

/// Reads objects of a type that is not known here: what a [`Lister`] is to its users who know the type.
///
/// ```
/// use k8s_openapi::api::core::v1::{Pod, Secret};
/// use kube_core::Selector;
/// use kube_informer::lister::{GenericLister, Lister};
/// use kube_informer::store::Store;
///
/// let listers: Vec<GenericLister> = vec![
///     Lister::new(Store::<Pod>::new(), &()).into(),
///     Lister::new(Store::<Secret>::new(), &()).into(),
/// ];
/// for lister in &listers {
///     println!("{}: {}", lister.resource(), lister.list(&Selector::default()).len());
/// }
/// ```
#[derive(Clone)]
pub struct GenericLister(Arc<dyn List>);

impl GenericLister {
    /// What is listed: `deployments.apps`, or `pods` in the core group.
    pub fn resource(&self) -> String {
        self.0.resource()
    }

    /// All objects with these labels, in no order.
    pub fn list(&self, selector: &Selector) -> Vec<AnyObject> {
        self.0.list(None, selector)
    }

    /// All objects of a namespace with these labels, in no order.
    pub fn list_namespaced(&self, namespace: &str, selector: &Selector) -> Vec<AnyObject> {
        self.0.list(Some(namespace), selector)
    }

    /// The object of a name; the namespace is empty for cluster-scoped kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Result<AnyObject, NotFound> {
        self.0.get(namespace, name)
    }
}

impl<K: Resource + Send + Sync + 'static> From<Lister<K>> for GenericLister {
    fn from(lister: Lister<K>) -> Self {
        Self(Arc::new(lister))
    }
}

impl GenericLister {
    /// Reads objects whose type nobody has named.
    pub(crate) fn unnamed(lister: Lister<Raw>, lenses: &Arc<Lenses>) -> Self {
        Self(Arc::new((lister, Arc::clone(lenses))))
    }
}

trait List: Send + Sync {
    fn resource(&self) -> String;
    fn list(&self, namespace: Option<&str>, selector: &Selector) -> Vec<AnyObject>;
    fn get(&self, namespace: &str, name: &str) -> Result<AnyObject, NotFound>;
}

impl<K: Resource + Send + Sync + 'static> List for Lister<K> {
    fn resource(&self) -> String {
        Lister::resource(self)
    }

    fn list(&self, namespace: Option<&str>, selector: &Selector) -> Vec<AnyObject> {
        self.within(namespace, selector).into_iter().map(Object::erase).collect()
    }

    fn get(&self, namespace: &str, name: &str) -> Result<AnyObject, NotFound> {
        Ok(self.find(namespace, name)?.erase())
    }
}

impl List for (Lister<Raw>, Arc<Lenses>) {
    fn resource(&self) -> String {
        self.0.resource()
    }

    fn list(&self, namespace: Option<&str>, selector: &Selector) -> Vec<AnyObject> {
        let objects = self.0.within(namespace, selector).into_iter();
        objects.map(|object| Unnamed::erase(object, &self.1)).collect()
    }

    fn get(&self, namespace: &str, name: &str) -> Result<AnyObject, NotFound> {
        Ok(Unnamed::erase(self.0.find(namespace, name)?, &self.1))
    }
}

impl fmt::Debug for GenericLister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GenericLister").field(&self.resource()).finish()
    }
}
