//! What a watch tells.

use std::fmt;

use kube_core::Resource;
use kube_wire::DecodeError;

/// Something that happened to an object.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change<K> {
    /// The object is new to the watch.
    Added(K),
    /// The object has changed.
    Modified(K),
    /// The object is gone; this is its last state.
    Deleted(K),
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
    pub fn object(&self) -> Option<&K> {
        match self {
            Change::Added(object) | Change::Modified(object) | Change::Deleted(object) => Some(object),
            Change::Undecodable { .. } => None,
        }
    }
}

/// Shows the name, never the contents: it may be a secret.
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
        let meta = object.meta();
        f.debug_struct(word)
            .field("namespace", &meta.namespace.as_deref().unwrap_or(""))
            .field("name", &meta.name.as_deref().unwrap_or(""))
            .field("resource_version", &meta.resource_version.as_deref().unwrap_or(""))
            .finish()
    }
}
