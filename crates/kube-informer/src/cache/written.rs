//! What was written to one object, and whether the copy has come so far.

use std::collections::HashMap;

use kube_core::GroupVersionResource;

use super::entry::Entry;
use crate::store::Version;

/// Which object of which resource; with an empty name any that the server may have named.
pub(super) type Of = (GroupVersionResource, String);

/// What was written through a client and has to be seen.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) written: HashMap<Of, Noted>,
    /// Writes of which it is not known whether they were done, each with the number of the last of them.
    pub(super) uncertain: HashMap<Of, u64>,
    last: u64,
}

impl Notes {
    /// A write may have been done.
    pub(super) fn doubt(&mut self, of: Of) {
        self.last += 1;
        self.uncertain.insert(of, self.last);
    }

    /// What came of this one, and those before it, is known.
    pub(super) fn settle(&mut self, of: &Of, number: u64) {
        if self.uncertain.get(of) == Some(&number) {
            self.uncertain.remove(of);
        }
    }
}

/// A write, and the epoch in which its version counts.
#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) written: Written,
    pub(super) epoch: u64,
}

impl Noted {
    /// Whether the copy has come so far, or the namespace has been listed since the server's versions began again: then the write
    /// may be gone, and its version means nothing. False while the versions have begun again and the namespace has not been listed.
    pub(super) fn is_seen(&self, entry: &Entry, key: &str) -> bool {
        let (epoch, _) = entry.progress(namespace_in(key));
        let is_listed = epoch >= entry.informer().store().epoch();
        is_listed && (epoch > self.epoch || self.written.is_seen(entry, key))
    }
}

/// What has to be seen of one object.
#[derive(Clone, Debug)]
pub(super) enum Written {
    /// At least this version.
    Version(Version),
    /// At least this version, or nothing: it is not among what the cache keeps any more.
    Left(Version),
    /// Not the object of this uid. It may be that of its deletion, or that of a write before it.
    Gone { uid: String, deleted_at: Option<Version>, written_at: Option<Version> },
}

impl Written {
    fn is_seen(&self, entry: &Entry, key: &str) -> bool {
        // In this order: the status is told of what is in the copy already.
        let reached = entry.reached(namespace_in(key));
        let snapshot = entry.informer().store().snapshot();
        let is_past = |version: &Version| reached.as_ref().is_some_and(|seen| seen >= version);
        let there = snapshot.get_key(key);
        let has = |version: &Version| {
            let seen = there.as_ref().and_then(|object| object.resource_version().parse::<Version>().ok());
            seen.is_some_and(|seen| seen >= *version) || is_past(version)
        };
        match self {
            Written::Version(version) => has(version),
            Written::Left(version) => there.is_none() || has(version),
            Written::Gone { uid, deleted_at, written_at } => {
                let is_gone = there.as_ref().is_none_or(|object| !uid.is_empty() && object.uid() != uid);
                // What was never heard of is gone only if it has been heard of what came before.
                deleted_at.as_ref().is_some_and(is_past)
                    || (is_gone && written_at.as_ref().is_none_or(is_past))
            }
        }
    }

    /// The same, after another write to the same object.
    pub(super) fn after(self, before: Option<Self>) -> Self {
        let before = before.and_then(|before| match before {
            Written::Version(version) => Some(version),
            Written::Left(_) | Written::Gone { .. } => None,
        });
        match (self, before) {
            (Written::Version(version), Some(before)) => Written::Version(version.max(before)),
            (Written::Gone { uid, deleted_at, .. }, written_at) => {
                Written::Gone { uid, deleted_at, written_at }
            }
            (written, _) => written,
        }
    }

    /// Which write it was.
    pub(super) fn in_words(&self, key: &str) -> String {
        match self {
            Written::Version(version) | Written::Left(version) => format!("at version {version}"),
            Written::Gone { .. } => format!("by deleting {key}"),
        }
    }
}

/// The namespace of what has a key; empty if it has none.
pub(super) fn namespace_in(key: &str) -> &str {
    key.split_once('/').map_or("", |(namespace, _)| namespace)
}
