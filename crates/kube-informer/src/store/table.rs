//! Objects by their keys: a flat table of which copies are cheap.
//!
//! A slot has a part of the hash of a key, the number of the object's labels, and the object; keys are not in it, and
//! whoever asks says whether an object is the one. An object is in the slot that its hash says, or in one of those
//! behind it, before the first empty one. That is its *place*, by which indexes know it: it changes only if another one
//! goes away that was in its way, or if the table gets another size, and whoever made that happen is told.
//!
//! The slots rest in [`Places`]: copies share what they have in common, and finding a key takes two short steps through
//! nodes that are always near, and mostly one look into memory that is not before the object itself.

use super::places::{Near, Places, RUN, bring_near};
use crate::object::LabelsId;

/// The fewest slots. Always a power of two.
const LEAST: usize = RUN;
/// At most this share of the slots is in use, so that searches are short and always end.
const FULL: (usize, usize) = (3, 4);
/// A table of which less than this share is in use gets smaller.
const SPARE: usize = 8;
/// So many bits of a hash are kept.
const HASH_BITS: u32 = u64::BITS - LabelsId::BITS;
/// A number without a pattern.
const MIX: u64 = 0xd1b5_4a32_d192_ed03;

#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    slots: Places<Slot<T>>,
    used: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Slot<T> {
    /// A part of a hash, and below it the number of the labels. Four slots are as long as one piece of near memory.
    bits: u64,
    pub(super) value: Option<T>,
}

impl<T> Slot<T> {
    fn new(hash: u64, labels: LabelsId, value: T) -> Self {
        Self { bits: short(hash) << LabelsId::BITS | labels.bits(), value: Some(value) }
    }

    /// The number of the object's labels.
    #[inline]
    pub(super) fn labels(&self) -> LabelsId {
        LabelsId::from_bits(self.bits & (u64::MAX >> HASH_BITS))
    }

    #[inline]
    fn hash(&self) -> u64 {
        self.bits >> LabelsId::BITS
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { bits: 0, value: None }
    }
}

impl<T: Near> Near for Slot<T> {
    fn near(&self) -> usize {
        self.value.as_ref().map_or(0, Near::near)
    }
}

impl<T> Table<T> {
    pub(super) fn new() -> Self {
        Self { slots: Places::new(LEAST), used: 0 }
    }

    /// How many values there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// How many places there are.
    #[inline]
    pub(super) fn places(&self) -> usize {
        self.slots.len()
    }

    /// What is in a place.
    #[inline]
    pub(super) fn get(&self, place: u32) -> Option<&Slot<T>> {
        self.slots.get(place as usize)
    }

    /// All slots that are in use.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot<T>> {
        self.slots.runs().flat_map(Used::of)
    }

    /// The same for those who take a handle to each.
    pub(super) fn iter_near(&self) -> impl Iterator<Item = &Slot<T>>
    where
        T: Near,
    {
        self.slots.runs().inspect(|run| bring_near(Used::of(run))).flat_map(Used::of)
    }

    /// All slots that are in use, with their places.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (u32, &Slot<T>)> {
        let slots = self.slots.numbered().flat_map(|(first, run)| (first..).zip(run));
        slots.filter(|(_, slot)| slot.value.is_some())
    }

    /// Where the value of a hash is, by whoever knows whether it is the one.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<(u32, &Slot<T>)> {
        let hash = short(hash);
        let mut at = self.home(hash);
        loop {
            for slot in self.slots.run(at)?.get(at % RUN..)? {
                let value = slot.value.as_ref()?;
                if slot.hash() == hash && is_it(value) {
                    return Some((number(at), slot));
                }
                at += 1;
            }
            at &= self.mask();
        }
    }

    /// How many places there must be for so many values in all, if that is more than there are.
    pub(super) fn too_small_for(&self, values: usize) -> Option<usize> {
        let (part, whole) = FULL;
        let mut places = self.places();
        while values * whole > places * part {
            places *= 2;
        }
        (places > self.places()).then_some(places)
    }

    /// How many places are enough, if that is much less than there are.
    pub(super) fn too_large(&self) -> Option<usize> {
        (self.places() > LEAST && self.used * SPARE < self.places()).then_some(self.places() / 2)
    }

    /// Where a hash belongs, if nothing else is there.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        // In another order for each size. Else, who goes through one table and puts all of it into another, smaller one
        // would fill the first part of that before anything is in the rest; and what is left of a table that is emptied
        // in its order would be close together when it gets smaller.
        let mixed = hash.wrapping_mul(MIX >> self.places().trailing_zeros() | 1) << LabelsId::BITS;
        (mixed >> ((self.places() as u64).leading_zeros() + 1)) as usize
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & self.mask()
    }

    #[inline]
    fn mask(&self) -> usize {
        self.places() - 1
    }
}

impl<T: Clone + Near> Table<T> {
    /// Puts in a value whose key is not there; returns its place. There must be [room](Self::too_small_for) for it.
    pub(super) fn insert(&mut self, hash: u64, labels: LabelsId, value: T) -> u32 {
        self.used += 1;
        self.put(Slot::new(hash, labels, value))
    }

    /// Puts a value in the place of another of the same key; returns that one.
    pub(super) fn replace(&mut self, place: u32, hash: u64, labels: LabelsId, value: T) -> Option<T> {
        self.slots.replace(place as usize, Slot::new(hash, labels, value))?.value
    }

    /// Takes out the value of a place. What has to move is told after it: from where, to where.
    pub(super) fn remove(&mut self, place: u32, mut moved: impl FnMut(u32, u32)) -> Option<T> {
        let mut empty = place as usize;
        let gone = self.slots.take(empty)?.value?;
        self.used -= 1;
        // What is behind it goes on being found: it moves up, unless that would be before the slot of its hash.
        let mut at = empty;
        loop {
            at = self.next(at);
            let Some(slot) = self.slots.get(at).filter(|slot| slot.value.is_some()) else { break };
            let way = |from: usize| at.wrapping_sub(from) & self.mask();
            if way(self.home(slot.hash())) >= way(empty)
                && let Some(slot) = self.slots.take(at)
            {
                self.slots.replace(empty, slot);
                moved(number(at), number(empty));
                empty = at;
            }
        }
        Some(gone)
    }

    /// Gives the table another number of places; returns where the value of each place is now.
    pub(super) fn resize(&mut self, places: usize) -> Moves {
        let before = std::mem::replace(&mut self.slots, Places::new(places.max(LEAST)));
        let mut moves = vec![NOWHERE; if self.used == 0 { 0 } else { before.len() }];
        for (first, run) in before.numbered() {
            bring_near(Used::of(run));
            for (from, slot) in (first as usize..).zip(run).filter(|(_, slot)| slot.value.is_some()) {
                let to = self.put(slot.clone());
                if let Some(place) = moves.get_mut(from) {
                    *place = to;
                }
            }
        }
        Moves(moves)
    }

    /// Puts a slot's contents where they are found.
    fn put(&mut self, slot: Slot<T>) -> u32 {
        let mut at = self.home(slot.hash());
        while self.slots.get(at).is_some_and(|there| there.value.is_some()) {
            at = self.next(at);
        }
        self.slots.replace(at, slot);
        number(at)
    }
}

/// The slots of a run that are in use. Which they are is found out first, and of all at once: where a processor has to
/// guess at each slot whether it is, it guesses wrong at every third.
struct Used<'a, T> {
    run: &'a [Slot<T>; RUN],
    /// A bit for each that is left.
    left: u64,
}

const _: () = assert!(RUN == u64::BITS as usize, "one bit for each slot of a run");

impl<'a, T> Used<'a, T> {
    #[inline]
    fn of(run: &'a [Slot<T>; RUN]) -> Self {
        let bits = run.iter().rev().fold(0, |bits, slot| bits << 1 | u64::from(slot.value.is_some()));
        Self { run, left: bits }
    }
}

impl<'a, T> Iterator for Used<'a, T> {
    type Item = &'a Slot<T>;

    #[inline]
    fn next(&mut self) -> Option<&'a Slot<T>> {
        let slot = self.run.get(self.left.trailing_zeros() as usize)?;
        self.left &= self.left - 1;
        Some(slot)
    }
}

/// Where values are that were somewhere else.
pub(super) struct Moves(Vec<u32>);

/// Where nothing was.
const NOWHERE: u32 = u32::MAX;

impl Moves {
    /// The new place of what was in another.
    pub(super) fn of(&self, place: u32) -> Option<u32> {
        self.0.get(place as usize).copied().filter(|to| *to != NOWHERE)
    }
}

/// The part of a hash that is kept.
#[inline]
fn short(hash: u64) -> u64 {
    hash >> LabelsId::BITS
}

#[inline]
fn number(at: usize) -> u32 {
    // There are never more objects than that in memory.
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::hash::KeyedHash;

    /// A key, and a value that changes.
    type Value = (u32, usize);

    impl Near for Value {
        fn near(&self) -> usize {
            0
        }
    }

    /// Finds one of few hashes, so that many keys want the same slots, also at the end of the table.
    fn crowded(key: u32) -> u64 {
        let few = [0_u64, 1, 2, 63, 64, 127, 0x80_0000, 0xff_ffff];
        few[key as usize % few.len()] << LabelsId::BITS
    }

    fn spread(key: u32) -> u64 {
        u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn named(key: u32) -> u64 {
        KeyedHash::new(7).pair("team-1", &format!("web-{key}"))
    }

    /// A table, and where somebody who is told all moves believes everything to be.
    #[derive(Clone)]
    struct Followed {
        table: Table<Value>,
        places: BTreeMap<u32, Value>,
        hash: fn(u32) -> u64,
    }

    impl Followed {
        fn new(hash: fn(u32) -> u64) -> Self {
            Self { table: Table::new(), places: BTreeMap::new(), hash }
        }

        fn resize(&mut self, places: Option<usize>) {
            if let Some(places) = places {
                let moves = self.table.resize(places);
                let moved = |(place, value)| (moves.of(place).unwrap(), value);
                self.places = std::mem::take(&mut self.places).into_iter().map(moved).collect();
            }
        }

        fn put(&mut self, key: u32, value: usize) {
            let (hash, labels) = ((self.hash)(key), LabelsId::from_bits(u64::from(key)));
            let found = self.table.find(hash, |known| known.0 == key).map(|(place, _)| place);
            let place = if let Some(place) = found {
                let old = self.table.replace(place, hash, labels, (key, value));
                assert_eq!(old, self.places.get(&place).copied());
                place
            } else {
                self.resize(self.table.too_small_for(self.table.len() + 1));
                self.table.insert(hash, labels, (key, value))
            };
            self.places.insert(place, (key, value));
        }

        fn remove(&mut self, key: u32) {
            let Some((place, _)) = self.table.find((self.hash)(key), |known| known.0 == key) else { return };
            let gone = self.places.remove(&place);
            let places = &mut self.places;
            let removed = self.table.remove(place, |from, to| {
                let value = places.remove(&from).unwrap();
                assert_eq!(places.insert(to, value), None);
            });
            assert_eq!(removed, gone);
            self.resize(self.table.too_large());
        }

        fn check(&self, model: &BTreeMap<u32, usize>, keys: u32) {
            assert_eq!((self.table.len(), self.places.len()), (model.len(), model.len()));
            for key in 0..keys {
                let found = self.table.find((self.hash)(key), |known| known.0 == key);
                assert_eq!(
                    found.and_then(|(_, slot)| slot.value),
                    model.get(&key).map(|value| (key, *value))
                );
                if let Some((place, slot)) = found {
                    assert_eq!(slot.labels(), LabelsId::from_bits(u64::from(key)));
                    assert_eq!(self.places.get(&place).copied(), slot.value);
                    assert_eq!(self.table.get(place).and_then(|slot| slot.value), slot.value);
                }
            }
            let used = self.table.numbered().filter_map(|(place, slot)| Some((place, slot.value?)));
            assert!(used.eq(self.places.iter().map(|(place, value)| (*place, *value))));
            assert!(self.table.iter().filter_map(|slot| slot.value).eq(self.places.values().copied()));
        }
    }

    fn follow(keys: u32, steps: usize, hash: fn(u32) -> u64) {
        let (mut table, mut model) = (Followed::new(hash), BTreeMap::new());
        let mut copies = Vec::new();
        let mut random = 7_u64;
        for step in 0..steps {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (random >> 33) as u32 % keys;
            if step > steps / 2 || random.is_multiple_of(3) {
                table.remove(key);
                model.remove(&key);
            } else {
                table.put(key, step);
                model.insert(key, step);
            }
            if step % (steps / 10) == 0 {
                copies.push((table.clone(), model.clone()));
            }
        }
        copies.push((table, model));
        for (copy, model) in &copies {
            copy.check(model, keys);
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
        let mut table = Followed::new(spread);
        (0..10_000).for_each(|key| table.put(key, 0));
        assert_eq!(table.table.places(), 16_384);
        (0..9_990).for_each(|key| table.remove(key));
        assert_eq!(table.table.places(), LEAST);
        table.check(&(9_990..10_000).map(|key| (key, 0)).collect(), 10_000);
    }

    #[test]
    fn room_that_was_made_is_used_and_what_was_there_stays() {
        let mut table = Followed::new(spread);
        table.put(0, 0);
        table.resize(table.table.too_small_for(10_000));
        assert_eq!((table.table.places(), table.table.len()), (16_384, 1));
        assert_eq!(table.table.too_small_for(10_000), None);
        (1..10_000).for_each(|key| table.put(key, 0));
        assert_eq!((table.table.places(), table.table.len()), (16_384, 10_000));
        table.check(&(0..10_000).map(|key| (key, 0)).collect(), 10_000);
    }

    /// How far all values are from where they belong.
    fn way(table: &Table<Value>) -> usize {
        let far = |(place, slot): (u32, &Slot<Value>)| {
            (place as usize).wrapping_sub(table.home(slot.hash())) & table.mask()
        };
        table.numbered().map(far).sum()
    }

    #[test]
    fn who_goes_through_one_table_may_fill_or_empty_another_or_the_same_in_its_order() {
        const KEYS: u32 = 20_000;
        let mut one = Followed::new(named);
        (0..KEYS).for_each(|key| one.put(key, 0));
        let order: Vec<u32> = one.table.iter().filter_map(|slot| slot.value).map(|(key, _)| key).collect();
        assert!(way(&one.table) < order.len());
        let mut other = Followed::new(named);
        for (at, key) in (1_usize..).zip(&order) {
            other.put(*key, 0);
            assert!(
                !at.is_multiple_of(1_000) || way(&other.table) < 3 * at,
                "after {at}: {}",
                way(&other.table)
            );
        }
        let mut moves = 0;
        for key in order {
            let (place, _) = one.table.find(named(key), |known| known.0 == key).unwrap();
            one.table.remove(place, |_, _| moves += 1);
            if let Some(places) = one.table.too_large() {
                one.table.resize(places);
            }
        }
        assert!(moves < KEYS, "{moves} moves");
    }

    #[test]
    fn names_that_cancel_in_an_unkeyed_hash_are_found_in_few_probes() {
        let hash = |key| KeyedHash::new(7).pair("4xjwcaaaaa", &format!("2bo8amu9{key:07}"));
        let probes = |keys: u32| {
            let mut table = Followed::new(hash);
            (0..keys).for_each(|key| table.put(key, 0));
            way(&table.table)
        };
        let (one, two) = (probes(1_000), probes(2_000));
        assert!(one < 3_000 && two < 6_000, "{one} probes for 1,000 names, {two} for 2,000");
    }

    #[test]
    fn more_places_than_hashes_are_all_used() {
        // Nothing is in it, so it takes no memory.
        let table = Table::<Value> { slots: Places::new(1 << 26), used: 0 };
        let homes: BTreeSet<usize> = (0..1 << 12).map(|high| table.home(high << 12 | 0xabc)).collect();
        assert_eq!(homes.len(), 1 << 12);
        assert!(homes.iter().all(|home| home.is_multiple_of(4)) && homes.last() > Some(&(1 << 25)));
    }

    #[test]
    fn what_is_not_there_is_neither_found_nor_taken() {
        let mut table = Followed::new(spread);
        table.put(1, 5);
        assert!(table.table.find(spread(2), |_| true).is_none());
        let empty = (0..).find(|place| !table.places.contains_key(place)).unwrap();
        assert_eq!(table.table.remove(empty, |_, _| panic!("nothing moves")), None);
        assert_eq!(table.table.remove(u32::MAX, |_, _| panic!("nothing moves")), None);
        table.check(&BTreeMap::from([(1, 5)]), 10);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn four_slots_are_as_long_as_one_piece_of_near_memory() {
        assert_eq!(4 * size_of::<Slot<crate::object::Stored<()>>>(), 64);
    }
}
