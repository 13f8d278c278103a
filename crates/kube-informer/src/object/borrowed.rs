//! An object that is looked at in a snapshot, and not taken out of it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;

use super::packed::View;
use super::{Labels, Object, Sight, Stored};

/// A stored object, borrowed from a snapshot: everything that an [`Object`] is, for as long as the snapshot is held.
///
/// To make one costs nothing: the object itself is not touched before something is read of it. That makes going
/// through many objects several times as fast as taking a handle to each.
pub struct ObjectRef<'a, K> {
    stored: &'a Stored<K>,
    /// The value of a packed object, once somebody has looked through this.
    view: OnceLock<Arc<View<K>>>,
}

impl<'a, K> ObjectRef<'a, K> {
    #[inline]
    pub(crate) fn new(stored: &'a Stored<K>) -> Self {
        Self { stored, view: OnceLock::new() }
    }

    /// A handle, which may be kept.
    pub fn to_object(&self) -> Object<K> {
        Object { stored: self.stored.clone(), sight: Sight::Own(self.view.clone()) }
    }

    /// `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn key(&self) -> &'a str {
        self.stored.key()
    }

    /// The object's name.
    pub fn name(&self) -> &'a str {
        self.key().split_once('/').map_or(self.key(), |(_, name)| name)
    }

    /// The object's namespace; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &'a str {
        self.key().split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The object's uid, as the server said it.
    pub fn uid(&self) -> &'a str {
        self.stored.head().uid()
    }

    /// The object's version, as the server said it: also if a transform has taken it out of the object.
    pub fn resource_version(&self) -> &'a str {
        self.stored.head().resource_version()
    }

    /// The object's labels.
    pub fn labels(&self) -> Labels<'a> {
        self.stored.labels()
    }

    /// The object's metadata; see [`Object::metadata`].
    pub fn metadata(&self) -> Cow<'_, ObjectMeta>
    where
        K: Resource,
    {
        self.stored.metadata(&self.view)
    }

    /// Whether it is the same version of the same object in memory.
    pub fn is_same(&self, other: &Object<K>) -> bool {
        self.stored.is_same(&other.stored)
    }
}

impl<K> Deref for ObjectRef<'_, K> {
    type Target = K;

    fn deref(&self) -> &K {
        self.stored.look(&self.view)
    }
}

/// Shows the key, never the contents: it may be a secret.
impl<K> fmt::Debug for ObjectRef<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectRef").field(&self.key()).finish()
    }
}
