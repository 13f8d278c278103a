//! A store at one moment.

use std::fmt;
use std::sync::Arc;

use super::index::{IndexFunction, Indexed};
use super::places::Near;
use super::set::Set;
use super::table::{Slot, Table};
use super::{Trust, Version};
use crate::hash::KeyedHash;
use crate::object::{Object, ObjectRef, Stored};
use crate::source::Scope;

/// A store at one moment: it never changes, and everything read from it belongs together.
///
/// Each object has a place, which the hash of its key says. Those who find it in an index remember its place.
pub struct Snapshot<K> {
    objects: Table<Stored<K>>,
    /// As how many bytes they rest.
    packed_bytes: usize,
    /// The first is the index of namespaces.
    indexes: Vec<Arc<Indexed<K>>>,
    /// Hashes keys, and the values of indexes.
    hash: KeyedHash,
    version: Option<Version>,
    epoch: u64,
    generation: u64,
}

/// A place, with an object or without.
pub(super) type Place<K> = Slot<Stored<K>>;

impl<K> Snapshot<K> {
    /// The object of a name; the namespace is empty for cluster-scoped kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Object<K>> {
        self.get_hashed(self.hash.object(namespace, name), namespace, name)
    }

    /// The object of a name with this hash.
    #[inline]
    pub(super) fn get_hashed(&self, hash: u64, namespace: &str, name: &str) -> Option<Object<K>> {
        let is_it = |stored: &Stored<K>| {
            let key = stored.key();
            if namespace.is_empty() {
                return key == name;
            }
            key.strip_prefix(namespace).and_then(|rest| rest.strip_prefix('/')) == Some(name)
        };
        self.objects.find(hash, is_it)?.1.object()
    }

    /// The object of a key: `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn get_key(&self, key: &str) -> Option<Object<K>> {
        self.find(key)?.1.object()
    }

    /// All objects, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Object<K>> {
        self.objects.iter_near().filter_map(Place::object)
    }

    /// All objects, in no order, borrowed: none of them is touched before it is looked at.
    pub fn refs(&self) -> impl Iterator<Item = ObjectRef<'_, K>> {
        self.all().filter_map(Place::borrow)
    }

    /// All objects of a namespace, in no order.
    pub fn namespaced(&self, namespace: &str) -> impl Iterator<Item = Object<K>> + use<'_, K> {
        self.refs_in(namespace).map(|object| object.to_object())
    }

    /// All objects of a namespace, in no order, borrowed.
    pub fn refs_in(&self, namespace: &str) -> impl Iterator<Item = ObjectRef<'_, K>> + use<'_, K> {
        self.in_index(self.indexes.first(), namespace)
    }

    /// The objects with a value in the index of a name; none if there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Option<impl Iterator<Item = Object<K>>> {
        Some(self.in_index(Some(self.index(index)?), value).map(|object| object.to_object()))
    }

    /// How many objects have a value in the index of a name; none if there is no such index.
    pub(crate) fn count(&self, index: &str, value: &str) -> Option<usize> {
        Some(self.index(index)?.count(value))
    }

    /// Whether the object of a key has a value in the index of a name.
    pub(crate) fn is_in(&self, index: &str, value: &str, key: &str) -> bool {
        let place = self.find(key);
        place.is_some_and(|(place, _)| self.index(index).is_some_and(|index| index.has(value, place)))
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// There are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As how many bytes objects rest; those that rest decoded are not counted. No object is touched for that.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.packed_bytes
    }

    /// The version up to which it was current; see [`Store::resource_version`](super::Store::resource_version).
    pub fn resource_version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// The epoch of its version; see [`Store::epoch`](super::Store::epoch).
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many lists have replaced objects without trust in their versions.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Counts a list for which versions were not trusted, and begins the epoch that it begins, of which no version has been seen.
    pub(super) fn begin_generation(&mut self, trust: Trust) {
        self.generation += u64::from(trust != Trust::Versions);
        if trust == Trust::NewEpoch {
            self.epoch += 1;
            self.version = None;
        }
    }

    pub(super) fn empty(hash: KeyedHash) -> Self {
        Self {
            objects: Table::new(),
            packed_bytes: 0,
            indexes: Vec::new(),
            hash,
            version: None,
            epoch: 0,
            generation: 0,
        }
    }

    /// How many places there are.
    pub(super) fn places(&self) -> usize {
        self.objects.places()
    }

    /// What is in a place.
    pub(super) fn at(&self, place: u32) -> Option<&Place<K>> {
        self.objects.get(place)
    }

    /// All places that have an object.
    pub(super) fn all(&self) -> impl Iterator<Item = &Place<K>> {
        self.objects.iter()
    }

    pub(super) fn in_index<'a>(
        &'a self,
        index: Option<&'a Arc<Indexed<K>>>,
        value: &str,
    ) -> impl Iterator<Item = ObjectRef<'a, K>> + use<'a, K> {
        let places = index.and_then(|index| index.get(value)).into_iter().flat_map(Set::iter);
        places.filter_map(|place| self.at(place)?.borrow())
    }

    /// The place of a key, and what is there.
    pub(super) fn find(&self, key: &str) -> Option<(u32, &Place<K>)> {
        // The first list comes into a store that is empty.
        if self.is_empty() {
            return None;
        }
        self.objects.find(self.hash.key(key), |stored| stored.key() == key)
    }

    /// The places of the objects that a scope covers.
    pub(super) fn within(&self, scope: &Scope) -> Vec<u32> {
        match &scope.namespace {
            Some(namespace) => {
                let places = self.indexes.first().and_then(|index| index.get(namespace));
                places.into_iter().flat_map(Set::iter).collect()
            }
            None => {
                let covered =
                    |place: &Place<K>| place.borrow().is_some_and(|it| scope.covers(it.namespace()));
                self.objects.numbered().filter(|(_, place)| covered(place)).map(|(place, _)| place).collect()
            }
        }
    }

    /// The same with another index, of all that is there.
    pub(super) fn with_index(&self, name: &str, function: IndexFunction<K>) -> Self {
        let mut next = self.clone();
        let mut index = Indexed::empty(name.into(), function, self.places(), self.hash);
        for (place, object) in self.objects.numbered() {
            object.object().iter().for_each(|object| index.add(place, object));
        }
        next.indexes.push(Arc::new(index));
        next
    }

    pub(super) fn indexes(&self) -> &[Arc<Indexed<K>>] {
        &self.indexes
    }

    pub(super) fn index(&self, name: &str) -> Option<&Arc<Indexed<K>>> {
        self.indexes.iter().find(|index| *index.name == *name)
    }

    pub(super) fn set_version(&mut self, version: Version) {
        self.version = Some(version);
    }

    /// Makes room for so many objects in all.
    pub(super) fn reserve(&mut self, objects: usize) {
        if let Some(places) = self.objects.too_small_for(objects) {
            self.resize(places);
        }
    }

    /// Makes so many places. All objects are in others then.
    fn resize(&mut self, places: usize) {
        let moves = self.objects.resize(places);
        for index in &mut self.indexes {
            Arc::make_mut(index).resized(&moves, self.objects.places());
        }
    }

    /// Puts an object in; returns what was there under its key.
    pub(super) fn put(&mut self, object: &Object<K>) -> Option<Object<K>> {
        let (unseen, hash, stored) = (object.is_unseen(), self.hash.key(object.key()), object.stored());
        let there = self.objects.find(hash, |known| known.key() == object.key());
        let old = if let Some((place, _)) = there {
            let old = self.objects.replace(place, hash, stored.labels_id(), stored.clone());
            for index in &mut self.indexes {
                // Most changes of objects are none to indexes, which then stay shared.
                if let Some(values) = index.changed(place, object) {
                    Arc::make_mut(index).set(place, &values);
                }
            }
            old
        } else {
            self.reserve(self.len() + 1);
            let place = self.objects.insert(hash, stored.labels_id(), stored.clone());
            for index in &mut self.indexes {
                Arc::make_mut(index).add(place, object);
            }
            None
        };
        let gone = old.as_ref().map_or(0, Stored::packed_bytes);
        self.packed_bytes = (self.packed_bytes + stored.packed_bytes()).saturating_sub(gone);
        if unseen && !object.is_unseen() {
            // An index has looked into it, while everybody waits.
            object.came_late();
        }
        old.as_ref().map(Stored::object)
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Object<K>> {
        let (place, _) = self.find(key)?;
        let Self { objects, indexes, .. } = self;
        for index in indexes.iter_mut() {
            Arc::make_mut(index).remove(place);
        }
        let gone = objects.remove(place, |from, to| {
            for index in indexes.iter_mut() {
                Arc::make_mut(index).moved(from, to);
            }
        });
        if let Some(places) = self.objects.too_large() {
            self.resize(places);
        }
        let gone = gone?;
        self.packed_bytes = self.packed_bytes.saturating_sub(gone.packed_bytes());
        Some(gone.object())
    }
}

impl<K> Place<K> {
    pub(super) fn object(&self) -> Option<Object<K>> {
        self.value.as_ref().map(Stored::object)
    }

    #[inline]
    pub(super) fn borrow(&self) -> Option<ObjectRef<'_, K>> {
        self.value.as_ref().map(ObjectRef::new)
    }
}

impl<K> Near for Stored<K> {
    fn near(&self) -> usize {
        self.count()
    }
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            packed_bytes: self.packed_bytes,
            indexes: self.indexes.clone(),
            hash: self.hash,
            version: self.version.clone(),
            epoch: self.epoch,
            generation: self.generation,
        }
    }
}

/// Shows counts, never contents: there may be secrets.
impl<K> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indexes: Vec<&str> = self.indexes.iter().map(|index| &*index.name).collect();
        f.debug_struct("Snapshot")
            .field("objects", &self.len())
            .field("indexes", &indexes)
            .field("resource_version", &self.version)
            .finish()
    }
}
