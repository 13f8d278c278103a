//! A handle to a stored object.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;

use super::map::Keyed;

/// A stored object: clones in no time, derefs to its type, and cannot be changed.
///
/// What identifies an object is readable without looking into it, so that this may one day cost no decoding.
pub struct Object<K>(Arc<Inner<K>>);

struct Inner<K> {
    /// `namespace/name`, or the name alone for cluster-scoped objects.
    key: Box<str>,
    object: K,
}

impl<K: Resource> Object<K> {
    pub(crate) fn new(object: K) -> Self {
        let meta = object.meta();
        let name = meta.name.as_deref().unwrap_or("");
        let key = key(meta.namespace.as_deref().unwrap_or(""), name);
        Self(Arc::new(Inner { key: key.into(), object }))
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.0.object.meta().name.as_deref().unwrap_or("")
    }

    /// The object's namespace; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.0.object.meta().namespace.as_deref().unwrap_or("")
    }

    /// The object's uid.
    pub fn uid(&self) -> &str {
        self.0.object.meta().uid.as_deref().unwrap_or("")
    }

    /// The object's version.
    pub fn resource_version(&self) -> &str {
        self.0.object.meta().resource_version.as_deref().unwrap_or("")
    }

    /// The object's labels.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.0.object.meta().labels.as_ref().unwrap_or(&NONE)
    }
}

impl<K> Object<K> {
    /// `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// Whether two handles are for the same version of the same object in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<K: Resource + Send + Sync + 'static> Object<K> {
    /// The same handle, without its type.
    pub fn erase(self) -> AnyObject {
        AnyObject(self.0)
    }
}

/// A stored object of a type that is not known here: clones in no time, and cannot be changed.
#[derive(Clone)]
pub struct AnyObject(Arc<dyn Erased>);

impl AnyObject {
    /// `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn key(&self) -> &str {
        self.0.key()
    }

    /// What every object has.
    pub fn metadata(&self) -> &ObjectMeta {
        self.0.metadata()
    }

    /// The object with its type; none if it has another one.
    pub fn downcast<K: Resource + Send + Sync + 'static>(&self) -> Option<Object<K>> {
        let any = Arc::clone(&self.0).into_any();
        any.downcast::<Inner<K>>().ok().map(Object)
    }
}

/// What is known of an object of any type.
trait Erased: Send + Sync {
    fn key(&self) -> &str;
    fn metadata(&self) -> &ObjectMeta;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<K: Resource + Send + Sync + 'static> Erased for Inner<K> {
    fn key(&self) -> &str {
        &self.key
    }

    fn metadata(&self) -> &ObjectMeta {
        self.object.meta()
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Shows the key, never the contents: it may be a secret.
impl fmt::Debug for AnyObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyObject").field(&self.key()).finish()
    }
}

/// `namespace/name`, or the name alone for cluster-scoped objects.
pub(super) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl<K> Keyed for Object<K> {
    fn key(&self) -> &str {
        &self.0.key
    }
}

impl<K> Deref for Object<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.0.object
    }
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Shows the key, never the contents: it may be a secret.
impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.0.key).finish()
    }
}
