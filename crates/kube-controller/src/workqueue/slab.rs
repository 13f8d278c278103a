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

/// An entry that says which key it is of, and has kept its hash.
pub(super) trait Keyed<T> {
    fn key(&self) -> &T;

    fn hash(&self) -> Hash;
}

/// Enough of the hash of a key.
pub(super) type Hash = u32;

/// Entries under small numbers. Each key is kept once, in its entry, and found by its hash.
#[derive(Debug)]
pub(super) struct Slab<E> {
    places: Places<E>,
    free: Vec<Id>,
    ids: HashTable<Known>,
    hasher: RandomState,
}

/// A number, with the hash of its key: so the table can grow, and a key be told from most others, without a look at the
/// entries, which are far away.
#[derive(Clone, Copy, Debug)]
struct Known {
    hash: Hash,
    id: Id,
}

/// The hash as a table wants it: with something in the highest bits as well.
fn spread(hash: Hash) -> u64 {
    (u64::from(hash) << 32) | u64::from(hash)
}

/// So many places are kept when all are free.
const KEPT_PLACES: usize = 1024;

impl<E> Slab<E> {
    pub(super) fn new() -> Self {
        Self { places: Places::new(), free: Vec::new(), ids: HashTable::new(), hasher: RandomState::new() }
    }

    pub(super) fn get(&self, id: Id) -> Option<&E> {
        self.places.get(id)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut E> {
        self.places.get_mut(id)?.as_mut()
    }

    /// The number of a key, which has an entry from now on.
    pub(super) fn id_of<T: Key>(&mut self, key: T, make: impl FnOnce(T, Hash) -> E) -> Id
    where
        E: Keyed<T>,
    {
        let Self { places, free, ids, hasher } = self;
        let key_of = |id: Id| places.get(id).map(Keyed::key);
        let hash = hasher.hash_one(&key) as Hash;
        let is_it = |known: &Known| known.hash == hash && key_of(known.id) == Some(&key);
        let vacant = match ids.entry(spread(hash), is_it, |known| spread(known.hash)) {
            Found::Occupied(known) => return known.get().id,
            Found::Vacant(vacant) => vacant,
        };
        // A queue of more keys than there are numbers does not fit into memory.
        let id = free.pop().unwrap_or(places.len() as Id);
        vacant.insert(Known { hash, id });
        match places.get_mut(id) {
            Some(place) => *place = Some(make(key, hash)),
            None => places.push(Some(make(key, hash))),
        }
        id
    }

    pub(super) fn remove<T: Key>(&mut self, id: Id) -> Option<E>
    where
        E: Keyed<T>,
    {
        let entry = self.places.get_mut(id)?.take()?;
        if let Ok(known) = self.ids.find_entry(spread(entry.hash()), |known| known.id == id) {
            known.remove();
        }
        self.free.push(id);
        if self.ids.is_empty() && self.places.len() > KEPT_PLACES {
            // What a flood of keys took is given back when it is over.
            (self.places, self.free, self.ids) = (Places::new(), Vec::new(), HashTable::new());
        }
        Some(entry)
    }
}

/// Places in runs, so that nothing is moved when there are many.
#[derive(Debug)]
struct Places<E> {
    runs: Vec<Vec<Option<E>>>,
}

/// So many places are in a run.
const RUN: usize = 1024;

impl<E> Places<E> {
    fn new() -> Self {
        Self { runs: Vec::new() }
    }

    fn len(&self) -> usize {
        self.runs.last().map_or(0, |last| (self.runs.len() - 1) * RUN + last.len())
    }

    fn get(&self, id: Id) -> Option<&E> {
        self.runs.get(id as usize / RUN)?.get(id as usize % RUN)?.as_ref()
    }

    fn get_mut(&mut self, id: Id) -> Option<&mut Option<E>> {
        self.runs.get_mut(id as usize / RUN)?.get_mut(id as usize % RUN)
    }

    fn push(&mut self, entry: Option<E>) {
        match self.runs.last_mut() {
            Some(last) if last.len() < RUN => last.push(entry),
            // The first run grows with what it has; who needs a second will need all of it.
            last => {
                let mut run = Vec::with_capacity(if last.is_some() { RUN } else { 0 });
                run.push(entry);
                self.runs.push(run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Number(u32, Hash);

    impl Keyed<u32> for Number {
        fn key(&self) -> &u32 {
            &self.0
        }

        fn hash(&self) -> Hash {
            self.1
        }
    }

    #[test]
    fn numbers_are_used_again_and_memory_is_given_back() {
        let mut slab = Slab::new();
        let ids: Vec<Id> = (0..2000).map(|number: u32| slab.id_of(number, Number)).collect();
        assert!(ids.iter().copied().eq(0..2000));
        assert_eq!(slab.id_of(1999, Number), 1999, "it has an entry");
        assert_eq!(slab.remove(7).unwrap().0, 7);
        assert_eq!((slab.remove(7), slab.get(7)), (None, None));
        assert_eq!(slab.id_of(70_000, Number), 7);
        for id in ids {
            slab.remove(id);
        }
        assert_eq!(slab.places.runs.capacity() + slab.free.capacity() + slab.ids.capacity(), 0);
        assert_eq!(slab.get(3), None, "a number from before is no entry");
    }
}
