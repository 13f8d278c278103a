//! Entries of keys, under small numbers which are used again.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "where a key stands does not show, and nobody may choose it"
)]

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Found;

use super::Key;

/// The number of an entry.
pub(super) type Id = u32;

/// An entry that says which key it is of.
pub(super) trait Keyed<T> {
    fn key(&self) -> &T;
}

/// Entries under small numbers. Each key is kept once, in its entry, and found by its hash.
#[derive(Debug)]
pub(super) struct Slab<E> {
    places: Vec<Option<E>>,
    free: Vec<Id>,
    ids: HashTable<Id>,
    hasher: RandomState,
}

/// So many places are kept when all are free.
const KEPT_PLACES: usize = 1024;

impl<E> Slab<E> {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), ids: HashTable::new(), hasher: RandomState::new() }
    }

    pub(super) fn get(&self, id: Id) -> Option<&E> {
        self.places.get(id as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut E> {
        self.places.get_mut(id as usize)?.as_mut()
    }

    /// The number of a key, which has an entry from now on.
    pub(super) fn id_of<T: Key>(&mut self, key: T, make: impl FnOnce(T) -> E) -> Id
    where
        E: Keyed<T>,
    {
        let Self { places, free, ids, hasher } = self;
        let key_of = |id: Id| places.get(id as usize).and_then(Option::as_ref).map(Keyed::key);
        let hash = hasher.hash_one(&key);
        let is_it = |id: &Id| key_of(*id) == Some(&key);
        // Every number in the table has an entry.
        let hash_of = |id: &Id| key_of(*id).map_or(0, |key| hasher.hash_one(key));
        let vacant = match ids.entry(hash, is_it, hash_of) {
            Found::Occupied(known) => return *known.get(),
            Found::Vacant(vacant) => vacant,
        };
        // A queue of more keys than there are numbers does not fit into memory.
        let id = free.pop().unwrap_or(places.len() as Id);
        vacant.insert(id);
        match places.get_mut(id as usize) {
            Some(place) => *place = Some(make(key)),
            None => places.push(Some(make(key))),
        }
        id
    }

    pub(super) fn remove<T: Key>(&mut self, id: Id) -> Option<E>
    where
        E: Keyed<T>,
    {
        let entry = self.places.get_mut(id as usize)?.take()?;
        let hash = self.hasher.hash_one(entry.key());
        if let Ok(known) = self.ids.find_entry(hash, |other| *other == id) {
            known.remove();
        }
        self.free.push(id);
        if self.ids.is_empty() && self.places.len() > KEPT_PLACES {
            // What a flood of keys took is given back when it is over.
            (self.places, self.free, self.ids) = (Vec::new(), Vec::new(), HashTable::new());
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Keyed<u32> for u32 {
        fn key(&self) -> &u32 {
            self
        }
    }

    #[test]
    fn numbers_are_used_again_and_memory_is_given_back() {
        let mut slab = Slab::new();
        let ids: Vec<Id> = (0..2000).map(|number: u32| slab.id_of(number, |number| number)).collect();
        assert!(ids.iter().copied().eq(0..2000));
        assert_eq!(slab.id_of(1999, |number| number), 1999, "it has an entry");
        assert_eq!(slab.remove(7), Some(7));
        assert_eq!((slab.remove(7), slab.get(7)), (None, None));
        assert_eq!(slab.id_of(70_000, |number| number), 7);
        for id in ids {
            slab.remove(id);
        }
        assert_eq!(slab.places.capacity() + slab.free.capacity() + slab.ids.capacity(), 0);
        assert_eq!(slab.get(3), None, "a number from before is no entry");
    }
}
