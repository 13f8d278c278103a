//! A map of which copies are cheap: what two copies have in common, they share.
//!
//! It is a tree over the bits of a hash, with buckets of entries as leaves. A change copies the nodes on the way
//! to its bucket that are shared with another copy of the map, and changes the others in place: many changes in a
//! row between two copies cost little more than in an ordinary map.
//!
//! What an entry is called is known to those who ask, not to the tree: it asks them whether it is the one.

use std::sync::Arc;

/// Children of a node; a power of two.
const FANOUT: usize = 16;
/// How many bits of the hash choose a child.
const BITS: u32 = FANOUT.trailing_zeros();
/// A bucket with more entries is split.
const BUCKET: usize = 32;
/// Below this many levels all bits of the hash are used up, and buckets may grow.
const MAX_DEPTH: u32 = u64::BITS / BITS;

#[derive(Debug)]
pub(super) struct Tree<V> {
    root: Arc<Node<V>>,
}

#[derive(Clone, Debug)]
enum Node<V> {
    Bucket(Vec<Entry<V>>),
    /// In place: one piece of memory less on the way to an entry.
    Branch([Arc<Node<V>>; FANOUT]),
}

#[derive(Clone, Debug)]
struct Entry<V> {
    hash: u64,
    value: V,
}

impl<V> Tree<V> {
    pub(super) fn new() -> Self {
        Self { root: Arc::new(Node::Bucket(Vec::new())) }
    }

    /// All values, in the order of their hashes.
    pub(super) fn iter(&self) -> Iter<'_, V> {
        Iter { nodes: vec![&self.root], bucket: [].iter() }
    }

    /// The value of a hash that is the one.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(&V) -> bool) -> Option<&V> {
        let (mut node, mut bits) = (&*self.root, hash);
        loop {
            match node {
                Node::Branch(children) => {
                    node = &children[child(bits)];
                    bits >>= BITS;
                }
                Node::Bucket(entries) => {
                    let found = entries.iter().find(|entry| entry.hash == hash && is_it(&entry.value));
                    return found.map(|entry| &entry.value);
                }
            }
        }
    }
}

impl<V: Clone> Tree<V> {
    /// Puts in a value that is not there.
    pub(super) fn insert(&mut self, hash: u64, value: V) {
        insert(Arc::make_mut(&mut self.root), Entry { hash, value }, 0);
    }

    /// Takes out the value of a hash that is the one.
    pub(super) fn remove(&mut self, hash: u64, is_it: impl Fn(&V) -> bool) -> Option<V> {
        // One that is not there must not copy anything.
        self.find(hash, &is_it)?;
        let bucket = self.bucket_mut(hash);
        let at = bucket.iter().position(|entry| entry.hash == hash && is_it(&entry.value))?;
        Some(bucket.swap_remove(at).value)
    }

    /// The value of a hash that is the one, to be changed in place.
    pub(super) fn find_mut(&mut self, hash: u64, is_it: impl Fn(&V) -> bool) -> Option<&mut V> {
        self.find(hash, &is_it)?;
        let bucket = self.bucket_mut(hash);
        bucket
            .iter_mut()
            .find(|entry| entry.hash == hash && is_it(&entry.value))
            .map(|entry| &mut entry.value)
    }

    /// The bucket of a hash, to be changed: what is shared on the way to it is copied.
    fn bucket_mut(&mut self, hash: u64) -> &mut Vec<Entry<V>> {
        let (mut node, mut bits) = (Arc::make_mut(&mut self.root), hash);
        loop {
            match node {
                Node::Branch(children) => {
                    node = Arc::make_mut(&mut children[child(bits)]);
                    bits >>= BITS;
                }
                Node::Bucket(entries) => return entries,
            }
        }
    }
}

impl<V> Clone for Tree<V> {
    fn clone(&self) -> Self {
        Self { root: Arc::clone(&self.root) }
    }
}

fn insert<V: Clone>(node: &mut Node<V>, entry: Entry<V>, depth: u32) {
    match node {
        Node::Branch(children) => {
            let at = child(entry.hash >> (depth * BITS));
            insert(Arc::make_mut(&mut children[at]), entry, depth + 1);
        }
        Node::Bucket(entries) => {
            entries.push(entry);
            if entries.len() > BUCKET && depth < MAX_DEPTH {
                split(node, depth);
            }
        }
    }
}

/// Turns a full bucket into a branch of emptier ones.
fn split<V: Clone>(node: &mut Node<V>, depth: u32) {
    let Node::Bucket(entries) = node else { return };
    let mut buckets: [Vec<Entry<V>>; FANOUT] = std::array::from_fn(|_| Vec::new());
    for entry in entries.drain(..) {
        buckets[child(entry.hash >> (depth * BITS))].push(entry);
    }
    *node = Node::Branch(buckets.map(|bucket| Arc::new(Node::Bucket(bucket))));
}

#[inline]
fn child(bits: u64) -> usize {
    (bits & (FANOUT as u64 - 1)) as usize
}

/// All values, in the order of their hashes.
#[derive(Debug)]
pub(super) struct Iter<'a, V> {
    nodes: Vec<&'a Arc<Node<V>>>,
    bucket: std::slice::Iter<'a, Entry<V>>,
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = &'a V;

    fn next(&mut self) -> Option<&'a V> {
        loop {
            if let Some(entry) = self.bucket.next() {
                return Some(&entry.value);
            }
            match &**self.nodes.pop()? {
                Node::Bucket(entries) => self.bucket = entries.iter(),
                Node::Branch(children) => self.nodes.extend(children),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::hash::KeyedHash;

    type Pair = (String, usize);

    fn contents(tree: &Tree<Pair>) -> BTreeMap<String, usize> {
        tree.iter().cloned().collect()
    }

    /// Puts a value in; returns what was there under its key.
    fn put(tree: &mut Tree<Pair>, hash: u64, key: &str, value: usize) -> Option<usize> {
        if let Some(there) = tree.find_mut(hash, |pair| pair.0 == key) {
            return Some(std::mem::replace(&mut there.1, value));
        }
        tree.insert(hash, (key.to_owned(), value));
        None
    }

    #[test]
    fn it_does_what_an_ordinary_map_does_and_copies_stay_as_they_were() {
        let (mut tree, mut model) = (Tree::<Pair>::new(), BTreeMap::<String, usize>::new());
        let mut copies = Vec::new();
        let mut random = 7_u64;
        for step in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = format!("key-{}", (random >> 33) % 3000);
            let hash = KeyedHash::new(7).key(&key);
            if random.is_multiple_of(3) {
                let removed = tree.remove(hash, |pair| pair.0 == key);
                assert_eq!(removed.map(|pair| pair.1), model.remove(&key));
            } else {
                assert_eq!(put(&mut tree, hash, &key, step), model.insert(key.clone(), step));
            }
            assert_eq!(tree.find(hash, |pair| pair.0 == key).map(|pair| pair.1), model.get(&key).copied());
            if step % 1_000 == 0 {
                copies.push((tree.clone(), model.clone()));
            }
        }
        for (copy, model) in &copies {
            assert_eq!(contents(copy), *model);
        }
        assert_eq!(contents(&tree), model);
    }

    #[test]
    fn entries_of_one_hash_are_told_apart() {
        let mut tree = Tree::<Pair>::new();
        for number in 0..100 {
            assert_eq!(put(&mut tree, 5, &number.to_string(), number), None);
        }
        assert_eq!(tree.find(5, |pair| pair.0 == "77").map(|pair| pair.1), Some(77));
        assert_eq!(tree.remove(5, |pair| pair.0 == "77").map(|pair| pair.1), Some(77));
        assert!(tree.find(5, |pair| pair.0 == "77").is_none() && tree.iter().count() == 99);
    }
}
