//! Objects that rest as bytes once, and are seen as values of several types.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{ApiResource, DynamicResourceScope, Resource};
use kube_wire::{Codec, DecodeError, DecodeOptions, Encoding, ObjectKey};
use parking_lot::Mutex;
use serde::Deserialize;

use super::head::Head;
use super::packed::{Value, View};
use super::warm::Warm;
use super::{Inner, Object, Residency, Rest, Sight, Stored};

/// An object of any type: its bytes, and what can be read without knowing the type.
#[derive(Debug, Deserialize)]
pub(crate) struct Raw {
    #[serde(default)]
    metadata: ObjectMeta,
}

impl Raw {
    /// The metadata of an object, read without the rest.
    pub(super) fn metadata_of(
        bytes: &[u8],
        encoding: Encoding,
        options: DecodeOptions,
    ) -> Option<ObjectMeta> {
        encoding.decode_object::<Self>(bytes, options).ok().map(|raw| raw.metadata)
    }

    pub(crate) fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or("")
    }

    pub(crate) fn key(&self) -> ObjectKey {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let meta = &self.metadata;
        ObjectKey::new(text(&meta.namespace), text(&meta.name), text(&meta.uid), text(&meta.resource_version))
    }

    /// The same object after somebody has changed it: what it is remains what it was.
    pub(crate) fn changed_to(self, after: Self) -> Self {
        Self { metadata: ObjectMeta { labels: after.metadata.labels, ..self.metadata } }
    }
}

impl Resource for Raw {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(kind: &ApiResource) -> Cow<'_, str> {
        kind.kind.as_str().into()
    }

    fn group(kind: &ApiResource) -> Cow<'_, str> {
        kind.group.as_str().into()
    }

    fn version(kind: &ApiResource) -> Cow<'_, str> {
        kind.version.as_str().into()
    }

    fn plural(kind: &ApiResource) -> Cow<'_, str> {
        kind.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// How bytes are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) encoding: Encoding,
    pub(crate) options: DecodeOptions,
    /// There is nothing but metadata in them.
    pub(crate) metadata_only: bool,
}

/// Bytes, and as what they have been seen.
pub(super) struct Base<K> {
    bytes: Box<[u8]>,
    form: Arc<Form>,
    decode: fn(&[u8], &Form) -> Result<Box<K>, DecodeError>,
    /// For each type what came of it: an `Arc<Seen<K>>`.
    seen: Mutex<Vec<(TypeId, Arc<dyn Any + Send + Sync>)>>,
}

impl<K> Base<K> {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether both have the same bytes, written in the same form.
    pub(super) fn is_same_content(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.form, &other.form) && self.bytes == other.bytes
    }

    #[expect(clippy::panic, reason = "the same bytes were decoded in the same way when they arrived")]
    pub(super) fn view(&self) -> Arc<View<K>> {
        match (self.decode)(&self.bytes, &self.form) {
            Ok(object) => View::new(object),
            Err(error) => panic!("an object that could be decoded cannot be any more: {error}"),
        }
    }
}

/// What came of seeing bytes as a type.
enum Seen<K> {
    Fits {
        lens: Arc<Lens<K>>,
        value: Value<K>,
        /// The value itself, if it is to stay for as long as the bytes.
        _kept: Option<Arc<View<K>>>,
    },
    Unfit(DecodeError),
}

/// How the bytes of a kind are seen as a type.
pub(crate) struct Lens<K> {
    decode: Decode<K>,
    warm: Option<Warm<K>>,
    complete: Arc<dyn Fn(&mut K) + Send + Sync>,
    /// What was seen once stays decoded for as long as the bytes are there.
    keeps: bool,
    /// Metadata alone is not enough.
    whole: bool,
}

type Decode<K> = Box<dyn Fn(&[u8], &Form, Option<Box<K>>) -> Result<Box<K>, DecodeError> + Send + Sync>;

impl<K: 'static> Lens<K> {
    /// Sees bytes as values of a type, and completes each: what a kind is, is not in the bytes.
    pub(crate) fn new(
        codec: Codec<K>,
        residency: Residency,
        whole: bool,
        complete: impl Fn(&mut K) + Send + Sync + 'static,
    ) -> Self {
        let complete: Arc<dyn Fn(&mut K) + Send + Sync> = Arc::new(complete);
        let completed = Arc::clone(&complete);
        let decode = move |bytes: &[u8], form: &Form, spare: Option<Box<K>>| {
            let mut object = codec.object(form.encoding, bytes, form.options, spare)?;
            completed(&mut object);
            Ok(object)
        };
        let warm = match residency {
            Residency::Adaptive { warm_bytes } => Some(Warm::new(warm_bytes)),
            Residency::Decoded | Residency::Packed => None,
        };
        Self { decode: Box::new(decode), warm, complete, keeps: residency == Residency::Decoded, whole }
    }
}

impl<K> Lens<K> {
    /// What a value from elsewhere is, is said in it too.
    pub(crate) fn completed(&self, mut object: K) -> K {
        (self.complete)(&mut object);
        object
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }
}

impl Object<Raw> {
    /// There is nothing but metadata in it.
    pub(crate) fn is_metadata_only(&self) -> bool {
        matches!(&self.stored.0.rest, Rest::Base(base) if base.form.metadata_only)
    }

    /// An object that can be seen as many types.
    pub(crate) fn base(object: &Raw, bytes: Box<[u8]>, form: &Arc<Form>) -> Self {
        let head = Head::of(&object.metadata);
        let decode = |bytes: &[u8], form: &Form| form.encoding.decode_object(bytes, form.options);
        let base = Base { bytes, form: Arc::clone(form), decode, seen: Mutex::new(Vec::new()) };
        Self::resting_as(head, Rest::Base(Box::new(base)))
    }

    /// The same object as a type; an error if it does not fit.
    pub(crate) fn seen_as<K: Send + Sync + 'static>(
        &self,
        lens: &Arc<Lens<K>>,
    ) -> Result<Object<K>, DecodeError> {
        let Rest::Base(base) = &self.stored.0.rest else {
            return Err(DecodeError::new(None, "there are no bytes"));
        };
        if lens.whole && base.form.metadata_only {
            return Err(DecodeError::new(None, "only its metadata has arrived"));
        }
        let mut known = base.seen.lock();
        let found = known.iter().find(|(of, _)| *of == TypeId::of::<K>());
        let found = found.and_then(|(_, seen)| Arc::clone(seen).downcast::<Seen<K>>().ok());
        let (seen, view) = match found {
            Some(seen) => (seen, None),
            None => {
                let (seen, view) = match (lens.decode)(&base.bytes, &base.form, None) {
                    Ok(object) => {
                        let view = View::new(object);
                        let value = Value::held(&view);
                        let kept = lens.keeps.then(|| Arc::clone(&view));
                        (Seen::Fits { lens: Arc::clone(lens), value, _kept: kept }, Some(view))
                    }
                    Err(error) => (Seen::Unfit(error), None),
                };
                let seen = Arc::new(seen);
                known.push((TypeId::of::<K>(), Arc::clone(&seen) as Arc<dyn Any + Send + Sync>));
                known.shrink_to_fit();
                (seen, view)
            }
        };
        drop(known);
        if let Seen::Unfit(error) = &*seen {
            return Err(error.clone());
        }
        let borrowed = Borrowed { base: self.stored.clone(), seen };
        let object = Object::resting_as(Head::empty(), Rest::Borrowed(borrowed));
        if let Some(view) = view {
            // Nobody else has the handle yet, so nothing can be there.
            let _ = object.sight.cell().set(view);
        }
        Ok(object)
    }
}

impl<K> Object<K> {
    pub(super) fn resting_as(head: Head, rest: Rest<K>) -> Self {
        Self { stored: Stored(Arc::new(Inner { head, rest })), sight: Sight::Own(OnceLock::new()) }
    }
}

/// An object that rests in another one.
pub(super) struct Borrowed<K> {
    base: Stored<Raw>,
    /// It fits.
    seen: Arc<Seen<K>>,
}

impl<K> Borrowed<K> {
    pub(super) fn head(&self) -> &Head {
        &self.base.0.head
    }

    /// As how many bytes it rests there.
    pub(super) fn bytes(&self) -> usize {
        self.base.packed_bytes()
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.base.0, &other.base.0)
    }

    pub(super) fn is_decoded(&self) -> bool {
        matches!(&*self.seen, Seen::Fits { value, .. } if value.is_held())
    }

    /// The metadata, read without the rest; none if somebody has the whole value.
    pub(super) fn metadata(&self) -> Option<ObjectMeta> {
        match &self.base.0.rest {
            Rest::Base(base) if !self.is_decoded() => {
                Raw::metadata_of(&base.bytes, base.form.encoding, base.form.options)
            }
            _ => None,
        }
    }

    #[expect(clippy::panic, reason = "a borrowed object is only made of bytes that fit")]
    pub(super) fn view(&self) -> Arc<View<K>> {
        match (&*self.seen, &self.base.0.rest) {
            (Seen::Fits { lens, value, .. }, Rest::Base(base)) => {
                let decode = |spare| (lens.decode)(&base.bytes, &base.form, spare);
                value.view(base.bytes.len(), lens.warm.as_ref(), decode)
            }
            _ => panic!("an object that does not fit was handed out"),
        }
    }
}
