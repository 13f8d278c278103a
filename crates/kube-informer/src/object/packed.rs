//! Objects that rest as bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use kube_wire::DecodeError;
use parking_lot::Mutex;

use super::warm::Warm;

type Decode<K> = Box<dyn Fn(&[u8]) -> Result<K, DecodeError> + Send + Sync>;

/// Makes values of the bytes of one kind.
pub(crate) struct Codec<K> {
    decode: Decode<K>,
    warm: Option<Warm<K>>,
}

impl<K> Codec<K> {
    /// Decodes with a function, and keeps values at hand.
    pub(crate) fn new(
        decode: impl Fn(&[u8]) -> Result<K, DecodeError> + Send + Sync + 'static,
        warm: Option<Warm<K>>,
    ) -> Self {
        Self { decode: Box::new(decode), warm }
    }

    pub(crate) fn decode(&self, bytes: &[u8]) -> Result<K, DecodeError> {
        (self.decode)(bytes)
    }
}

/// An object as bytes.
pub(super) struct Packed<K> {
    bytes: Box<[u8]>,
    codec: Arc<Codec<K>>,
    /// The value, while somebody holds it.
    shared: Mutex<Weak<View<K>>>,
}

impl<K> Packed<K> {
    /// Bytes, and the value that somebody holds already, if there is one.
    pub(super) fn new(bytes: Box<[u8]>, codec: Arc<Codec<K>>, view: Option<&Arc<View<K>>>) -> Self {
        Self { bytes, codec, shared: Mutex::new(view.map_or_else(Weak::new, Arc::downgrade)) }
    }

    pub(super) fn is_decoded(&self) -> bool {
        self.shared.lock().strong_count() > 0
    }

    /// The value: that of whoever holds it already, or else made of the bytes.
    #[expect(clippy::panic, reason = "the same bytes were decoded by the same codec when they arrived")]
    pub(super) fn view(&self) -> Arc<View<K>> {
        let mut shared = self.shared.lock();
        if let Some(view) = shared.upgrade() {
            return view;
        }
        let view = match self.codec.decode(&self.bytes) {
            Ok(object) => View::new(object),
            Err(error) => panic!("an object that could be decoded cannot be any more: {error}"),
        };
        *shared = Arc::downgrade(&view);
        drop(shared);
        if let Some(warm) = &self.codec.warm {
            warm.keep(Arc::clone(&view), self.bytes.len());
        }
        view
    }
}

/// The value of a packed object, shared by all who look at it.
pub(super) struct View<K> {
    /// Apart from the rest: whoever holds the view weakly keeps the memory of the view, but not of the value.
    object: Box<K>,
    /// Somebody has looked since it was last asked.
    looked: AtomicBool,
}

impl<K> View<K> {
    pub(super) fn new(object: K) -> Arc<Self> {
        Arc::new(Self { object: Box::new(object), looked: AtomicBool::new(false) })
    }

    pub(super) fn look(&self) -> &K {
        // Written only if it changes: many may look at the same time.
        if !self.looked.load(Ordering::Relaxed) {
            self.looked.store(true, Ordering::Relaxed);
        }
        &self.object
    }

    /// Whether somebody has looked since the last time this was asked.
    pub(super) fn take_looked(&self) -> bool {
        self.looked.swap(false, Ordering::Relaxed)
    }
}
