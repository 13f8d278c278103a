//! The order of merged lists, found by what tells their elements apart. Each function is linear in the lengths
//! of its lists, apart from sorting.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Drops all but the first of equal elements.
pub(super) fn distinct<K: Eq + Hash + Copy>(all: impl Iterator<Item = K>) -> Vec<K> {
    let mut seen = HashSet::new();
    all.filter(|key| seen.insert(*key)).collect()
}

/// The place of each element of a patch: that of the first element of `doc` with the same key, or one behind
/// `doc`, in the order in which new keys come.
pub(super) fn places<K: Eq + Hash + Copy>(doc: &[K], patch: &[K]) -> Vec<usize> {
    let mut known = first_places(doc);
    let mut next = doc.len();
    let place = |key: &K| {
        *known.entry(*key).or_insert_with(|| {
            next += 1;
            next - 1
        })
    };
    patch.iter().map(place).collect()
}

/// Orders merged elements and returns their places in `merged`: those that `order` names among themselves in that
/// order, the others in the order of the live list, and both woven together so that others stay before what they
/// were before.
pub(super) fn arrange<K: Eq + Hash + Copy>(merged: &[K], order: &[K], live: &[K]) -> Vec<usize> {
    let (in_order, in_live) = (first_places(order), first_places(live));
    let live_place = |at: usize| in_live.get(&merged[at]).copied();
    let (mut ordered, mut others): (Vec<usize>, Vec<usize>) =
        (0..merged.len()).partition(|at| in_order.contains_key(&merged[*at]));
    ordered.sort_by_cached_key(|at| in_order.get(&merged[*at]).copied());
    others.sort_by_cached_key(|at| live_place(*at).unwrap_or(usize::MAX));
    let mut result = Vec::with_capacity(merged.len());
    let mut others = others.into_iter().peekable();
    for at in ordered {
        if let Some(place) = live_place(at) {
            while let Some(other) = others.next_if(|other| live_place(*other).is_some_and(|at| at < place)) {
                result.push(other);
            }
        }
        result.push(at);
    }
    result.extend(others);
    result
}

/// An element that counts when a list is put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// The live element at this place.
    Live(usize),
    /// The added element at this place.
    Added(usize),
}

/// The order that the live elements count with when a patch that deletes and adds elements also orders them.
///
/// Kubernetes puts new elements into the room of deleted ones and then looks at the list it started from, so
/// elements that were added count as if they had been at its end. `kubectl apply` sends such patches.
pub(super) fn live_order<K: Eq + Hash + Copy>(live: &[K], deleted: &[K], added: &[K]) -> Vec<Slot> {
    let mut places: HashMap<K, Vec<usize>> = HashMap::new();
    for (at, key) in live.iter().enumerate() {
        places.entry(*key).or_default().push(at);
    }
    let mut stays = vec![true; live.len()];
    let mut end = live.len();
    // The slots that deletions free, from the last one on. Each keeps the element that was last by then.
    let mut freed = Vec::new();
    for key in deleted {
        for at in places.remove(key).unwrap_or_default() {
            stays[at] = false;
            while end > 0 && !stays[end - 1] {
                end -= 1;
            }
            freed.push(end.checked_sub(1).unwrap_or(at));
        }
    }
    let mut slots: Vec<Slot> = (0..live.len()).filter(|at| stays[*at]).map(Slot::Live).collect();
    let mut present: HashSet<K> = (0..live.len()).filter(|at| stays[*at]).map(|at| live[at]).collect();
    let mut used = slots.len();
    slots.extend(freed.into_iter().rev().map(Slot::Live));
    for (at, key) in added.iter().enumerate() {
        if present.contains(key) {
            continue;
        }
        let Some(slot) = slots.get_mut(used) else { break };
        *slot = Slot::Added(at);
        present.insert(*key);
        used += 1;
    }
    slots
}

fn first_places<K: Eq + Hash + Copy>(keys: &[K]) -> HashMap<K, usize> {
    let mut places = HashMap::with_capacity(keys.len());
    for (at, key) in keys.iter().enumerate() {
        places.entry(*key).or_insert(at);
    }
    places
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    /// A key that counts how often it is compared.
    #[derive(Clone, Copy)]
    struct Counted<'a>(usize, &'a Cell<usize>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted<'_> {}

    impl Hash for Counted<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    /// The comparisons of keys that merging lists of this length takes, where half of the elements are new.
    fn comparisons(length: usize) -> usize {
        let count = Cell::new(0);
        let keys = |range: std::ops::Range<usize>| range.map(|key| Counted(key, &count)).collect::<Vec<_>>();
        let (doc, patch) = (keys(0..length), keys(length / 2..length + length / 2));
        let mut reversed = doc.clone();
        reversed.reverse();
        let merged = distinct(doc.iter().chain(&patch).copied());
        assert_eq!(merged.len(), length + length / 2);
        places(&doc, &patch);
        arrange(&merged, &reversed, &doc);
        live_order(&doc, &reversed[..length / 2], &patch);
        count.get()
    }

    #[test]
    fn twice_the_elements_are_twice_the_comparisons() {
        let (few, many) = (comparisons(1_000), comparisons(2_000));
        // Tables are filled to a varying degree and hash by random keys: a little more than twice.
        assert!(few >= 1_000 && many <= 3 * few && many <= 20 * 2_000, "{few} and {many} comparisons");
    }

    /// What `live_order` says in one pass, done step by step on the list itself, as Kubernetes does.
    fn live_order_step_by_step(live: &[u8], deleted: &[u8], added: &[u8]) -> Vec<u8> {
        let mut slots = live.to_vec();
        let mut used = slots.len();
        for key in deleted {
            while let Some(at) = slots[..used].iter().position(|slot| slot == key) {
                slots[at..used].rotate_left(1);
                used -= 1;
                if let Some(last) = used.checked_sub(1) {
                    slots[used] = slots[last];
                }
            }
        }
        for key in added {
            if slots[..used].contains(key) {
                continue;
            }
            let Some(slot) = slots.get_mut(used) else { break };
            *slot = *key;
            used += 1;
        }
        slots
    }

    #[test]
    fn the_live_order_is_that_of_the_steps_of_kubernetes() {
        let random = crate::random::Random::new(7);
        let list = |most: u64| -> Vec<u8> {
            let length = random.next() % (most + 1);
            (0..length).map(|_| (random.next() % 6) as u8).collect()
        };
        for _ in 0..2_000 {
            let (live, deleted, added) = (list(6), list(4), list(4));
            let slots = live_order(&live, &deleted, &added);
            let shown: Vec<u8> = slots
                .into_iter()
                .map(|slot| match slot {
                    Slot::Live(at) => live[at],
                    Slot::Added(at) => added[at],
                })
                .collect();
            let expected = live_order_step_by_step(&live, &deleted, &added);
            assert_eq!(shown, expected, "{live:?} without {deleted:?} with {added:?}");
        }
    }

    #[test]
    fn elements_are_woven_by_their_live_order() {
        // 1 and 4 are in the wanted order; 2 and 3 stay before what they were before; 9 is new.
        assert_eq!(arrange(&[1, 2, 3, 4, 9], &[4, 1], &[1, 2, 3, 4]), [1, 2, 3, 0, 4]);
        assert_eq!(arrange(&[1, 2, 1], &[], &[2, 1]), [1, 0, 2]);
        assert_eq!(places(&["a", "b", "a"], &["a", "c", "b", "c", "d"]), [0, 3, 1, 3, 4]);
    }
}
