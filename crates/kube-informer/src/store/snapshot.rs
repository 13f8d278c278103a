//! A store at one moment.

use std::fmt;
use std::sync::Arc;

use super::Version;
use super::index::Indexed;
use super::keys::Keys;
use super::places::{Near, Places, Runs, bring_near};
use super::set::Set;
use crate::hash::{hash_key, hash_pair};
use crate::object::{LabelsId, Object, ObjectRef, Stored};
use crate::source::Scope;

/// A store at one moment: it never changes, and everything read from it belongs together.
///
/// Each object has a place, and keeps it through changes: those who find it by its key or in an index remember its place.
pub struct Snapshot<K> {
    /// The places of objects, by their keys.
    keys: Keys,
    places: Places<Place<K>>,
    /// The first is the index of namespaces.
    indexes: Vec<Arc<Indexed<K>>>,
    version: Option<Version>,
}

/// What is in a place. There is always an object, but for places that nobody has yet.
pub(super) struct Place<K> {
    pub(super) object: Option<Stored<K>>,
    /// Objects with the same number have the same labels.
    pub(super) labels: LabelsId,
}

impl<K> Snapshot<K> {
    /// The object of a name; the namespace is empty for cluster-scoped kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Object<K>> {
        if namespace.is_empty() {
            return self.get_key(name);
        }
        let found = self.keys.find(hash_pair(namespace, name), |place| {
            let stored = self.at(place)?.object.as_ref()?;
            let rest = stored.key().strip_prefix(namespace).and_then(|rest| rest.strip_prefix('/'));
            (rest == Some(name)).then_some(stored)
        });
        found.map(Stored::object)
    }

    /// The object of a key: `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn get_key(&self, key: &str) -> Option<Object<K>> {
        self.object(self.place(key)?)
    }

    /// All objects, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Object<K>> {
        self.near_runs().flatten().filter_map(Place::object)
    }

    /// All objects, in no order, borrowed: none of them is touched before it is looked at.
    pub fn refs(&self) -> impl Iterator<Item = ObjectRef<'_, K>> {
        self.runs().flatten().filter_map(Place::borrow)
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
        let place = self.place(key);
        place.is_some_and(|place| self.index(index).is_some_and(|index| index.has(value, place)))
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// There are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version up to which it was current; none before the first list.
    pub fn resource_version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    pub(super) fn empty(indexes: Vec<Arc<Indexed<K>>>) -> Self {
        Self { keys: Keys::new(), places: Places::new(), indexes, version: None }
    }

    /// What is in a place.
    pub(super) fn at(&self, place: u32) -> Option<&Place<K>> {
        self.places.get(place as usize)
    }

    /// What is in all places, in pieces.
    pub(super) fn runs(&self) -> Runs<'_, Place<K>> {
        self.places.runs()
    }

    /// The same, for those who take a handle to each.
    pub(super) fn near_runs(&self) -> impl Iterator<Item = &[Place<K>]> {
        self.runs().inspect(|run| bring_near(*run))
    }

    pub(super) fn in_index<'a>(
        &'a self,
        index: Option<&'a Arc<Indexed<K>>>,
        value: &str,
    ) -> impl Iterator<Item = ObjectRef<'a, K>> + use<'a, K> {
        let places = index.and_then(|index| index.get(value)).into_iter().flat_map(Set::iter);
        places.filter_map(|place| self.at(place)?.borrow())
    }

    /// The place of a key.
    pub(super) fn place(&self, key: &str) -> Option<u32> {
        if self.is_empty() { None } else { self.place_of(hash_key(key), key) }
    }

    /// The same of a key with this hash.
    fn place_of(&self, hash: u64, key: &str) -> Option<u32> {
        self.keys.find(hash, |place| (self.key(place) == key).then_some(place))
    }

    pub(super) fn object(&self, place: u32) -> Option<Object<K>> {
        self.at(place)?.object()
    }

    /// The key of what is in a place.
    fn key(&self, place: u32) -> &str {
        self.at(place).and_then(|place| place.object.as_ref()).map_or("", Stored::key)
    }

    /// The places of the objects that a scope covers.
    pub(super) fn within(&self, scope: &Scope) -> Vec<u32> {
        match &scope.namespace {
            Some(namespace) => {
                let places = self.indexes.first().and_then(|index| index.get(namespace));
                places.into_iter().flat_map(Set::iter).collect()
            }
            None => {
                let all = (0_u32..).zip(self.refs());
                all.filter(|(_, object)| scope.covers(object.namespace())).map(|(place, _)| place).collect()
            }
        }
    }

    pub(super) fn with_index(&self, index: Arc<Indexed<K>>) -> Self {
        let mut next = self.clone();
        next.indexes.push(index);
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

    /// Makes room for the keys of so many objects in all.
    pub(super) fn reserve(&mut self, objects: usize) {
        self.keys.reserve(objects);
    }

    /// Puts an object in; returns what was there under its key.
    pub(super) fn put(&mut self, object: &Object<K>) -> Option<Object<K>> {
        let (unseen, hash) = (object.is_unseen(), hash_key(object.key()));
        let old = match self.place_of(hash, object.key()) {
            Some(place) => self.replace(place, object),
            None => {
                let place = self.places.push(Place::of(object));
                self.keys.insert(hash, place);
                for index in &mut self.indexes {
                    Arc::make_mut(index).add(object);
                }
                None
            }
        };
        if unseen && !object.is_unseen() {
            // An index has looked into it, while everybody waits.
            object.came_late();
        }
        old
    }

    /// Puts an object in place of another of the same key.
    fn replace(&mut self, place: u32, object: &Object<K>) -> Option<Object<K>> {
        let old = self.places.replace(place, Place::of(object));
        for index in &mut self.indexes {
            // Most changes of objects are none to indexes, which then stay shared.
            if let Some(values) = index.changed(place, object) {
                Arc::make_mut(index).set(place, &values);
            }
        }
        old.and_then(|old| old.object())
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Object<K>> {
        self.remove_place(self.place(key)?)
    }

    /// Takes out the object of a place. The last one is there then.
    pub(super) fn remove_place(&mut self, place: u32) -> Option<Object<K>> {
        let last = u32::try_from(self.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let gone = self.places.swap_remove(place)?.object?;
        self.keys.remove(hash_key(gone.key()), place);
        if place != last {
            self.keys.moved(hash_key(self.key(place)), last, place);
        }
        for index in &mut self.indexes {
            Arc::make_mut(index).remove(place);
        }
        Some(gone.object())
    }
}

impl<K> Place<K> {
    fn of(object: &Object<K>) -> Self {
        let stored = object.stored().clone();
        Self { labels: stored.labels_id(), object: Some(stored) }
    }

    pub(super) fn object(&self) -> Option<Object<K>> {
        self.object.as_ref().map(Stored::object)
    }

    #[inline]
    pub(super) fn borrow(&self) -> Option<ObjectRef<'_, K>> {
        self.object.as_ref().map(ObjectRef::new)
    }
}

impl<K> Clone for Place<K> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), labels: self.labels }
    }
}

impl<K> Default for Place<K> {
    fn default() -> Self {
        Self { object: None, labels: LabelsId::default() }
    }
}

impl<K> Near for Place<K> {
    fn near(&self) -> usize {
        self.object.as_ref().map_or(0, Stored::count)
    }
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self {
            keys: self.keys.clone(),
            places: self.places.clone(),
            indexes: self.indexes.clone(),
            version: self.version.clone(),
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
