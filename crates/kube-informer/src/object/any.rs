//! Objects of a type that is not known where they are used.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use kube_wire::Codec;
use serde::de::DeserializeOwned;

use super::{Labels, Lenses, Object, Raw};

/// A stored object of a type that is not known here: clones in no time, and cannot be changed.
#[derive(Clone)]
pub struct AnyObject(Arc<dyn Erased>);

impl<K: Resource + Send + Sync + 'static> Object<K> {
    /// The same handle, without its type.
    pub fn erase(self) -> AnyObject {
        AnyObject(Arc::new(self))
    }
}

impl AnyObject {
    /// `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn key(&self) -> &str {
        self.0.key()
    }

    /// The object's version.
    pub fn resource_version(&self) -> &str {
        self.0.resource_version()
    }

    /// The object's labels.
    pub fn labels(&self) -> Labels<'_> {
        self.0.labels()
    }

    /// What every object has.
    pub fn metadata(&self) -> &ObjectMeta {
        self.0.metadata()
    }

    /// The object with its type; none if it has another one.
    ///
    /// An object whose type nobody has named when it came (see
    /// [`SharedInformerFactory::for_resource`](crate::SharedInformerFactory::for_resource)) has every type of its
    /// resource, and those that are for all: [`DynamicObject`](kube_core::DynamicObject) and
    /// [`PartialObjectMeta`](kube_core::PartialObjectMeta). It is decoded here, once for all who hold it; none if it does
    /// not fit.
    pub fn downcast<K>(&self) -> Option<Object<K>>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        if let Some(object) = self.0.as_any().downcast_ref::<Object<K>>() {
            return Some(object.clone());
        }
        let unnamed = self.0.as_any().downcast_ref::<Unnamed>()?;
        if !unnamed.lenses.suits::<K>() {
            return None;
        }
        unnamed.object.seen_as(&unnamed.lenses.of(Codec::serde())).ok()
    }
}

/// An object whose type nobody has named.
pub(crate) struct Unnamed {
    object: Object<Raw>,
    lenses: Arc<Lenses>,
}

impl Unnamed {
    /// The same handle, which can be seen as whatever its kind can.
    pub(crate) fn erase(object: Object<Raw>, lenses: &Arc<Lenses>) -> AnyObject {
        AnyObject(Arc::new(Self { object, lenses: Arc::clone(lenses) }))
    }
}

impl Erased for Unnamed {
    fn key(&self) -> &str {
        self.object.key()
    }

    fn resource_version(&self) -> &str {
        self.object.resource_version()
    }

    fn labels(&self) -> Labels<'_> {
        self.object.labels()
    }

    fn metadata(&self) -> &ObjectMeta {
        self.object.meta()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What is known of an object of any type.
trait Erased: Send + Sync {
    fn key(&self) -> &str;
    fn resource_version(&self) -> &str;
    fn labels(&self) -> Labels<'_>;
    fn metadata(&self) -> &ObjectMeta;
    fn as_any(&self) -> &dyn Any;
}

impl<K: Resource + Send + Sync + 'static> Erased for Object<K> {
    fn key(&self) -> &str {
        Object::key(self)
    }

    fn resource_version(&self) -> &str {
        Object::resource_version(self)
    }

    fn labels(&self) -> Labels<'_> {
        Object::labels(self)
    }

    fn metadata(&self) -> &ObjectMeta {
        self.meta()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Shows the key, never the contents: it may be a secret.
impl fmt::Debug for AnyObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyObject").field(&self.key()).finish()
    }
}
