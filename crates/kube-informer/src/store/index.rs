//! Objects by what is in them.

use std::sync::Arc;

use kube_core::Resource;

use super::map::{Keyed, Map};
use super::{Snapshot, Store};
use crate::object::{Object, Stored};

/// The name of the index of namespaces, which every store has.
pub(crate) const NAMESPACE_INDEX: &str = "namespace";

/// Finds the values by which an object is indexed.
pub(crate) type IndexFunction<K> = Arc<dyn Fn(&Object<K>) -> Vec<String> + Send + Sync>;

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
        self.at(&self.shared.snapshot(), value).collect()
    }

    /// The objects with a value in a snapshot of the same store: what else is read from it is of the same moment.
    pub fn at<'a>(
        &self,
        snapshot: &'a Snapshot<K>,
        value: &str,
    ) -> impl Iterator<Item = Object<K>> + use<'a, K> {
        let index = snapshot.indexes().get(self.place);
        index.map(|index| index.get(value)).into_iter().flatten()
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
    /// The values of objects that would have to be decoded to find them again.
    remembered: Map<Remembered<K>>,
}

/// The values that lead to one object.
struct Remembered<K> {
    object: Stored<K>,
    values: Arc<[String]>,
}

/// The objects with one value.
struct Entry<K> {
    value: Arc<str>,
    objects: Map<Stored<K>>,
}

impl<K> Indexed<K> {
    pub(super) fn empty(name: Arc<str>, function: IndexFunction<K>) -> Self {
        Self { name, function, values: Map::new(), remembered: Map::new() }
    }

    /// The same index without objects.
    pub(super) fn emptied(&self) -> Self {
        Self::empty(Arc::clone(&self.name), Arc::clone(&self.function))
    }

    pub(super) fn get(&self, value: &str) -> impl Iterator<Item = Object<K>> + use<'_, K> {
        self.stored(value).map(Stored::object)
    }

    pub(super) fn stored(&self, value: &str) -> impl Iterator<Item = &Stored<K>> + use<'_, K> {
        self.values.get(value).into_iter().flat_map(|entry| entry.objects.iter())
    }

    pub(super) fn count(&self, value: &str) -> usize {
        self.values.get(value).map_or(0, |entry| entry.objects.len())
    }

    pub(super) fn has(&self, value: &str, key: &str) -> bool {
        self.values.get(value).is_some_and(|entry| entry.objects.get(key).is_some())
    }

    pub(super) fn add(&mut self, object: &Object<K>) {
        let values = (self.function)(object).into();
        self.add_values(object, values);
    }

    /// Adds an object that another state of the index has, without looking into it again.
    pub(super) fn keep(&mut self, object: &Object<K>, before: &Self) {
        match before.remembered.get(object.key()) {
            Some(known) if self.remembers(object) => self.add_values(object, Arc::clone(&known.values)),
            _ => self.add(object),
        }
    }

    fn add_values(&mut self, object: &Object<K>, values: Arc<[String]>) {
        for value in &*values {
            let make = || Entry { value: value.as_str().into(), objects: Map::new() };
            self.values.get_or_insert_with(value, make).objects.insert(object.stored().clone());
        }
        if self.remembers(object) {
            self.remembered.insert(Remembered { object: object.stored().clone(), values });
        }
    }

    pub(super) fn remove(&mut self, object: &Object<K>) {
        if !self.remembers(object) {
            return self.remove_values(object.key(), &(self.function)(object));
        }
        if let Some(remembered) = self.remembered.remove(object.key()) {
            self.remove_values(object.key(), &remembered.values);
        }
    }

    fn remove_values(&mut self, key: &str, values: &[String]) {
        for value in values {
            if self.values.get(value).is_none() {
                continue;
            }
            let make = || Entry { value: value.as_str().into(), objects: Map::new() };
            let entry = self.values.get_or_insert_with(value, make);
            entry.objects.remove(key);
            // Values that lead nowhere are forgotten, or they would pile up.
            if entry.objects.len() == 0 {
                self.values.remove(value);
            }
        }
    }

    /// Whether the values of an object are kept, so that it need not be decoded when it goes.
    fn remembers(&self, object: &Object<K>) -> bool {
        object.is_packed() && *self.name != *NAMESPACE_INDEX
    }
}

impl<K> Clone for Indexed<K> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            function: Arc::clone(&self.function),
            values: self.values.clone(),
            remembered: self.remembered.clone(),
        }
    }
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self { value: Arc::clone(&self.value), objects: self.objects.clone() }
    }
}

impl<K> Clone for Remembered<K> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), values: Arc::clone(&self.values) }
    }
}

impl<K> Keyed for Remembered<K> {
    fn key(&self) -> &str {
        self.object.key()
    }
}

impl<K> Keyed for Stored<K> {
    fn key(&self) -> &str {
        Stored::key(self)
    }
}

impl<K> Keyed for Entry<K> {
    fn key(&self) -> &str {
        &self.value
    }
}
