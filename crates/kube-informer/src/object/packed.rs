//! Objects that rest as bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_wire::{DecodeError, DecodeOptions, Encoding};
use parking_lot::Mutex;

use super::raw::Raw;
use super::told::Ahead;
use super::warm::Warm;

/// Makes a value of bytes, and of a value that nobody needs any more.
type Decode<K> = Box<dyn Fn(&[u8], Option<Box<K>>) -> Result<Box<K>, DecodeError> + Send + Sync>;

/// Makes values of the bytes of one kind.
pub(crate) struct DecodeContext<K> {
    decode: Decode<K>,
    warm: Option<Warm<K>>,
    /// How the bytes are written, if that is known: then a part of them can be read.
    written: Option<(Encoding, DecodeOptions)>,
    /// Whether it is done before objects are told.
    ahead: Ahead,
}

impl<K> DecodeContext<K> {
    /// Decodes with a function, and keeps values at hand.
    pub(crate) fn new(
        decode: impl Fn(&[u8], Option<Box<K>>) -> Result<Box<K>, DecodeError> + Send + Sync + 'static,
        warm: Option<Warm<K>>,
    ) -> Self {
        Self { decode: Box::new(decode), warm, written: None, ahead: Ahead::default() }
    }

    /// The same for bytes that are written so.
    pub(crate) fn of_bytes_in(self, encoding: Encoding, options: DecodeOptions) -> Self {
        Self { written: Some((encoding, options)), ..self }
    }

    /// Whether the next object should be decoded before it is told.
    pub(crate) fn ahead(&self) -> &Ahead {
        &self.ahead
    }
}

/// An object as bytes.
pub(super) struct Packed<K> {
    bytes: Box<[u8]>,
    codec: Arc<DecodeContext<K>>,
    value: Value<K>,
}

impl<K> Packed<K> {
    /// Bytes, and the value that somebody holds already, if there is one.
    pub(super) fn new(bytes: Box<[u8]>, codec: Arc<DecodeContext<K>>, view: Option<&Arc<View<K>>>) -> Self {
        Self { bytes, codec, value: view.map_or_else(Value::default, Value::held) }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether both are decoded from the same bytes, in the same way.
    pub(super) fn is_same_content(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.codec, &other.codec) && self.bytes == other.bytes
    }

    pub(super) fn is_decoded(&self) -> bool {
        self.value.is_held()
    }

    /// The metadata, read without the rest; none if somebody has the whole value, or it cannot be read so.
    pub(super) fn metadata(&self) -> Option<ObjectMeta> {
        let (encoding, options) = self.codec.written.filter(|_| !self.is_decoded())?;
        Raw::metadata_of(&self.bytes, encoding, options)
    }

    pub(super) fn view(&self) -> Arc<View<K>> {
        let warm = self.codec.warm.as_ref();
        self.value.view(self.bytes.len(), warm, |spare| (self.codec.decode)(&self.bytes, spare))
    }
}

/// The value of bytes, while somebody holds it.
pub(super) struct Value<K>(Mutex<Held<K>>);

struct Held<K> {
    view: Weak<View<K>>,
    /// Somebody has come for it before.
    looked: bool,
}

impl<K> Value<K> {
    /// One that somebody holds.
    pub(super) fn held(view: &Arc<View<K>>) -> Self {
        Self(Mutex::new(Held { view: Arc::downgrade(view), looked: false }))
    }

    pub(super) fn is_held(&self) -> bool {
        self.0.lock().view.strong_count() > 0
    }

    /// The value: that of whoever holds it already, or else made of so many bytes, as it was before.
    #[expect(clippy::panic, reason = "the same bytes were decoded in the same way when they arrived")]
    pub(super) fn view(
        &self,
        bytes: usize,
        warm: Option<&Warm<K>>,
        decode: impl FnOnce(Option<Box<K>>) -> Result<Box<K>, DecodeError>,
    ) -> Arc<View<K>> {
        let mut held = self.0.lock();
        let again = std::mem::replace(&mut held.looked, true);
        if let Some(view) = held.view.upgrade() {
            view.want();
            return view;
        }
        let view = match decode(warm.and_then(Warm::take_spare)) {
            Ok(object) => View::new(object),
            Err(error) => panic!("an object that could be decoded cannot be any more: {error}"),
        };
        held.view = Arc::downgrade(&view);
        drop(held);
        if let Some(warm) = warm {
            warm.keep(Arc::clone(&view), bytes, again);
        }
        view
    }
}

/// One that nobody holds.
impl<K> Default for Value<K> {
    fn default() -> Self {
        Self(Mutex::new(Held { view: Weak::new(), looked: false }))
    }
}

/// The value of a packed object, shared by all who look at it.
pub(crate) struct View<K> {
    /// Apart from the rest: whoever holds the view weakly keeps the memory of the view, but not of the value.
    object: Box<K>,
    /// Somebody else has wanted it since this was last asked.
    wanted: AtomicBool,
}

impl<K> View<K> {
    pub(super) fn new(object: Box<K>) -> Arc<Self> {
        Arc::new(Self { object, wanted: AtomicBool::new(false) })
    }

    pub(super) fn look(&self) -> &K {
        &self.object
    }

    pub(super) fn into_value(self) -> Box<K> {
        self.object
    }

    /// Somebody has come for it who did not have it.
    fn want(&self) {
        // Written only if it changes: many may come at the same time.
        if !self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Whether somebody has wanted it since the last time this was asked.
    pub(super) fn take_wanted(&self) -> bool {
        self.wanted.swap(false, Ordering::Relaxed)
    }
}
