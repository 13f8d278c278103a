//! What was written to one object, and whether the copy has come so far.

use std::collections::HashMap;
use std::sync::Arc;

use kube_core::GroupVersionResource;
use kube_core::ObjectMeta;

use super::entry::Entry;
use crate::store::Version;

/// Which object of which resource; with an empty name any that the server may have named, and with [`ANY`] for a name any.
pub(super) type Of = (GroupVersionResource, String);

/// Stands for the names of all objects of a namespace, or of all there are. No object has this name.
pub(super) const ANY: &str = "*";

/// With more writes noted, those that the copy has seen are forgotten. With more uncertain writes, they are noted by namespace.
pub(super) const MANY_NOTES: usize = 10_000;

/// What was written through a client and has to be seen.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) written: HashMap<Of, Noted>,
    /// Writes of which it is not known whether they were done, each with the number of the last of them.
    pub(super) uncertain: HashMap<Of, u64>,
    last: u64,
}

impl Notes {
    /// Notes that a write may have been done. Where that would be too many notes, one stands for all writes to a namespace, and
    /// where that does not help, for all writes to a resource.
    pub(super) fn doubt(&mut self, of: Of) {
        self.last += 1;
        let (resource, key) = &of;
        let known = [key.clone(), any_in(namespace_in(key)), ANY.to_owned()];
        let known =
            known.into_iter().find(|key| self.uncertain.contains_key(&(resource.clone(), key.clone())));
        if let Some(key) = known {
            self.uncertain.insert((of.0, key), self.last);
            return;
        }
        self.uncertain.insert(of, self.last);
        if self.uncertain.len() > MANY_NOTES {
            self.merge(|key| any_in(namespace_in(key)));
        }
        if self.uncertain.len() > MANY_NOTES {
            self.merge(|_| ANY.to_owned());
        }
    }

    /// Notes uncertain writes under other keys.
    fn merge(&mut self, key: impl Fn(&str) -> String) {
        for ((resource, of), number) in std::mem::take(&mut self.uncertain) {
            let latest = self.uncertain.entry((resource, key(&of))).or_default();
            *latest = number.max(*latest);
        }
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
        let progress = entry.progress(namespace_in(key));
        let is_listed = !progress.epoch_is_due && progress.epoch >= entry.informer().store().epoch();
        is_listed && (progress.epoch > self.epoch || self.written.is_seen(entry, key))
    }
}

/// What the copy had when a request was sent. A server that was not restored from a backup answers at no lower version.
pub(super) struct Before {
    entry: Arc<Entry>,
    namespace: String,
    epoch: u64,
    /// The uid and the version of the object that is asked about.
    object: Option<(String, Version)>,
    /// The version up to which the namespace was current.
    reached: Option<Version>,
}

impl Before {
    /// What the copy has now; none while its versions mean nothing.
    pub(super) fn new(entry: Arc<Entry>, key: &str) -> Option<Self> {
        let namespace = namespace_in(key).to_owned();
        // In this order: the snapshot is no older than the status.
        let progress = entry.progress(&namespace);
        let snapshot = entry.informer().store().snapshot();
        if progress.epoch_is_due || progress.epoch != snapshot.epoch() {
            return None;
        }
        let object = snapshot.get_key(key).and_then(|object| {
            let version = object.resource_version().parse().ok()?;
            Some((object.uid().to_owned(), version))
        });
        Some(Self { entry, namespace, epoch: progress.epoch, object, reached: progress.reached })
    }

    /// Takes in the answer. Asks for a list if the answer proves that the server's versions went back: the object has a lower version
    /// than in the copy, or was created at a version that the copy had reached. A write that changes nothing is answered with the
    /// object's own version, so the version that the copy had reached proves nothing then.
    pub(super) fn answered(&self, meta: &ObjectMeta, is_new: bool) {
        let Some(version) =
            meta.resource_version.as_deref().and_then(|version| version.parse::<Version>().ok())
        else {
            return;
        };
        let uid = meta.uid.as_deref().unwrap_or_default();
        let is_same = |known: &str| !uid.is_empty() && uid == known;
        let went_back = self.object.as_ref().is_some_and(|(known, at)| is_same(known) && version < *at)
            || (is_new && self.reached.as_ref().is_some_and(|reached| version <= *reached));
        if went_back {
            self.entry.informer().epoch_ended(&self.namespace, self.epoch);
        }
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

/// The key that stands for all objects of a namespace.
pub(super) fn any_in(namespace: &str) -> String {
    crate::object::key(namespace, ANY)
}

/// The namespace of what has a key; empty if it has none.
pub(super) fn namespace_in(key: &str) -> &str {
    key.split_once('/').map_or("", |(namespace, _)| namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The notes of many uncertain writes, each to an object of its own.
    fn doubted(key: impl Fn(usize) -> String, writes: usize) -> (Notes, GroupVersionResource) {
        let (mut notes, resource) = (Notes::default(), GroupVersionResource::gvr("", "v1", "configmaps"));
        for number in 0..writes {
            notes.doubt((resource.clone(), key(number)));
            assert!(notes.uncertain.len() <= MANY_NOTES);
        }
        (notes, resource)
    }

    #[test]
    fn uncertain_writes_are_bounded_and_noted_by_namespace_where_they_are_too_many() {
        let writes = 2 * MANY_NOTES;
        let (mut notes, resource) = doubted(|number| format!("n-{}/o-{number}", number % 2), writes);
        let of = |key: &str| (resource.clone(), key.to_owned());
        assert_eq!(notes.uncertain.len(), 2);
        assert_eq!(notes.uncertain.get(&of("n-1/*")), Some(&(writes as u64)));
        notes.settle(&of("n-1/*"), writes as u64 - 2);
        assert!(notes.uncertain.contains_key(&of("n-1/*")), "a later write is uncertain");
        notes.settle(&of("n-1/*"), writes as u64);
        notes.doubt(of("n-1/o-1"));
        assert!(notes.uncertain.contains_key(&of("n-1/o-1")), "few are noted one by one again");
    }

    #[test]
    fn uncertain_writes_to_too_many_namespaces_are_noted_by_resource() {
        let (notes, resource) = doubted(|number| format!("n-{number}/o"), MANY_NOTES + 5);
        assert_eq!(notes.uncertain.get(&(resource, ANY.to_owned())), Some(&(MANY_NOTES as u64 + 5)));
        assert_eq!(notes.uncertain.len(), 1);
        let (notes, _) = doubted(|number| format!("node-{number}"), MANY_NOTES + 5);
        assert_eq!(notes.uncertain.len(), 1, "without namespaces");
    }
}
