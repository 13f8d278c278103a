//! A store at one moment.

use std::fmt;
use std::sync::Arc;

use super::Version;
use super::index::Indexed;
use super::map::Map;
use crate::object::{Object, Stored};
use crate::source::Scope;

/// A store at one moment: it never changes, and everything read from it belongs together.
pub struct Snapshot<K> {
    objects: Map<Stored<K>>,
    /// The first is the index of namespaces.
    indexes: Vec<Arc<Indexed<K>>>,
    version: Option<Version>,
}

impl<K> Snapshot<K> {
    /// The object of a name; the namespace is empty for cluster-scoped kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Object<K>> {
        if namespace.is_empty() {
            return self.get_key(name);
        }
        self.objects.get_pair(namespace, name).map(Stored::object)
    }

    /// The object of a key: `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn get_key(&self, key: &str) -> Option<Object<K>> {
        self.objects.get(key).map(Stored::object)
    }

    /// All objects, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Object<K>> {
        self.objects.iter().map(Stored::object)
    }

    /// All objects of a namespace, in no order.
    pub fn namespaced(&self, namespace: &str) -> impl Iterator<Item = Object<K>> + use<'_, K> {
        let index = self.indexes.first();
        index.map(|index| index.get(namespace)).into_iter().flatten()
    }

    /// The objects with a value in the index of a name; none if there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Option<impl Iterator<Item = Object<K>>> {
        Some(self.index(index)?.get(value))
    }

    /// All objects, or those of a namespace, as they rest.
    pub(crate) fn stored(&self, namespace: Option<&str>) -> impl Iterator<Item = &Stored<K>> {
        let (all, some) = match namespace {
            None => (Some(self.objects.iter()), None),
            Some(namespace) => (None, self.indexes.first().map(|index| index.stored(namespace))),
        };
        all.into_iter().flatten().chain(some.into_iter().flatten())
    }

    /// How many objects have a value in the index of a name; none if there is no such index.
    pub(crate) fn count(&self, index: &str, value: &str) -> Option<usize> {
        Some(self.index(index)?.count(value))
    }

    /// Whether the object of a key has a value in the index of a name.
    pub(crate) fn is_in(&self, index: &str, value: &str, key: &str) -> bool {
        self.index(index).is_some_and(|index| index.has(value, key))
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
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
        Self { objects: Map::new(), indexes, version: None }
    }

    /// The objects that a scope covers.
    pub(super) fn within<'a>(&'a self, scope: &'a Scope) -> Box<dyn Iterator<Item = Object<K>> + 'a> {
        match &scope.namespace {
            Some(namespace) => Box::new(self.namespaced(namespace)),
            None => Box::new(self.iter().filter(|object| scope.covers(object.namespace()))),
        }
    }

    /// The same, without the objects that a scope covers.
    pub(super) fn without(&self, scope: &Scope) -> Self {
        if scope.is_everything() {
            let indexes = self.indexes.iter().map(|index| Arc::new(index.emptied())).collect();
            return Self { objects: Map::new(), indexes, version: self.version.clone() };
        }
        let mut next = self.clone();
        for object in self.within(scope) {
            next.remove(object.key());
        }
        next
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

    pub(super) fn put(&mut self, object: &Object<K>) -> Option<Object<K>> {
        let old = self.objects.insert(object.stored().clone()).map(|old| old.object());
        for index in &mut self.indexes {
            let index = Arc::make_mut(index);
            if let Some(old) = &old {
                index.remove(old);
            }
            index.add(object);
        }
        old
    }

    /// Puts an object in that another state has.
    pub(super) fn keep(&mut self, object: &Object<K>, before: &Self) {
        self.objects.insert(object.stored().clone());
        for (index, before) in self.indexes.iter_mut().zip(&before.indexes) {
            Arc::make_mut(index).keep(object, before);
        }
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Object<K>> {
        let old = self.objects.remove(key)?.object();
        for index in &mut self.indexes {
            Arc::make_mut(index).remove(&old);
        }
        Some(old)
    }
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone(), indexes: self.indexes.clone(), version: self.version.clone() }
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
