//! What an object is while it rests in memory, and the handle to reach it.
//!
//! An [`Object`] derefs to its type, clones in no time and cannot be changed. How it rests is a matter of
//! [`Residency`]: decoded, or packed as the bytes that the server sent, which need a fraction of the memory and are
//! decoded when somebody looks. What identifies an object, and its labels, are readable without decoding.

mod any;
mod head;
mod labels;
mod lenses;
mod name;
mod packed;
mod raw;
#[cfg(test)]
mod tests;
mod types;
mod warm;

pub use any::AnyObject;
pub(crate) use any::Unnamed;
pub use labels::Labels;
pub(crate) use labels::Matcher;
pub(crate) use lenses::Lenses;
pub use name::{NotAName, ObjectName};
pub(crate) use packed::Codec;
pub(crate) use raw::{Form, Lens, Raw};
pub(crate) use types::say_kind;
pub(crate) use warm::Warm;

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use kube_core::Resource;

use head::Head;
use packed::{Packed, View};
use raw::{Base, Borrowed};

/// How much decoded text an adaptive informer keeps at hand, unless it is said otherwise.
pub const DEFAULT_WARM_BYTES: usize = 32 << 20;

/// How objects rest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Residency {
    /// As values of their type: the quickest to read, and the largest.
    Decoded,
    /// As the bytes that the server sent, without `managedFields`. An object is decoded when somebody looks into it,
    /// once for all who hold it, and the value goes with the last of them.
    Packed,
    /// Packed, but what was looked at lately stays decoded.
    Adaptive {
        /// About how much memory the decoded values may take.
        warm_bytes: usize,
    },
}

impl Default for Residency {
    /// Adaptive, with [`DEFAULT_WARM_BYTES`].
    fn default() -> Self {
        Residency::Adaptive { warm_bytes: DEFAULT_WARM_BYTES }
    }
}

/// A stored object: clones in no time, derefs to its type, and cannot be changed.
///
/// What identifies an object, and its labels, are readable without looking into it.
pub struct Object<K> {
    stored: Stored<K>,
    /// The value of a packed object, once somebody has looked through this handle.
    view: OnceLock<Arc<View<K>>>,
}

/// What a store keeps of an object.
pub(crate) struct Stored<K>(Arc<Inner<K>>);

struct Inner<K> {
    head: Head,
    rest: Rest<K>,
}

enum Rest<K> {
    Decoded(Box<K>),
    Packed(Packed<K>),
    /// As bytes that can be seen as values of many types.
    Base(Box<Base<K>>),
    /// In an object of another type, of which this is a view.
    Borrowed(Borrowed<K>),
}

impl<K: Resource> Object<K> {
    /// An object that rests decoded.
    pub fn new(object: K) -> Self {
        Self::changed(object, |object| object)
    }

    /// An object that is changed before anybody sees it, and rests decoded. What it is remains what it was before.
    pub(crate) fn changed(object: K, change: impl FnOnce(K) -> K) -> Self {
        let head = Head::of(object.meta());
        let inner = Inner { head, rest: Rest::Decoded(Box::new(change(object))) };
        Self { stored: Stored(Arc::new(inner)), view: OnceLock::new() }
    }

    /// An object that rests as bytes, and that this handle has already looked into: the codec must make the same
    /// value of the bytes. One whose metadata cannot be kept apart rests decoded.
    pub(crate) fn packed(object: K, bytes: Box<[u8]>, codec: &Arc<Codec<K>>) -> Self {
        let Some(head) = Head::with_labels(object.meta()) else { return Self::new(object) };
        let view = View::new(object);
        let packed = Packed::new(bytes, Arc::clone(codec), Some(&view));
        let inner = Inner { head, rest: Rest::Packed(packed) };
        Self { stored: Stored(Arc::new(inner)), view: OnceLock::from(view) }
    }

    /// The same object, of which nobody holds the value: it goes at once.
    pub(crate) fn packed_at_rest(object: K, bytes: Box<[u8]>, codec: &Arc<Codec<K>>) -> Self {
        let Some(head) = Head::with_labels(object.meta()) else { return Self::new(object) };
        let packed = Packed::new(bytes, Arc::clone(codec), None);
        let inner = Inner { head, rest: Rest::Packed(packed) };
        Self { stored: Stored(Arc::new(inner)), view: OnceLock::new() }
    }

    /// The object's labels.
    pub fn labels(&self) -> Labels<'_> {
        self.stored.labels()
    }
}

impl<K: Resource> Stored<K> {
    pub(crate) fn labels(&self) -> Labels<'_> {
        match &self.0.rest {
            Rest::Decoded(object) => Labels::map(object.meta().labels.as_ref()),
            Rest::Packed(_) | Rest::Base(_) | Rest::Borrowed(_) => Labels::head(self.head()),
        }
    }
}

impl<K> Object<K> {
    /// `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn key(&self) -> &str {
        self.stored.key()
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.key().split_once('/').map_or(self.key(), |(_, name)| name)
    }

    /// The object's namespace; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.key().split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The object's uid, as the server said it.
    pub fn uid(&self) -> &str {
        self.stored.head().uid()
    }

    /// The object's version, as the server said it: also if a transform has taken it out of the object.
    pub fn resource_version(&self) -> &str {
        self.stored.head().resource_version()
    }

    /// Whether two handles are for the same version of the same object in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.stored.0.rest, &other.stored.0.rest) {
            (Rest::Borrowed(one), Rest::Borrowed(other)) => one.is_same(other),
            _ => Arc::ptr_eq(&self.stored.0, &other.stored.0),
        }
    }

    /// Whether two handles are for the same version of the same object, as far as the server says.
    pub(crate) fn is_same_version(&self, other: &Self) -> bool {
        !self.resource_version().is_empty()
            && self.resource_version() == other.resource_version()
            && self.uid() == other.uid()
    }

    /// Whether the object rests as bytes.
    pub(crate) fn is_packed(&self) -> bool {
        !matches!(self.stored.0.rest, Rest::Decoded(_))
    }

    /// As how many bytes the object rests; none if it rests decoded, or elsewhere.
    pub(crate) fn packed_bytes(&self) -> usize {
        match &self.stored.0.rest {
            Rest::Packed(packed) => packed.len(),
            Rest::Base(base) => base.len(),
            Rest::Decoded(_) | Rest::Borrowed(_) => 0,
        }
    }

    /// Whether the object is decoded, so that looking into it costs nothing.
    pub fn is_decoded(&self) -> bool {
        match &self.stored.0.rest {
            Rest::Decoded(_) => true,
            Rest::Packed(packed) => self.view.get().is_some() || packed.is_decoded(),
            Rest::Base(_) => self.view.get().is_some(),
            Rest::Borrowed(borrowed) => self.view.get().is_some() || borrowed.is_decoded(),
        }
    }

    /// The handle as if it had never been looked through: a packed object's value goes.
    pub(crate) fn resting(self) -> Self {
        self.stored.object()
    }

    /// What a store keeps: how the object rests, without what was looked at.
    pub(crate) fn stored(&self) -> &Stored<K> {
        &self.stored
    }
}

impl<K> Stored<K> {
    pub(crate) fn key(&self) -> &str {
        self.head().key()
    }

    fn head(&self) -> &Head {
        match &self.0.rest {
            Rest::Borrowed(borrowed) => borrowed.head(),
            _ => &self.0.head,
        }
    }

    /// A handle to it, which has not looked into it.
    pub(crate) fn object(&self) -> Object<K> {
        Object { stored: self.clone(), view: OnceLock::new() }
    }
}

impl<K> Deref for Object<K> {
    type Target = K;

    fn deref(&self) -> &K {
        match &self.stored.0.rest {
            Rest::Decoded(object) => object,
            Rest::Packed(packed) => self.view.get_or_init(|| packed.view()).look(),
            Rest::Base(base) => self.view.get_or_init(|| base.view()).look(),
            Rest::Borrowed(borrowed) => self.view.get_or_init(|| borrowed.view()).look(),
        }
    }
}

/// `namespace/name`, or the name alone for cluster-scoped objects.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        Self { stored: self.stored.clone(), view: self.view.clone() }
    }
}

impl<K> Clone for Stored<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Shows the key, never the contents: it may be a secret.
impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.key()).finish()
    }
}

impl<K> fmt::Debug for Stored<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stored").field(&self.key()).finish()
    }
}
