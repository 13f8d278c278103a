//! A map of which copies are cheap: what two copies have in common, they share.
//!
//! It is a tree over the bits of a hash, with buckets of entries as leaves. A change copies the nodes on the way
//! to its bucket that are shared with another copy of the map, and changes the others in place: many changes in a
//! row between two copies cost little more than in an ordinary map.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::sync::Arc;

/// Children of a node; a power of two.
const FANOUT: usize = 16;
/// How many bits of the hash choose a child.
const BITS: u32 = FANOUT.trailing_zeros();
/// A bucket with more entries is split.
const BUCKET: usize = 48;
/// Below this many levels all bits of the hash are used up, and buckets may grow.
const MAX_DEPTH: u32 = u64::BITS / BITS;

/// Something that knows its own key.
pub(super) trait Keyed {
    fn key(&self) -> &str;
}

#[derive(Debug)]
pub(super) struct Map<V> {
    root: Arc<Node<V>>,
    len: usize,
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

impl<V> Map<V> {
    pub(super) fn new() -> Self {
        Self { root: Arc::new(Node::Bucket(Vec::new())), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn iter(&self) -> Iter<'_, V> {
        Iter { nodes: vec![&self.root], bucket: [].iter() }
    }
}

impl<V: Keyed + Clone> Map<V> {
    pub(super) fn get(&self, key: &str) -> Option<&V> {
        self.find(hash([key]), |known| known == key)
    }

    /// The value under `first/second`, without putting the key together.
    pub(super) fn get_pair(&self, first: &str, second: &str) -> Option<&V> {
        self.find(hash([first, "/", second]), |known| {
            let rest = known.strip_prefix(first).and_then(|rest| rest.strip_prefix('/'));
            rest == Some(second)
        })
    }

    fn find(&self, hash: u64, is_it: impl Fn(&str) -> bool) -> Option<&V> {
        let (mut node, mut bits) = (&*self.root, hash);
        loop {
            match node {
                Node::Branch(children) => {
                    node = &children[child(bits)];
                    bits >>= BITS;
                }
                Node::Bucket(entries) => {
                    let found = entries.iter().find(|entry| entry.hash == hash && is_it(entry.value.key()));
                    return found.map(|entry| &entry.value);
                }
            }
        }
    }

    /// Puts a value in; returns what was there under its key.
    pub(super) fn insert(&mut self, value: V) -> Option<V> {
        let hash = hash([value.key()]);
        let old = insert(Arc::make_mut(&mut self.root), Entry { hash, value }, 0);
        self.len += usize::from(old.is_none());
        old
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<V> {
        // A key that is not there must not copy anything.
        self.get(key)?;
        let bucket = self.bucket_mut(hash([key]));
        let at = bucket.iter().position(|entry| entry.value.key() == key)?;
        let removed = bucket.swap_remove(at).value;
        self.len -= 1;
        Some(removed)
    }

    /// The value under a key, made if absent, to be changed in place.
    pub(super) fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> V) -> &mut V {
        if self.get(key).is_none() {
            self.insert(make());
        }
        let bucket = self.bucket_mut(hash([key]));
        let at = bucket.iter().position(|entry| entry.value.key() == key);
        // It was inserted above, if it was not there before.
        &mut bucket[at.unwrap_or(0)].value
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

impl<V> Clone for Map<V> {
    fn clone(&self) -> Self {
        Self { root: Arc::clone(&self.root), len: self.len }
    }
}

fn insert<V: Keyed + Clone>(node: &mut Node<V>, entry: Entry<V>, depth: u32) -> Option<V> {
    match node {
        Node::Branch(children) => {
            let at = child(entry.hash >> (depth * BITS));
            insert(Arc::make_mut(&mut children[at]), entry, depth + 1)
        }
        Node::Bucket(entries) => {
            let same = |old: &&mut Entry<V>| old.hash == entry.hash && old.value.key() == entry.value.key();
            if let Some(old) = entries.iter_mut().find(same) {
                return Some(std::mem::replace(&mut old.value, entry.value));
            }
            entries.push(entry);
            if entries.len() > BUCKET && depth < MAX_DEPTH {
                split(node, depth);
            }
            None
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

fn child(bits: u64) -> usize {
    (bits & (FANOUT as u64 - 1)) as usize
}

/// The hash of a key, in one piece or in several.
fn hash<const N: usize>(parts: [&str; N]) -> u64 {
    // Without random keys, so that the order of a list depends on nothing but its objects.
    let mut hasher = DefaultHasher::new();
    for part in parts {
        hasher.write(part.as_bytes());
    }
    hasher.finish()
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

    #[derive(Clone, Debug, PartialEq)]
    struct Pair(String, usize);

    impl Keyed for Pair {
        fn key(&self) -> &str {
            &self.0
        }
    }

    fn contents(map: &Map<Pair>) -> BTreeMap<String, usize> {
        map.iter().map(|pair| (pair.0.clone(), pair.1)).collect()
    }

    #[test]
    fn it_does_what_an_ordinary_map_does_and_copies_stay_as_they_were() {
        let (mut map, mut model) = (Map::<Pair>::new(), BTreeMap::<String, usize>::new());
        let mut copies = Vec::new();
        let mut random = 7_u64;
        for step in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = format!("key-{}", (random >> 33) % 3000);
            if random.is_multiple_of(3) {
                assert_eq!(map.remove(&key).map(|pair| pair.1), model.remove(&key));
            } else {
                assert_eq!(
                    map.insert(Pair(key.clone(), step)).map(|pair| pair.1),
                    model.insert(key.clone(), step)
                );
            }
            assert_eq!(map.get(&key).map(|pair| pair.1), model.get(&key).copied());
            assert_eq!(map.len(), model.len());
            if step % 2_000 == 0 {
                copies.push((map.clone(), model.clone()));
            }
        }
        assert_eq!(contents(&map), model);
        for (map, model) in copies {
            assert_eq!(contents(&map), model);
        }
    }

    #[test]
    fn keys_with_the_same_hash_are_still_told_apart() {
        let mut node = Node::Bucket(Vec::new());
        for number in 0..200 {
            insert(&mut node, Entry { hash: 42, value: Pair(format!("k{number}"), number) }, 0);
        }
        let map = Map { root: Arc::new(node), len: 200 };
        assert_eq!(contents(&map).len(), 200);
    }

    #[test]
    fn a_change_copies_only_the_way_to_it() {
        let mut map = Map::new();
        for number in 0..10_000 {
            map.insert(Pair(format!("k{number}"), number));
        }
        let copy = map.clone();
        map.insert(Pair("k5".to_owned(), 0));
        fn buckets<V>(node: &Arc<Node<V>>, all: &mut Vec<*const Node<V>>) {
            match &**node {
                Node::Bucket(_) => all.push(Arc::as_ptr(node)),
                Node::Branch(children) => children.iter().for_each(|child| buckets(child, all)),
            }
        }
        let (mut before, mut after) = (Vec::new(), Vec::new());
        buckets(&copy.root, &mut before);
        buckets(&map.root, &mut after);
        let changed = before.iter().zip(&after).filter(|(one, two)| one != two).count();
        assert_eq!((changed, before.len()), (1, after.len()));
        assert!(before.len() > 200);
    }

    #[test]
    fn a_key_in_two_pieces_finds_what_the_whole_key_finds() {
        let mut map = Map::new();
        for number in 0..1_000 {
            map.insert(Pair(format!("space-{}/name-{number}", number % 7), number));
        }
        map.insert(Pair("alone".to_owned(), 0));
        for number in 0..1_000 {
            let (first, second) = (format!("space-{}", number % 7), format!("name-{number}"));
            assert_eq!(map.get_pair(&first, &second).unwrap().1, number);
        }
        for (first, second) in [("space-1", "name-2"), ("space", "1/name-1"), ("", "alone"), ("alone", "")] {
            assert_eq!(map.get_pair(first, second), None, "{first}/{second}");
        }
    }

    #[test]
    fn a_value_can_be_changed_in_place() {
        let mut map = Map::new();
        for number in 0..1_000 {
            map.get_or_insert_with(&format!("k{}", number % 100), || {
                Pair(format!("k{}", number % 100), 0)
            })
            .1 += 1;
        }
        assert!(map.iter().all(|pair| pair.1 == 10));
        assert_eq!(map.len(), 100);
    }
}
