//! A map that forgets what was not used for the longest time.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A map of bounded size.
///
/// Two generations: when the young one is full it becomes the old one, and what was in that is forgotten, unless it was
/// used again and so moved.
#[derive(Clone, Debug)]
pub(crate) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    size: usize,
}

impl<K: Eq + Hash, V> Generations<K, V> {
    /// Remembers so many at most, and at least the latest half of them.
    pub(crate) fn new(limit: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), size: (limit / 2).max(1) }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(crate) fn remove<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        // Mostly nothing is remembered: then no key needs to be hashed.
        let forget =
            |generation: &mut HashMap<K, V>| !generation.is_empty() && generation.remove(key).is_some();
        if !forget(&mut self.young) {
            forget(&mut self.old);
        }
    }

    /// What is known of a key, which counts as using it.
    pub(crate) fn get_or_insert<Q>(&mut self, key: &Q, new: impl FnOnce() -> V) -> &mut V
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        if !self.young.contains_key(key) {
            let value = self.old.remove(key).unwrap_or_else(new);
            if self.young.len() >= self.size {
                self.old = std::mem::take(&mut self.young);
            }
            return self.young.entry(key.to_owned()).or_insert(value);
        }
        // It is there; the entry is the way to say so to the compiler.
        self.young.entry(key.to_owned()).or_insert_with(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_lately_is_remembered_and_the_rest_is_bounded() {
        let mut counts: Generations<i32, u32> = Generations::new(10);
        for key in 0..100 {
            *counts.get_or_insert(&key, || 0) += 1;
            *counts.get_or_insert(&-1, || 0) += 1;
            assert!(counts.young.len() + counts.old.len() <= 10);
        }
        assert_eq!(counts.get(&-1), Some(&100), "it has never been quiet");
        assert_eq!((counts.get(&99), counts.get(&0)), (Some(&1), None));
        counts.remove(&-1);
        assert_eq!(counts.get(&-1), None);
    }
}
