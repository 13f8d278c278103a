//! What a watch tells.

use std::fmt;

use kube_core::Resource;
use kube_wire::DecodeError;

use crate::object::Object;

/// Something that happened to an object.
#[non_exhaustive]
pub enum Change<K> {
    /// The object is new to the watch.
    Added(Object<K>),
    /// The object has changed.
    Modified(Object<K>),
    /// The object is gone; this is its last state.
    Deleted(Object<K>),
    /// Something happened to an object that is not what its type says.
    Undecodable {
        /// `ADDED`, `MODIFIED` or `DELETED`.
        event: String,
        /// Which object, and why.
        error: DecodeError,
    },
}

impl<K> Change<K> {
    /// The object, as it is or was last; none if it could not be decoded.
    pub fn object(&self) -> Option<&Object<K>> {
        match self {
            Change::Added(object) | Change::Modified(object) | Change::Deleted(object) => Some(object),
            Change::Undecodable { .. } => None,
        }
    }
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        match self {
            Change::Added(object) => Change::Added(object.clone()),
            Change::Modified(object) => Change::Modified(object.clone()),
            Change::Deleted(object) => Change::Deleted(object.clone()),
            Change::Undecodable { event, error } => {
                Change::Undecodable { event: event.clone(), error: error.clone() }
            }
        }
    }
}

/// Shows the key, never the contents: it may be a secret.
impl<K: Resource> fmt::Debug for Change<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, object) = match self {
            Change::Added(object) => ("Added", object),
            Change::Modified(object) => ("Modified", object),
            Change::Deleted(object) => ("Deleted", object),
            Change::Undecodable { event, error } => {
                return f
                    .debug_struct("Undecodable")
                    .field("event", event)
                    .field("object", &error.key)
                    .finish();
            }
        };
        f.debug_struct(word)
            .field("object", &object.key())
            .field("resource_version", &object.resource_version())
            .finish()
    }
}
