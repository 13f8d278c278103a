//! Entries under small numbers, which are used again.

/// The number of an entry.
pub(super) type Id = usize;

/// Entries under small numbers.
#[derive(Debug)]
pub(super) struct Slab<E> {
    places: Vec<Option<E>>,
    free: Vec<Id>,
}

impl<E> Slab<E> {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, entry: E) -> Id {
        match self.free.pop() {
            Some(id) => {
                self.places[id] = Some(entry);
                id
            }
            None => {
                self.places.push(Some(entry));
                self.places.len() - 1
            }
        }
    }

    pub(super) fn get(&self, id: Id) -> Option<&E> {
        self.places.get(id)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut E> {
        self.places.get_mut(id)?.as_mut()
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<E> {
        let entry = self.places.get_mut(id)?.take()?;
        self.free.push(id);
        if self.free.len() == self.places.len() && self.places.len() > KEPT_PLACES {
            // What a flood of keys took is given back when it is over.
            *self = Self::new();
        }
        Some(entry)
    }
}

/// So many places are kept when all are free.
const KEPT_PLACES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_memory_is_given_back() {
        let mut slab = Slab::new();
        let ids: Vec<Id> = (0..2000).map(|number| slab.insert(number)).collect();
        assert_eq!(slab.remove(7), Some(7));
        assert_eq!((slab.remove(7), slab.get(7)), (None, None));
        assert_eq!(slab.insert(70), 7);
        for id in ids {
            slab.remove(id);
        }
        assert_eq!(slab.places.capacity() + slab.free.capacity(), 0);
        assert_eq!(slab.get(3), None, "a number from before is no entry");
    }
}
