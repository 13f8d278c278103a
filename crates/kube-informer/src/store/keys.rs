//! From keys to places: a flat table of which copies are cheap.
//!
//! Keys are not in it: a slot has a part of the hash of a key and the place of its object, and whoever asks says whether it
//! is the one. A key is in the slot that its hash says, or in one of those behind it, before the first empty one. The slots
//! rest in [`Places`]: copies share what they have in common, and finding a key takes two short steps through nodes that
//! are always near, and mostly one look into memory that is not.

use super::places::{Near, Places};

/// So many slots are in one piece of memory: as large as a branch above them.
const RUN: usize = 64;
/// The fewest slots. Always a power of two.
const LEAST: usize = RUN;
/// At most this share of the slots is in use, so that searches are short and always end.
const FULL: (usize, usize) = (3, 4);
/// A table of which less than this share is in use gets smaller.
const SPARE: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Keys {
    slots: Places<Slot, RUN>,
    used: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u32,
    /// One more than the place; zero if the slot is empty.
    behind: u32,
}

impl Slot {
    fn new(hash: u32, place: u32) -> Self {
        Self { hash, behind: place.saturating_add(1) }
    }

    /// The place; none if the slot is empty.
    #[inline]
    fn place(self) -> Option<u32> {
        self.behind.checked_sub(1)
    }
}

impl Near for Slot {
    fn near(&self) -> usize {
        0
    }
}

impl Keys {
    pub(super) fn new() -> Self {
        Self { slots: Places::sparse(LEAST), used: 0 }
    }

    /// What is made of the place of a hash, by whoever knows whether it is the one.
    #[inline]
    pub(super) fn find<T>(&self, hash: u64, is_it: impl Fn(u32) -> Option<T>) -> Option<T> {
        self.position(hash, is_it).map(|(_, found)| found)
    }

    /// The same, and in which slot it is.
    #[inline]
    fn position<T>(&self, hash: u64, is_it: impl Fn(u32) -> Option<T>) -> Option<(usize, T)> {
        let hash = short(hash);
        let mut at = self.home(hash);
        loop {
            for slot in self.slots.run(at)?.get(at % RUN..)? {
                let place = slot.place()?;
                if slot.hash == hash
                    && let Some(found) = is_it(place)
                {
                    return Some((at, found));
                }
                at += 1;
            }
            at &= self.mask();
        }
    }

    /// Makes room for so many keys in all, so that the table does not grow again and again until they are there.
    pub(super) fn reserve(&mut self, keys: usize) {
        let mut slots = self.slots.len();
        while is_too_small(slots, keys) {
            slots *= 2;
        }
        if slots > self.slots.len() {
            self.resize(slots);
        }
    }

    /// Puts in the place of a key that is not there.
    pub(super) fn insert(&mut self, hash: u64, place: u32) {
        self.used += 1;
        self.reserve(self.used);
        self.put(Slot::new(short(hash), place));
    }

    /// Takes out a place.
    pub(super) fn remove(&mut self, hash: u64, place: u32) {
        let Some((mut empty, ())) = self.position(hash, |known| (known == place).then_some(())) else {
            return;
        };
        self.used -= 1;
        // What is behind it goes on being found: it moves up, unless that would be before the slot of its hash.
        let mut at = empty;
        loop {
            at = self.next(at);
            let Some(slot) = self.slots.get(at).copied().filter(|slot| slot.place().is_some()) else { break };
            let way = |from: usize| at.wrapping_sub(from) & self.mask();
            if way(self.home(slot.hash)) >= way(empty) {
                self.slots.set(empty, slot);
                empty = at;
            }
        }
        self.slots.set(empty, Slot::default());
        if self.slots.len() > LEAST && self.used * SPARE < self.slots.len() {
            self.resize(self.slots.len() / 2);
        }
    }

    /// What was in one place is in another.
    pub(super) fn moved(&mut self, hash: u64, from: u32, to: u32) {
        if let Some((at, ())) = self.position(hash, |known| (known == from).then_some(())) {
            self.slots.set(at, Slot::new(short(hash), to));
        }
    }

    /// Puts a slot's contents where they are found.
    fn put(&mut self, slot: Slot) {
        let mut at = self.home(slot.hash);
        while self.slots.get(at).is_some_and(|there| there.place().is_some()) {
            at = self.next(at);
        }
        self.slots.set(at, slot);
    }

    /// The same in a table of another size.
    fn resize(&mut self, slots: usize) {
        let before = std::mem::replace(&mut self.slots, Places::sparse(slots.max(LEAST)));
        for slot in before.runs().flatten().filter(|slot| slot.place().is_some()) {
            self.put(*slot);
        }
    }

    /// Where a key is, if nothing else is there.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & self.mask()
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & self.mask()
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len() - 1
    }
}

fn is_too_small(slots: usize, keys: usize) -> bool {
    let (part, whole) = FULL;
    keys * whole > slots * part
}

/// The part of a hash that is kept.
#[inline]
fn short(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Finds one of few hashes, so that many keys want the same slots, also at the end of the table.
    fn crowded(key: u32) -> u64 {
        let few = [0_u64, 1, 2, 63, 127, 1023, 1024, 0xffff_ffff];
        few[key as usize % few.len()] << 32
    }

    fn spread(key: u32) -> u64 {
        u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn follow(keys: u32, steps: u32, hash: fn(u32) -> u64) {
        let (mut table, mut model) = (Keys::new(), BTreeMap::<u32, u32>::new());
        let mut copies = Vec::new();
        let mut random = 7_u64;
        let check = |table: &Keys, model: &BTreeMap<u32, u32>| {
            assert_eq!(table.used, model.len());
            for key in 0..keys {
                let place = model.get(&key).copied();
                assert_eq!(table.find(hash(key), |known| (Some(known) == place).then_some(known)), place);
            }
        };
        for step in 0..steps {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (random >> 33) as u32 % keys;
            let shrinks = step > steps / 2;
            // A place that nothing else has.
            let place = key + keys * (step % 5);
            match model.get(&key).copied() {
                Some(there) if shrinks || random.is_multiple_of(3) => {
                    table.remove(hash(key), there);
                    model.remove(&key);
                }
                Some(there) => {
                    table.moved(hash(key), there, place);
                    model.insert(key, place);
                }
                None if shrinks => {}
                None => {
                    table.insert(hash(key), place);
                    model.insert(key, place);
                }
            }
            if step % (steps / 10) == 0 {
                copies.push((table.clone(), model.clone()));
            }
        }
        check(&table, &model);
        for (copy, model) in &copies {
            check(copy, model);
        }
    }

    #[test]
    fn it_does_what_an_ordinary_map_does_and_copies_stay_as_they_were() {
        follow(5_000, 60_000, spread);
    }

    #[test]
    fn keys_that_want_the_same_slot_are_told_apart() {
        follow(200, 20_000, crowded);
    }

    #[test]
    fn the_table_grows_and_shrinks_with_its_keys() {
        let mut table = Keys::new();
        for key in 0..10_000 {
            table.insert(spread(key), key);
        }
        assert_eq!(table.slots.len(), 16_384);
        for key in 0..9_990 {
            table.remove(spread(key), key);
        }
        assert_eq!(table.slots.len(), LEAST);
        assert_eq!(table.find(spread(9_995), Some), Some(9_995));
    }

    #[test]
    fn room_that_was_made_is_used_and_what_was_there_stays() {
        let mut table = Keys::new();
        table.insert(spread(0), 0);
        table.reserve(10_000);
        assert_eq!((table.slots.len(), table.used), (16_384, 1));
        table.reserve(5);
        for key in 1..10_000 {
            table.insert(spread(key), key);
        }
        assert_eq!((table.slots.len(), table.used), (16_384, 10_000));
        assert!(
            (0..10_000).all(|key| table.find(spread(key), |known| (known == key).then_some(())).is_some())
        );
    }

    #[test]
    fn what_is_not_there_is_neither_found_nor_taken_nor_moved() {
        let mut table = Keys::new();
        table.insert(spread(1), 1);
        table.remove(spread(2), 2);
        table.remove(spread(1), 2);
        table.moved(spread(1), 2, 3);
        assert_eq!((table.find(spread(1), Some), table.find(spread(2), Some)), (Some(1), None));
    }
}
