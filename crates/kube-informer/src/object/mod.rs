//! What an object is while it rests in memory, and the handle to reach it.
//!
//! An [`Object`] derefs to its type, clones in no time and cannot be changed. How it rests is a matter of
//! [`Residency`]: decoded, or packed as the bytes that the server sent, which need a fraction of the memory and are
//! decoded when somebody looks. What identifies an object, and its labels, are readable without decoding, and the rest of its
//! metadata without decoding anything else ([`Object::metadata`]).

mod any;
mod borrowed;
mod head;
mod label_set;
mod labels;
mod lenses;
mod name;
mod packed;
mod raw;
mod spent;
#[cfg(test)]
mod tests;
mod told;
mod types;
mod warm;

pub use any::AnyObject;
pub(crate) use any::Unnamed;
pub use borrowed::ObjectRef;
pub(crate) use head::Identity;
pub(crate) use label_set::LabelsId;
pub use labels::Labels;
pub(crate) use labels::{Matcher, Remembering};
pub(crate) use lenses::Lenses;
pub use name::{NotAName, ObjectName};
pub(crate) use packed::DecodeContext;
pub(crate) use raw::{Form, Lens, Raw};
pub(crate) use spent::{Spent, Used};
pub(crate) use types::say_kind;
pub(crate) use warm::Warm;

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;

use head::Head;
use label_set::LabelSet;
use packed::{Packed, View};
use raw::{Base, Borrowed};
use told::Told;

/// How much decoded text an adaptive informer keeps at hand, unless it is said otherwise.
pub const DEFAULT_WARM_BYTES: usize = 32 << 20;

/// How objects rest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Residency {
    /// As values of their type: the quickest to read, and the largest.
    Decoded,
    /// As the bytes that the server sent, without `managedFields`. An object is decoded when somebody looks into it, or
    /// before if several are about to, once for all who hold it, and the value goes with the last of them. While objects
    /// arrive, some values wait for new ones to be written over them: one for eight objects at most, or a few.
    Packed,
    /// Packed, but what is looked at again and again stays decoded, and what was looked at once does for a moment.
    Adaptive {
        /// About how much memory the decoded values may take, beside those that wait as in [`Packed`](Self::Packed): of each
        /// source, where an informer has one for each of several namespaces.
        warm_bytes: usize,
    },
}

impl Default for Residency {
    /// Adaptive, with [`DEFAULT_WARM_BYTES`]: as small as packed and as quick with events, and what is looked at again and
    /// again is read almost as quickly as if it rested decoded. The figures are in `docs/benchmarks.md`.
    fn default() -> Self {
        Residency::Adaptive { warm_bytes: DEFAULT_WARM_BYTES }
    }
}

/// A stored object: clones in no time, derefs to its type, and cannot be changed.
///
/// What identifies an object, and its labels, are readable without looking into it.
pub struct Object<K> {
    stored: Stored<K>,
    sight: Sight<K>,
}

/// The value of a packed object, once somebody has looked through a handle.
enum Sight<K> {
    /// Through this one, or one that it is a copy of.
    Own(OnceLock<Arc<View<K>>>),
    /// Through any of its copies: of what has just arrived there will be one for each listener.
    Shared(Arc<Told<K>>),
}

/// What a store keeps of an object.
pub(crate) struct Stored<K>(Arc<Inner<K>>);

/// In this order: those who look for a key see the count and the key in one piece of near memory.
#[repr(C)]
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
        Self::boxed(Box::new(object))
    }

    /// The same, where it is already.
    pub(crate) fn boxed(object: Box<K>) -> Self {
        Self::resting_as(Head::of(object.meta()), Rest::Decoded(object))
    }

    /// The object's metadata: annotations, owners, finalizers and all else. Of an object that rests as bytes, and of which nobody
    /// has the value, nothing but the metadata is decoded, each time. Who looks into the rest as well uses the field of the
    /// value, `object.metadata`.
    pub fn metadata(&self) -> Cow<'_, ObjectMeta> {
        self.stored.metadata(self.sight.cell())
    }

    /// An object that is changed before anybody sees it, and rests decoded. What it is remains what it was before.
    pub(crate) fn changed(object: K, change: impl FnOnce(K) -> K) -> Self {
        let head = Head::of(object.meta());
        let object = change(object);
        let head = head.labelled(object.meta());
        Self::resting_as(head, Rest::Decoded(Box::new(object)))
    }

    /// An object that rests as bytes, and that this handle has already looked into: the codec must make the same
    /// value of the bytes.
    pub(crate) fn packed(object: Box<K>, bytes: Box<[u8]>, codec: &Arc<DecodeContext<K>>) -> Self {
        let head = Head::of(object.meta());
        let view = View::new(object);
        let packed = Packed::new(bytes, Arc::clone(codec), Some(&view));
        let object = Self::resting_as(head, Rest::Packed(packed));
        Self { sight: Sight::Own(OnceLock::from(view)), ..object }
    }

    /// The same object, of which nobody holds the value: it goes at once.
    pub(crate) fn packed_at_rest(object: Box<K>, bytes: Box<[u8]>, codec: &Arc<DecodeContext<K>>) -> Self {
        let head = Head::of(object.meta());
        drop(object);
        Self::resting_as(head, Rest::Packed(Packed::new(bytes, Arc::clone(codec), None)))
    }
}

impl<K> Object<K> {
    /// An object that rests as bytes, of which it is known that the codec can make a value of them. With `told` it will
    /// be told to listeners.
    pub(crate) fn unseen<'a>(
        identity: Identity<'_>,
        labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        bytes: Box<[u8]>,
        codec: &Arc<DecodeContext<K>>,
        told: bool,
    ) -> Self {
        let packed = Packed::new(bytes, Arc::clone(codec), None);
        let object = Self::resting_as(Head::new(identity, labels), Rest::Packed(packed));
        if !told {
            return object;
        }
        Self { sight: Sight::Shared(Arc::new(Told::new(Arc::clone(codec)))), ..object }
    }

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

    /// The object's labels.
    pub fn labels(&self) -> Labels<'_> {
        self.stored.labels()
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
        self.stored.is_same(&other.stored)
    }

    /// Whether two handles are for the same version of the same object, as far as the server says.
    pub(crate) fn is_same_version(&self, other: &Self) -> bool {
        !self.resource_version().is_empty()
            && self.resource_version() == other.resource_version()
            && self.uid() == other.uid()
    }

    /// Whether two handles are for the same version of the same object, as far as the server says, and for the same bytes. False
    /// for objects that rest decoded.
    pub(crate) fn is_same_content(&self, other: &Self) -> bool {
        let same_bytes = || match (&self.stored.0.rest, &other.stored.0.rest) {
            (Rest::Packed(one), Rest::Packed(other)) => one.is_same_content(other),
            (Rest::Base(one), Rest::Base(other)) => one.is_same_content(other),
            _ => false,
        };
        self.is_same_version(other) && same_bytes()
    }

    /// As how many bytes the object rests; none if it rests decoded, or elsewhere.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.stored.packed_bytes()
    }

    /// As how many bytes the object rests, or arrived if it rests decoded; none if that is not known.
    pub(crate) fn bytes(&self) -> usize {
        match &self.stored.0.rest {
            Rest::Decoded(_) => self.stored.0.head.arrived_bytes(),
            Rest::Packed(_) | Rest::Base(_) => self.packed_bytes(),
            Rest::Borrowed(borrowed) => borrowed.bytes(),
        }
    }

    /// A handle that nobody else has, to an object that arrived as so many bytes.
    pub(crate) fn arrived_as(mut self, bytes: usize) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.stored.0) {
            inner.head.arrive_as(bytes);
        }
        self
    }

    /// Whether the object is decoded, so that looking into it costs nothing.
    pub fn is_decoded(&self) -> bool {
        match &self.stored.0.rest {
            Rest::Decoded(_) => true,
            Rest::Packed(packed) => self.sight.cell().get().is_some() || packed.is_decoded(),
            Rest::Base(_) => self.sight.cell().get().is_some(),
            Rest::Borrowed(borrowed) => self.sight.cell().get().is_some() || borrowed.is_decoded(),
        }
    }

    /// The value of an object that rests decoded, if nobody else has it.
    pub(crate) fn into_value(self) -> Option<Box<K>> {
        match Arc::into_inner(self.stored.0)?.rest {
            Rest::Decoded(object) => Some(object),
            Rest::Packed(_) | Rest::Base(_) | Rest::Borrowed(_) => None,
        }
    }

    /// The value of an object that rests packed, if somebody has looked through this handle.
    pub(crate) fn seen_value(&self) -> Option<Used<K>> {
        match &self.stored.0.rest {
            Rest::Packed(_) => self.sight.cell().get().cloned().map(Used::Value),
            Rest::Decoded(_) | Rest::Base(_) | Rest::Borrowed(_) => None,
        }
    }

    /// The handle as if it had never been looked through: a packed object's value goes.
    pub(crate) fn resting(self) -> Self {
        self.stored.object()
    }

    /// Whether it will be told, and nobody has looked into it.
    pub(crate) fn is_unseen(&self) -> bool {
        matches!(&self.sight, Sight::Shared(told) if told.cell().get().is_none())
    }

    /// What comes after it should be decoded before it is handed on: somebody whom all wait for has looked into it.
    pub(crate) fn came_late(&self) {
        if let Sight::Shared(told) = &self.sight {
            told.came_late();
        }
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

    #[inline]
    fn head(&self) -> &Head {
        // What is a view of another has no head of its own; how it rests is not looked at to know that.
        if self.0.head.is_empty()
            && let Rest::Borrowed(borrowed) = &self.0.rest
        {
            return borrowed.head();
        }
        &self.0.head
    }

    /// The object's labels: of one that somebody has changed, those that it has now.
    pub(crate) fn labels(&self) -> Labels<'_> {
        Labels::set(self.head().labels())
    }

    /// The number of the object's labels.
    pub(crate) fn labels_id(&self) -> LabelsId {
        self.head().labels().map_or_else(LabelsId::default, LabelSet::id)
    }

    /// As how many bytes the object rests; none if it rests decoded, or elsewhere.
    pub(crate) fn packed_bytes(&self) -> usize {
        match &self.0.rest {
            Rest::Packed(packed) => packed.len(),
            Rest::Base(base) => base.len(),
            Rest::Decoded(_) | Rest::Borrowed(_) => 0,
        }
    }

    /// How many have it.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    fn is_same(&self, other: &Self) -> bool {
        match (&self.0.rest, &other.0.rest) {
            (Rest::Borrowed(one), Rest::Borrowed(other)) => one.is_same(other),
            _ => Arc::ptr_eq(&self.0, &other.0),
        }
    }

    /// A handle to it, which has not looked into it.
    #[inline]
    pub(crate) fn object(&self) -> Object<K> {
        #[cfg(test)]
        HANDLES.set(HANDLES.get() + 1);
        Object { stored: self.clone(), sight: Sight::Own(OnceLock::new()) }
    }

    /// Its metadata: that of the value, where somebody has it, or else read without the rest.
    fn metadata<'a>(&'a self, view: &'a OnceLock<Arc<View<K>>>) -> Cow<'a, ObjectMeta>
    where
        K: Resource,
    {
        let read = match &self.0.rest {
            Rest::Packed(packed) if view.get().is_none() => packed.metadata(),
            Rest::Borrowed(borrowed) if view.get().is_none() => borrowed.metadata(),
            _ => None,
        };
        read.map_or_else(|| Cow::Borrowed(self.look(view).meta()), Cow::Owned)
    }

    /// Looks into it; what has to be decoded for that is kept where it is said.
    fn look<'a>(&'a self, view: &'a OnceLock<Arc<View<K>>>) -> &'a K {
        match &self.0.rest {
            Rest::Decoded(object) => object,
            Rest::Packed(packed) => view.get_or_init(|| packed.view()).look(),
            Rest::Base(base) => view.get_or_init(|| base.view()).look(),
            Rest::Borrowed(borrowed) => view.get_or_init(|| borrowed.view()).look(),
        }
    }
}

impl<K> Deref for Object<K> {
    type Target = K;

    fn deref(&self) -> &K {
        if let Sight::Shared(told) = &self.sight {
            told.about_to_look();
        }
        self.stored.look(self.sight.cell())
    }
}

#[cfg(test)]
thread_local! {
    /// How many handles to stored objects this thread has made.
    pub(crate) static HANDLES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// `namespace/name`, or the name alone for cluster-scoped objects.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        let sight = match &self.sight {
            Sight::Own(view) => Sight::Own(view.clone()),
            Sight::Shared(told) => Sight::Shared(Arc::clone(told)),
        };
        Self { stored: self.stored.clone(), sight }
    }
}

impl<K> Sight<K> {
    #[inline]
    fn cell(&self) -> &OnceLock<Arc<View<K>>> {
        match self {
            Sight::Own(view) => view,
            Sight::Shared(told) => told.cell(),
        }
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
