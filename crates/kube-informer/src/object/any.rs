//! Objects of a type that is not known where they are used.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;

use super::{Labels, Object};

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
    pub fn downcast<K: Resource + Send + Sync + 'static>(&self) -> Option<Object<K>> {
        self.0.as_any().downcast_ref::<Object<K>>().cloned()
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
