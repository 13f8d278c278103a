//! What a listener hears.

use std::fmt;

use crate::object::{Object, Used};

/// A change, as a listener hears it.
#[non_exhaustive]
pub enum Event<K> {
    /// The object is new to the listener.
    Added {
        /// The object.
        object: Object<K>,
        /// It was there when the listener or the informer started.
        initial: bool,
    },
    /// The object has changed.
    Updated {
        /// What the listener saw last. If the object was deleted and made anew meanwhile, and the listener did not hear
        /// of it, it has another uid.
        old: Object<K>,
        /// What is there now.
        new: Object<K>,
        /// Nothing has changed: it is told again because the listener asked for it.
        resync: bool,
    },
    /// The object is gone.
    Deleted(Deleted<K>),
}

/// An object that is gone.
pub struct Deleted<K> {
    object: Object<K>,
    /// What was there before, if it was not this.
    before: Option<Object<K>>,
    final_state_unknown: bool,
}

impl<K> Deleted<K> {
    /// An object that the server said is gone, in the state it said.
    pub fn new(object: Object<K>) -> Self {
        Self { object, before: None, final_state_unknown: false }
    }

    /// An object that was missing from a list, in the last state that was seen.
    pub fn unseen(object: Object<K>) -> Self {
        Self { object, before: None, final_state_unknown: true }
    }

    /// Says what was there before.
    pub(crate) fn after(mut self, before: Object<K>) -> Self {
        self.before = Some(before);
        self
    }

    /// What listeners saw of it before it went.
    pub(crate) fn before(&self) -> &Object<K> {
        self.before.as_ref().unwrap_or(&self.object)
    }

    /// The object, in its last known state.
    pub fn object(&self) -> &Object<K> {
        &self.object
    }

    /// Nobody saw it go: it may have changed before it went. client-go calls this `DeletedFinalStateUnknown`.
    pub fn final_state_unknown(&self) -> bool {
        self.final_state_unknown
    }
}

impl<K> Event<K> {
    /// The object that the event is about, as it is or was last.
    pub fn object(&self) -> &Object<K> {
        match self {
            Event::Added { object, .. } => object,
            Event::Updated { new, .. } => new,
            Event::Deleted(gone) => gone.object(),
        }
    }

    /// What is over when all have heard of it: the value that the object was given for them, or else what it was before.
    pub(crate) fn used(&self) -> Option<Used<K>> {
        let before = || match self {
            Event::Updated { old, .. } => Some(Used::Object(old.clone())),
            Event::Added { .. } | Event::Deleted(_) => None,
        };
        self.object().seen_value().or_else(before)
    }

    pub(super) fn is_initial(&self) -> bool {
        matches!(self, Event::Added { initial: true, .. })
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Event::Added { object, initial } => Event::Added { object: object.clone(), initial: *initial },
            Event::Updated { old, new, resync } => {
                Event::Updated { old: old.clone(), new: new.clone(), resync: *resync }
            }
            Event::Deleted(gone) => Event::Deleted(gone.clone()),
        }
    }
}

impl<K> Clone for Deleted<K> {
    fn clone(&self) -> Self {
        Self {
            object: self.object.clone(),
            before: self.before.clone(),
            final_state_unknown: self.final_state_unknown,
        }
    }
}

/// Shows the key, never the contents.
impl<K> fmt::Debug for Event<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Added { object, initial } => {
                f.debug_struct("Added").field("object", object).field("initial", initial).finish()
            }
            Event::Updated { new, resync, .. } => {
                f.debug_struct("Updated").field("object", new).field("resync", resync).finish()
            }
            Event::Deleted(gone) => gone.fmt(f),
        }
    }
}

impl<K> fmt::Debug for Deleted<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deleted")
            .field("object", &self.object)
            .field("final_state_unknown", &self.final_state_unknown)
            .finish()
    }
}
