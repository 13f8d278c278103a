//! Objects by what is in them.

use std::sync::Arc;

use kube_core::Resource;

use super::map::{Keyed, Map};
use super::{Object, Snapshot, Store};

/// The name of the index of namespaces, which every store has.
pub(super) const NAMESPACE_INDEX: &str = "namespace";

/// Finds the values by which an object is indexed.
pub(super) type IndexFunction<K> = Arc<dyn Fn(&K) -> Vec<String> + Send + Sync>;

/// Why an index was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// There is an index of that name.
    #[error("there is already an index with the name {name:?}; choose another name, or use that one")]
    Exists {
        /// The name.
        name: String,
    },
}

/// What a function may return to index an object: one value, none, or many.
pub trait IndexValues {
    /// The values, each of which leads to the object.
    fn into_values(self) -> Vec<String>;
}

impl IndexValues for String {
    fn into_values(self) -> Vec<String> {
        vec![self]
    }
}

impl IndexValues for Option<String> {
    fn into_values(self) -> Vec<String> {
        self.into_iter().collect()
    }
}

impl IndexValues for Vec<String> {
    fn into_values(self) -> Vec<String> {
        self
    }
}

/// An index of a store.
pub struct Index<K> {
    pub(super) shared: Store<K>,
    pub(super) place: usize,
}

impl<K: Resource> Index<K> {
    /// The objects with a value, in no order.
    pub fn get(&self, value: &str) -> Vec<Object<K>> {
        self.at(&self.shared.snapshot(), value).cloned().collect()
    }

    /// The objects with a value in a snapshot of the same store: what else is read from it is of the same moment.
    pub fn at<'a>(&self, snapshot: &'a Snapshot<K>, value: &str) -> impl Iterator<Item = &'a Object<K>> {
        snapshot.indexes().get(self.place).into_iter().flat_map(move |index| index.get(value))
    }

    /// All values that lead to an object, in no order.
    pub fn values(&self) -> Vec<String> {
        let snapshot = self.shared.snapshot();
        let index = snapshot.indexes().get(self.place);
        index.into_iter().flat_map(|index| index.values.iter()).map(|entry| entry.value.to_string()).collect()
    }
}

impl<K> std::fmt::Debug for Index<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("place", &self.place).finish_non_exhaustive()
    }
}

/// One index in one snapshot.
pub(super) struct Indexed<K> {
    pub(super) name: Arc<str>,
    function: IndexFunction<K>,
    values: Map<Entry<K>>,
}

/// The objects with one value.
struct Entry<K> {
    value: Arc<str>,
    objects: Map<Object<K>>,
}

impl<K> Indexed<K> {
    pub(super) fn empty(name: Arc<str>, function: IndexFunction<K>) -> Self {
        Self { name, function, values: Map::new() }
    }

    /// The same index without objects.
    pub(super) fn emptied(&self) -> Self {
        Self { name: Arc::clone(&self.name), function: Arc::clone(&self.function), values: Map::new() }
    }

    pub(super) fn get(&self, value: &str) -> impl Iterator<Item = &Object<K>> + use<'_, K> {
        self.values.get(value).into_iter().flat_map(|entry| entry.objects.iter())
    }

    pub(super) fn add(&mut self, object: &Object<K>) {
        for value in (self.function)(object) {
            let make = || Entry { value: value.as_str().into(), objects: Map::new() };
            self.values.get_or_insert_with(&value, make).objects.insert(object.clone());
        }
    }

    pub(super) fn remove(&mut self, object: &Object<K>) {
        for value in (self.function)(object) {
            if self.values.get(&value).is_none() {
                continue;
            }
            let make = || Entry { value: value.as_str().into(), objects: Map::new() };
            let entry = self.values.get_or_insert_with(&value, make);
            entry.objects.remove(object.key());
            // Values that lead nowhere are forgotten, or they would pile up.
            if entry.objects.len() == 0 {
                self.values.remove(&value);
            }
        }
    }
}

impl<K> Clone for Indexed<K> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            function: Arc::clone(&self.function),
            values: self.values.clone(),
        }
    }
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self { value: Arc::clone(&self.value), objects: self.objects.clone() }
    }
}

impl<K> Keyed for Entry<K> {
    fn key(&self) -> &str {
        &self.value
    }
}
