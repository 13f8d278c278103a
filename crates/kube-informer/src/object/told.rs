//! Objects that have just arrived, and are told to listeners.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::packed::{DecodeContext, View};

/// Of the objects that are decoded before they are told, one in so many is not: to see whether anybody looks.
const PROBE: usize = 64;

/// Whether objects that rest as bytes are decoded before they are told.
///
/// They need not be: what nobody looks into is never decoded, and one listener decodes what it looks into when its turn
/// comes. But where several look into the same object at the same time, all but one have to wait; and where an index looks,
/// everything has to. Then objects are decoded before, many at a time, until there is one that nobody has looked into.
#[derive(Default)]
pub(crate) struct Ahead {
    on: AtomicBool,
    /// How often it was asked since.
    asked: AtomicUsize,
}

impl Ahead {
    /// Whether the next object should be decoded before it is told.
    pub(crate) fn take(&self) -> bool {
        self.on.load(Ordering::Relaxed) && !self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(PROBE)
    }

    fn set(&self, on: bool) {
        // Written only if it changes: everybody reads it.
        if self.on.load(Ordering::Relaxed) != on {
            self.on.store(on, Ordering::Relaxed);
        }
    }
}

/// The value of an object that is told to listeners: all of them look through this.
pub(super) struct Told<K> {
    view: OnceLock<Arc<View<K>>>,
    /// Somebody is about to decode it, or has.
    begun: AtomicBool,
    codec: Arc<DecodeContext<K>>,
}

impl<K> Told<K> {
    /// One that nobody has looked at.
    pub(super) fn new(codec: Arc<DecodeContext<K>>) -> Self {
        Self { view: OnceLock::new(), begun: AtomicBool::new(false), codec }
    }

    /// The value, once somebody has looked.
    pub(super) fn cell(&self) -> &OnceLock<Arc<View<K>>> {
        &self.view
    }

    /// Somebody is about to look, and has to wait if another is just decoding it.
    pub(super) fn about_to_look(&self) {
        if self.view.get().is_none() && self.begun.swap(true, Ordering::Relaxed) {
            self.came_late();
        }
    }

    /// Somebody had to wait for its value.
    pub(super) fn came_late(&self) {
        self.codec.ahead().set(true);
    }
}

/// If nobody has looked, others need not be decoded before somebody does.
impl<K> Drop for Told<K> {
    fn drop(&mut self) {
        if self.view.get().is_none() {
            self.codec.ahead().set(false);
        }
    }
}
