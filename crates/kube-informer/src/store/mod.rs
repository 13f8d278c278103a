//! The copy: objects and indexes, of which every reader sees one moment.
//!
//! A [`Store`] has one writer and any number of readers. Readers take a [`Snapshot`], which costs as much as
//! taking a pointer, never changes, and answers every question about the same moment: objects, namespaces and
//! indexes. The writer changes a copy of what it changes and shares the rest, so that neither waits for the other.
//!
//! Objects come as [`Object`]s: handles that clone in no time and deref to the type. Nothing can change a stored
//! object; there is no way to ask for it.

#[cfg(test)]
mod bounds;
mod index;
mod index_guard;
mod places;
mod selected;
mod set;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;
mod tree;

pub use crate::version::Version;
pub use index::{Index, IndexError, IndexValues};
pub(crate) use index::{IndexFunction, NAMESPACE_INDEX};
pub use index_guard::IndexStatus;
pub use selected::Selected;
use snapshot::Place;
pub use snapshot::Snapshot;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kube_core::{Resource, Selector};
use kube_wire::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::hash::KeyedHash;
use crate::object::Object;
use crate::source::{Known, Scope};

/// What an index has looked into is held for those who are told, in a list of no more than so many bytes. The values of
/// all objects of a large one would be in memory at once.
const HELD_BYTES: usize = 1 << 20;

/// A copy of all objects of a kind. See the [module](self).
pub struct Store<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    current: ArcSwap<Snapshot<K>>,
    /// Held by whoever makes the next snapshot: the writer, or somebody who adds an index.
    writing: Mutex<()>,
    progress: watch::Sender<Progress>,
    /// That of all snapshots.
    hash: KeyedHash,
    /// How the functions of indexes are doing, in the order in which they were added.
    indexes: Mutex<Vec<Arc<Mutex<IndexStatus>>>>,
}

/// How far a store has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) epoch: u64,
    /// Grows with each list for which versions were not trusted.
    pub(crate) generation: u64,
    pub(crate) version: Option<Version>,
}

/// The server's resource versions began again while a caller waited for one of them.
///
/// That happens when a server's data is restored from a backup. A version from before the restore cannot be compared with the
/// versions of the store any more, and what was written at it may be gone: read the object again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server's resource versions began again, as after a restore from a backup: version {waited_for} cannot be waited for; read \
     the object again"
)]
pub struct EpochEnded {
    /// The version that the caller waited for.
    pub waited_for: Version,
}

/// What a write did to one object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Written<K> {
    /// What was there before.
    pub old: Option<Object<K>>,
    /// What is there now.
    pub new: Option<Object<K>>,
    /// The last state of an object that was removed, if it was given.
    pub last: Option<Object<K>>,
}

/// Which objects of a store are still what the server has, when a list replaces them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those whose version has not changed.
    Versions,
    /// Those whose content has not changed: the same version may stand for other content.
    Nothing,
    /// The same, and the versions of the list are of another epoch.
    NewEpoch,
}

/// One change to the store.
#[derive(Debug)]
#[non_exhaustive]
pub enum Write<K> {
    /// The object is there.
    Put(Object<K>),
    /// The object is gone; this is its last state.
    Remove(Object<K>),
    /// The object of this key is gone; nothing else is known of it.
    RemoveKey(String),
}

impl<K: Resource> Store<K> {
    /// An empty store, with the index of namespaces.
    pub fn new() -> Self {
        Self::hashing_with(KeyedHash::any())
    }

    /// The same with an order of objects that follows from a seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self::hashing_with(KeyedHash::new(seed))
    }

    fn hashing_with(hash: KeyedHash) -> Self {
        let namespaces: IndexFunction<K> = Arc::new(|object| {
            (!object.namespace().is_empty()).then(|| object.namespace().to_owned()).into_iter().collect()
        });
        let snapshot = Snapshot::empty(hash).with_index(NAMESPACE_INDEX, namespaces);
        let shared = Shared {
            current: ArcSwap::from_pointee(snapshot),
            writing: Mutex::new(()),
            progress: watch::Sender::default(),
            hash,
            indexes: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The store at this moment.
    pub fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.shared.current.load_full()
    }

    /// The object of a name; the namespace is empty for cluster-scoped kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Object<K>> {
        // Before the snapshot is taken: what is read after that is waited for.
        let hash = self.shared.hash.object(namespace, name);
        self.shared.current.load().get_hashed(hash, namespace, name)
    }

    /// All objects, in no order.
    pub fn list(&self) -> Vec<Object<K>> {
        self.select().to_vec()
    }

    /// All objects, in no order, to be looked at: none of them is touched before it is.
    pub fn select(&self) -> Selected<K> {
        Selected::new(self.snapshot(), None, &Selector::default())
    }

    /// All objects of a namespace, in no order.
    pub fn namespaced(&self, namespace: &str) -> Vec<Object<K>> {
        Selected::new(self.snapshot(), Some(namespace), &Selector::default()).to_vec()
    }

    /// Adds an index: objects by the values that a function finds in them. It may be added at any time; objects that
    /// are there are indexed at once. Packed objects are decoded for that, once when they come. An object for which the function
    /// panics has no values in the index until it changes; [`index_status`](Self::index_status) counts that.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_informer::store::Store;
    ///
    /// let store = Store::<Pod>::new();
    /// let by_node = store.add_index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone())?;
    /// assert!(by_node.get("node-1").is_empty());
    /// assert!(store.add_index("node", |pod: &Pod| pod.metadata.name.clone()).is_err());
    /// # Ok::<(), kube_informer::store::IndexError>(())
    /// ```
    pub fn add_index<V: IndexValues>(
        &self,
        name: &str,
        function: impl Fn(&K) -> V + Send + Sync + 'static,
    ) -> Result<Index<K>, IndexError> {
        self.add_index_of_handles(name, move |object: &Object<K>| function(object))
    }

    /// The same with a function that is given the handle. What identifies an object, and its labels, are readable there without
    /// decoding: an index by these costs a packed object nothing.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_informer::object::Object;
    /// use kube_informer::store::Store;
    ///
    /// let store = Store::<Pod>::new();
    /// let app = |pod: &Object<Pod>| pod.labels().get("app").map(str::to_owned);
    /// let by_app = store.add_index_of_handles("app", app)?;
    /// assert!(by_app.get("web").is_empty());
    /// # Ok::<(), kube_informer::store::IndexError>(())
    /// ```
    pub fn add_index_of_handles<V: IndexValues>(
        &self,
        name: &str,
        function: impl Fn(&Object<K>) -> V + Send + Sync + 'static,
    ) -> Result<Index<K>, IndexError> {
        self.add_index_function(name, move |object: &Object<K>| function(object).into_values())
    }

    /// The same with a function that finds all values.
    pub(crate) fn add_index_function(
        &self,
        name: &str,
        function: impl Fn(&Object<K>) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<Index<K>, IndexError> {
        let _writing = self.shared.writing.lock();
        let current = self.shared.current.load_full();
        if current.index(name).is_some() {
            return Err(IndexError::Exists { name: name.to_owned() });
        }
        let place = current.indexes().len();
        let (function, status) = index_guard::guarded(name, function);
        self.shared.indexes.lock().push(status);
        self.shared.current.store(Arc::new(current.with_index(name, function)));
        Ok(Index { shared: Store { shared: Arc::clone(&self.shared) }, place })
    }

    /// Changes many objects in one step; returns what each change did, in the same order. `version` is that of
    /// the last change, if it is known.
    pub fn write(&self, writes: Vec<Write<K>>, version: Option<&str>) -> Vec<Written<K>> {
        let _writing = self.shared.writing.lock();
        let mut next = Snapshot::clone(&self.shared.current.load());
        let mut written = Vec::with_capacity(writes.len());
        for write in writes {
            written.push(match write {
                Write::Put(object) => Written { old: next.put(&object), new: Some(object), last: None },
                Write::Remove(last) => Written { old: next.remove(last.key()), new: None, last: Some(last) },
                Write::RemoveKey(key) => Written { old: next.remove(&key), new: None, last: None },
            });
        }
        self.publish(next, version);
        written
    }

    /// Replaces everything in one step; returns what was added or changed, in the order given, and then what is gone.
    /// An object whose version has not changed stays the object it was. Objects of the keys in `kept` stay as they are,
    /// though nothing is known of what they are now.
    pub fn replace(
        &self,
        objects: Vec<Object<K>>,
        kept: &HashSet<String>,
        version: Option<&str>,
    ) -> Vec<Written<K>> {
        self.replace_in(&Scope::default(), objects, Trust::Versions, kept, version)
    }

    /// Replaces everything in a scope in one step. `trust` says which objects stay the handles they are.
    pub(crate) fn replace_in(
        &self,
        scope: &Scope,
        objects: Vec<Object<K>>,
        trust: Trust,
        kept: &HashSet<String>,
        version: Option<&str>,
    ) -> Vec<Written<K>> {
        let _writing = self.shared.writing.lock();
        let current = self.shared.current.load_full();
        let (mut next, mut written) = (Snapshot::clone(&current), Vec::with_capacity(objects.len()));
        let (mut seen, mut held) = (vec![false; current.places()], HELD_BYTES);
        next.reserve(objects.len());
        for object in objects {
            let (place, old) = current.find(object.key()).unzip();
            let seen = place.and_then(|place| seen.get_mut(place as usize));
            let again = seen.is_some_and(|seen| std::mem::replace(seen, true));
            let old = old.and_then(Place::object);
            if let Some(old) = old.clone()
                && (trust == Trust::Versions && old.is_same_version(&object) || old.is_same_content(&object))
            {
                // Something else may have come under this key before, in the same list.
                if again {
                    next.put(&old);
                }
                written.push(Written { new: Some(old.clone()), old: Some(old), last: None });
            } else {
                next.put(&object);
                let bytes = object.packed_bytes();
                let new = if bytes <= held { object } else { object.resting() };
                held = held.saturating_sub(bytes);
                written.push(Written { old, new: Some(new), last: None });
            }
        }
        for place in current.within(scope) {
            let stays = seen.get(place as usize).is_none_or(|seen| *seen);
            if let Some(object) = current.at(place).and_then(Place::object).filter(|_| !stays)
                && !kept.contains(object.key())
            {
                next.remove(object.key());
                written.push(Written { old: Some(object), new: None, last: None });
            }
        }
        next.begin_generation(trust);
        self.publish(next, version);
        written
    }

    /// The store is current up to this version, though nothing changed.
    pub fn bookmark(&self, version: &str) {
        let _writing = self.shared.writing.lock();
        let next = Snapshot::clone(&self.shared.current.load());
        self.publish(next, Some(version));
    }

    /// The version up to which the store is current; none before the first list, and while a namespace has not been listed since
    /// the epoch began.
    pub fn resource_version(&self) -> Option<Version> {
        self.shared.current.load().resource_version().cloned()
    }

    /// The epoch of the versions: a number that grows each time the server's versions begin again, as after a restore from a
    /// backup. Versions can be compared only within one epoch.
    pub fn epoch(&self) -> u64 {
        self.shared.current.load().epoch()
    }

    /// Waits until the store has seen a version: what the caller wrote at that version can be read from then on. Fails if the
    /// server's versions begin again meanwhile. Never returns if the store's informer has stopped: give it a time-out.
    pub async fn wait_until(&self, version: &Version) -> Result<(), EpochEnded> {
        let mut progress = self.shared.progress.subscribe();
        let epoch = progress.borrow().epoch;
        let reached = |seen: &Progress| {
            seen.epoch != epoch || seen.version.as_ref().is_some_and(|seen| seen >= version)
        };
        match progress.wait_for(reached).await {
            Ok(seen) if seen.epoch != epoch => Err(EpochEnded { waited_for: version.clone() }),
            // The sender lives as long as the store, so waiting cannot fail.
            _ => Ok(()),
        }
    }

    /// Says that something may have changed.
    pub(crate) fn watch_changes(&self) -> watch::Receiver<Progress> {
        self.shared.progress.subscribe()
    }

    fn publish(&self, mut next: Snapshot<K>, version: Option<&str>) {
        // Within an epoch versions never go back: a server that is behind another one must not make readers believe the past.
        if let Some(version) = version.and_then(|text| text.parse::<Version>().ok())
            && next.resource_version().is_none_or(|seen| version > *seen)
        {
            next.set_version(version);
        }
        let (epoch, generation) = (next.epoch(), next.generation());
        let progress = Progress { epoch, generation, version: next.resource_version().cloned() };
        self.shared.current.store(Arc::new(next));
        // Also if the version stands still: that of several namespaces is the oldest of theirs.
        self.shared.progress.send_replace(progress);
    }
}

impl<K> Store<K> {
    /// How the functions of the indexes that were added are doing, in the order in which they were added.
    pub fn index_status(&self) -> Vec<IndexStatus> {
        self.shared.indexes.lock().iter().map(|status| status.lock().clone()).collect()
    }
}

impl<K: Resource + Send + Sync + 'static> Known<K> for Store<K> {
    fn is_empty(&self) -> bool {
        self.shared.current.load().is_empty()
    }

    fn find(&self, key: &ObjectKey) -> Option<Object<K>> {
        let known = self.get(&key.namespace, &key.name)?;
        let same = !key.resource_version.is_empty()
            && known.resource_version() == key.resource_version
            && known.uid() == key.uid;
        same.then_some(known)
    }
}

impl<K: Resource> Default for Store<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

/// Shows counts, never contents: there may be secrets.
impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.current.load().fmt(f)
    }
}
