//! Objects by what is in them.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_core::Resource;

use super::places::{Near, Places};
use super::set::Set;
use super::table::Moves;
use super::tree::Tree;
use super::{Selected, Snapshot, Store};
use crate::hash::KeyedHash;
use crate::object::Object;

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
///
/// A value that is returned twice counts once. Each value that an update changes costs a lookup while the store is
/// written, and a piece of memory while it stays: a function that takes as many values as an object's author likes should
/// say how many it takes.
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
        self.select(value).to_vec()
    }

    /// The objects with a value, in no order, to be looked at: none of them is touched before it is.
    pub fn select(&self, value: &str) -> Selected<K> {
        let snapshot = self.shared.snapshot();
        let places = snapshot.indexes().get(self.place).and_then(|index| index.get(value)).cloned();
        Selected::some(snapshot, places)
    }

    /// The objects with a value in a snapshot of the same store: what else is read from it is of the same moment.
    pub fn at<'a>(
        &self,
        snapshot: &'a Snapshot<K>,
        value: &str,
    ) -> impl Iterator<Item = Object<K>> + use<'a, K> {
        snapshot.in_index(snapshot.indexes().get(self.place), value).map(|object| object.to_object())
    }

    /// All values that lead to an object, in no order.
    pub fn values(&self) -> Vec<String> {
        let snapshot = self.shared.snapshot();
        let index = snapshot.indexes().get(self.place);
        index
            .into_iter()
            .flat_map(|index| index.entries.iter())
            .map(|entry| entry.value.to_string())
            .collect()
    }
}

impl<K> std::fmt::Debug for Index<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("place", &self.place).finish_non_exhaustive()
    }
}

/// One index in one snapshot. It knows objects by their places.
pub(super) struct Indexed<K> {
    pub(super) name: Arc<str>,
    function: IndexFunction<K>,
    entries: Tree<Entry>,
    /// The values of each object: nobody has to look into what is gone to find them again.
    values: Places<Values>,
    hash: KeyedHash,
}

/// The objects with one value.
#[derive(Clone, Debug)]
struct Entry {
    value: Arc<str>,
    places: Set,
}

/// The values that lead to one object, sorted, each once.
#[derive(Clone, Debug, Default)]
enum Values {
    #[default]
    None,
    One(Arc<str>),
    Many(Arc<[Arc<str>]>),
}

impl<K> Indexed<K> {
    /// An index of a store with so many places, in which nothing is yet.
    pub(super) fn empty(name: Arc<str>, function: IndexFunction<K>, places: usize, hash: KeyedHash) -> Self {
        Self { name, function, entries: Tree::new(), values: Places::new(places), hash }
    }

    /// The places of the objects with a value; none if there are no objects.
    pub(super) fn get(&self, value: &str) -> Option<&Set> {
        self.entries.find(self.hash.key(value), |entry| entry.is_of(value)).map(|entry| &entry.places)
    }

    pub(super) fn count(&self, value: &str) -> usize {
        self.get(value).map_or(0, Set::len)
    }

    /// Whether the object in a place has a value.
    pub(super) fn has(&self, value: &str, place: u32) -> bool {
        let has = |values: &Values| values.as_slice().binary_search_by(|known| compare(known, value)).is_ok();
        self.values.get(place as usize).is_some_and(has)
    }

    /// There is an object in a place that had none.
    pub(super) fn add(&mut self, place: u32, object: &Object<K>) {
        let values = self.values_of(object);
        self.set(place, &values);
    }

    /// The values of an object in place of another of the same key, if they are not the same.
    pub(super) fn changed(&self, place: u32, object: &Object<K>) -> Option<Vec<String>> {
        // What every store has depends on the key alone.
        if *self.name == *NAMESPACE_INDEX {
            return None;
        }
        let values = self.values_of(object);
        let known = self.values.get(place as usize).map_or(&[][..], Values::as_slice);
        let same = known.len() == values.len()
            && known.iter().zip(&values).all(|(one, other)| compare(one, other).is_eq());
        (!same).then_some(values)
    }

    /// What the function finds in an object, sorted, each value once.
    fn values_of(&self, object: &Object<K>) -> Vec<String> {
        let mut values = (self.function)(object);
        values.sort_unstable_by(|one, other| compare(one, other));
        values.dedup_by(|one, other| compare(one, other).is_eq());
        values
    }

    /// The values of the object in a place, sorted, each once.
    pub(super) fn set(&mut self, place: u32, values: &[String]) {
        let before = self.values.get(place as usize).cloned().unwrap_or_default();
        let mut known = before.as_slice().iter().peekable();
        let after = values.iter().map(|value| {
            while let Some(gone) = known.next_if(|known| compare(known, value).is_lt()) {
                self.remove_from(gone, place);
            }
            match known.next_if(|known| compare(known, value).is_eq()) {
                Some(known) => Arc::clone(known),
                None => self.insert(value, place),
            }
        });
        let after = after.collect();
        known.for_each(|gone| self.remove_from(gone, place));
        self.values.replace(place as usize, after);
    }

    /// The object in a place is gone.
    pub(super) fn remove(&mut self, place: u32) {
        for value in self.values.take(place as usize).unwrap_or_default().as_slice() {
            self.remove_from(value, place);
        }
    }

    /// An object is in another place.
    pub(super) fn moved(&mut self, from: u32, to: u32) {
        let values = self.values.take(from as usize).unwrap_or_default();
        for value in values.as_slice() {
            self.insert(value, to);
            self.remove_from(value, from);
        }
        self.values.replace(to as usize, values);
    }

    /// All objects are in other places, of which there are so many.
    pub(super) fn resized(&mut self, moves: &Moves, places: usize) {
        let values = std::mem::replace(&mut self.values, Places::new(places));
        for (from, values) in values.numbered().flat_map(|(first, run)| (first..).zip(run)) {
            if let Some(to) = moves.of(from) {
                self.values.replace(to as usize, values.clone());
            }
        }
        let entries = std::mem::replace(&mut self.entries, Tree::new());
        for Entry { value, places } in entries.iter() {
            let mut places: Vec<u32> = places.iter().filter_map(|from| moves.of(from)).collect();
            places.sort_unstable();
            if let Some(places) = Set::of(&places) {
                self.entries.insert(self.hash.key(value), Entry { value: Arc::clone(value), places });
            }
        }
    }

    /// A value leads to a place from now on; returns the value as all who have it share it.
    fn insert(&mut self, value: &str, place: u32) -> Arc<str> {
        let hash = self.hash.key(value);
        if let Some(entry) = self.entries.find_mut(hash, |entry| entry.is_of(value)) {
            entry.places.insert(place);
            return Arc::clone(&entry.value);
        }
        let value: Arc<str> = value.into();
        self.entries.insert(hash, Entry { value: Arc::clone(&value), places: Set::One(place) });
        value
    }

    /// A value does not lead to a place any more.
    fn remove_from(&mut self, value: &str, place: u32) {
        let (hash, is_it) = (self.hash.key(value), |entry: &Entry| entry.is_of(value));
        if let Some(entry) = self.entries.find_mut(hash, is_it)
            && entry.places.remove(place)
        {
            // Values that lead nowhere are forgotten, or they would pile up.
            self.entries.remove(hash, is_it);
        }
    }
}

impl Entry {
    fn is_of(&self, value: &str) -> bool {
        compare(&self.value, value).is_eq()
    }
}

/// Compares two values.
fn compare(one: &str, other: &str) -> Ordering {
    #[cfg(test)]
    COMPARISONS.set(COMPARISONS.get() + 1);
    one.cmp(other)
}

#[cfg(test)]
thread_local! {
    /// How many values this thread has compared.
    pub(super) static COMPARISONS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Values {
    fn as_slice(&self) -> &[Arc<str>] {
        match self {
            Values::None => &[],
            Values::One(value) => std::slice::from_ref(value),
            Values::Many(values) => values,
        }
    }
}

impl FromIterator<Arc<str>> for Values {
    fn from_iter<I: IntoIterator<Item = Arc<str>>>(values: I) -> Self {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (None, _) => Values::None,
            (Some(one), None) => Values::One(one),
            (Some(one), Some(two)) => Values::Many([one, two].into_iter().chain(values).collect()),
        }
    }
}

impl Near for Values {
    fn near(&self) -> usize {
        match self {
            Values::None => 0,
            Values::One(value) => Arc::strong_count(value),
            Values::Many(values) => Arc::strong_count(values),
        }
    }
}

impl<K> Clone for Indexed<K> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            function: Arc::clone(&self.function),
            entries: self.entries.clone(),
            values: self.values.clone(),
            hash: self.hash,
        }
    }
}
