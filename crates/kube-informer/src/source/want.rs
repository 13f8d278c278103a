//! How a reader wants objects.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use kube_core::Resource;
use kube_wire::{DecodeError, Encoding, ObjectKey, ProtoMetadata};
use tokio_util::task::TaskTracker;

use crate::object::{DecodeContext, Identity, Object, Residency, Spent, Warm};
use crate::panics;
use crate::projection::is_projection;

/// Changes an object before anybody sees it.
pub(crate) type Transform<K> = Arc<dyn Fn(K) -> K + Send + Sync>;

/// Makes a handle of an object and its bytes.
pub(crate) type Make<K> = Arc<dyn Fn(K, Box<[u8]>, Written) -> Result<Object<K>, DecodeError> + Send + Sync>;

/// How bytes are written, and whether there is nothing but metadata in them.
pub(crate) type Written = (Encoding, bool);

/// What a reader has already.
pub trait Known<K>: Send + Sync + 'static {
    /// It has nothing.
    fn is_empty(&self) -> bool;

    /// The object of a key, if it is there in that version.
    fn find(&self, key: &ObjectKey) -> Option<Object<K>>;
}

/// While this lives, a source reuses no object that the reader has: the same uid and version may stand for other content. A list that was taken so [carries it](crate::queue::Delta::Replaced) until the reader has the list's objects.
#[derive(Debug)]
pub struct Distrust(#[expect(dead_code, reason = "it is counted")] Arc<()>);

/// How a reader wants objects: how they are to rest, what is to be done to them first, and which ones it has already.
///
/// A [source](super::ListWatch) makes handles of objects with [`take`](Self::take), and may ask
/// [`known`](Self::known) before it decodes.
pub struct Want<K> {
    residency: Residency,
    transform: Option<Transform<K>>,
    known: Option<Box<dyn Known<K>>>,
    /// Shared with each [`Distrust`] that lives.
    trust: Arc<()>,
    /// The tasks that decode.
    tasks: TaskTracker,
    /// Makes a handle of an object and its bytes, in a way of its own.
    make: Option<Make<K>>,
    /// One for JSON and one for protobuf: a server may answer in either.
    codecs: [OnceLock<Arc<DecodeContext<K>>>; 2],
    /// What the reader has replaced, for those who decode to make new ones of.
    spent: Arc<Spent<K>>,
}

impl<K: Resource + 'static> Want<K> {
    /// Objects as they come, decoded.
    pub fn new() -> Self {
        Self {
            residency: Residency::Decoded,
            transform: None,
            known: None,
            trust: Arc::default(),
            tasks: TaskTracker::new(),
            make: None,
            codecs: [const { OnceLock::new() }; 2],
            spent: Arc::default(),
        }
    }

    /// How objects are to rest. Objects that are changed by a [transform](Self::transform) rest decoded: the bytes are
    /// not theirs any more.
    #[must_use]
    pub fn residency(mut self, residency: Residency) -> Self {
        self.residency = residency;
        self
    }

    /// Changes each object, exactly once, before anybody sees it. One for which it panics counts as undecodable, and is asked for
    /// again, ever more rarely.
    #[must_use]
    pub fn transform(mut self, transform: impl Fn(K) -> K + Send + Sync + 'static) -> Self {
        self.transform = Some(Arc::new(transform));
        self
    }

    /// What the reader has already, for example in its store: that need not be decoded again.
    #[must_use]
    pub fn knowing(mut self, known: impl Known<K>) -> Self {
        self.known = Some(Box::new(known));
        self
    }

    /// Reuses nothing that the reader has while the returned guard lives.
    pub(crate) fn distrust_known(&self) -> Distrust {
        Distrust(Arc::clone(&self.trust))
    }

    /// Makes a handle of an object and its bytes with a function, instead of as [residency](Self::residency) and
    /// [transform](Self::transform) say.
    pub(crate) fn making(mut self, make: Option<Make<K>>) -> Self {
        self.make = make;
        self
    }

    /// Tracks the tasks that decode, for those who wait for their end.
    pub(crate) fn tasks(mut self, tasks: TaskTracker) -> Self {
        self.tasks = tasks;
        self
    }

    pub(crate) fn tracker(&self) -> TaskTracker {
        self.tasks.clone()
    }

    pub(crate) fn spent(&self) -> &Arc<Spent<K>> {
        &self.spent
    }

    /// The object of a key, if the reader has it in that version. The key is only asked for if it has any.
    pub fn known(&self, key: impl FnOnce() -> Option<ObjectKey>) -> Option<Object<K>> {
        let trusted = self.known.as_ref().filter(|_| Arc::strong_count(&self.trust) == 1);
        let known = trusted.filter(|known| !known.is_empty())?;
        known.find(&key()?)
    }

    /// Makes a handle of an object that has arrived.
    pub fn take(&self, object: K) -> Result<Object<K>, DecodeError> {
        self.take_boxed(Box::new(object))
    }

    fn take_boxed(&self, object: Box<K>) -> Result<Object<K>, DecodeError> {
        let Some(transform) = &self.transform else { return Ok(Object::boxed(object)) };
        let meta = object.meta();
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let key = ObjectKey::new(
            text(&meta.namespace),
            text(&meta.name),
            text(&meta.uid),
            text(&meta.resource_version),
        );
        let changed = AssertUnwindSafe(|| Object::changed(*object, |object| transform(object)));
        catch_unwind(changed)
            .map_err(|panic| DecodeError::panicked(Some(Box::new(key)), panics::transform(panic)))
    }

    /// Whether the bytes of objects are wanted.
    pub(crate) fn packs(&self) -> bool {
        let rests_as_bytes = self.residency != Residency::Decoded && self.transform.is_none();
        self.make.is_some() || (rests_as_bytes && !is_projection::<K>())
    }

    /// Makes a handle of an object that has arrived as bytes: those that it is to rest as, if it is to rest as bytes.
    /// With `at_rest` nobody is about to look into it.
    pub(crate) fn take_bytes(
        &self,
        object: Box<K>,
        written: Written,
        bytes: Option<Box<[u8]>>,
        at_rest: bool,
        codec: impl FnOnce(Option<Warm<K>>) -> DecodeContext<K>,
    ) -> Result<Object<K>, DecodeError> {
        if let Some(make) = &self.make {
            let none = || DecodeError::new(None, "its bytes are malformed");
            return make(*object, bytes.ok_or_else(none)?, written);
        }
        let warm = match self.residency {
            Residency::Packed => None,
            Residency::Adaptive { warm_bytes } => Some(warm_bytes),
            Residency::Decoded => return self.take_boxed(object),
        };
        if self.transform.is_some() {
            return self.take_boxed(object);
        }
        let Some(bytes) = bytes else { return self.take_boxed(object) };
        let codec = self.codec(written.0, warm, codec);
        Ok(match at_rest {
            true => Object::packed_at_rest(object, bytes, codec),
            false => Object::packed(object, bytes, codec),
        })
    }

    /// Whether objects need not be decoded when they arrive, if they are known to be right: they rest as bytes, and the
    /// type takes whatever is right.
    pub(crate) fn takes_unseen(&self) -> bool {
        // Types of other crates may be of another mind about what is right.
        self.make.is_none() && self.packs()
    }

    /// Whether the next object should be decoded before it is told, though it need not be.
    pub(crate) fn decodes_ahead(&self, encoding: Encoding) -> bool {
        self.codecs[slot(encoding)].get().is_some_and(|codec| codec.ahead().take())
    }

    /// Makes a handle of an object that has arrived as bytes, and that nobody has looked into.
    pub(crate) fn take_unseen(
        &self,
        metadata: ProtoMetadata<'_>,
        bytes: Box<[u8]>,
        encoding: Encoding,
        at_rest: bool,
        codec: impl FnOnce(Option<Warm<K>>) -> DecodeContext<K>,
    ) -> Object<K> {
        let warm = match self.residency {
            Residency::Adaptive { warm_bytes } => Some(warm_bytes),
            Residency::Packed | Residency::Decoded => None,
        };
        let codec = self.codec(encoding, warm, codec);
        let identity = Identity {
            namespace: metadata.namespace(),
            name: metadata.name(),
            uid: metadata.uid(),
            resource_version: metadata.resource_version(),
        };
        Object::unseen(identity, metadata.labels(), bytes, codec, !at_rest)
    }

    fn codec(
        &self,
        encoding: Encoding,
        warm: Option<usize>,
        make: impl FnOnce(Option<Warm<K>>) -> DecodeContext<K>,
    ) -> &Arc<DecodeContext<K>> {
        self.codecs[slot(encoding)].get_or_init(|| Arc::new(make(warm.map(Warm::new))))
    }
}

/// Which codec is for an encoding.
fn slot(encoding: Encoding) -> usize {
    usize::from(encoding != Encoding::Json)
}

impl<K: Resource + 'static> Default for Want<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for Want<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Want").field("residency", &self.residency).finish_non_exhaustive()
    }
}
