//! Keyed hashes of texts.
//!
//! Names, labels and index values are chosen by tenants, so each store hashes them with secret keys: nobody can choose
//! texts that collide without knowing the keys. The hash is not cryptographic. It resists an attacker who sees neither
//! hashes nor the time of single lookups; no hash leaves the process. The order of hashes means nothing: what is listed
//! "in no order" is in another order in each store, unless the seed is fixed.

use std::hash::{DefaultHasher, Hasher};

use crate::random::any_seed;

/// Hashes texts with keys that follow from a seed.
///
/// Each step folds the product of two numbers, both of which contain a key that is not known outside: with a known
/// factor, a text could make it zero, and cancel everything that was hashed before.
#[derive(Clone, Copy)]
pub(crate) struct KeyedHash {
    start: u64,
    chunk: u64,
    end: u64,
}

impl KeyedHash {
    /// Keys that follow from a seed. Whoever knows the seed can choose texts that collide: it is fixed in tests only.
    pub(crate) fn new(seed: u64) -> Self {
        // One-way, as far as that is possible with 64 bits: other uses of the seed do not give the keys away.
        let key = |number: u64| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(seed);
            hasher.write_u64(number);
            hasher.finish()
        };
        Self { start: key(0), chunk: key(1), end: key(2) }
    }

    /// Keys that are others each time.
    pub(crate) fn any() -> Self {
        Self::new(any_seed())
    }

    /// The hash of a key, `namespace/name` or a name alone, or of any other text.
    pub(crate) fn key(&self, key: &str) -> u64 {
        match key.split_once('/') {
            Some((namespace, name)) => self.pair(namespace, name),
            None => self.pair("", key),
        }
    }

    /// The hash of the key `namespace/name`, without putting it together; the namespace may be empty.
    #[inline]
    pub(crate) fn pair(&self, namespace: &str, name: &str) -> u64 {
        self.text(self.text(self.start, namespace), name)
    }

    /// The hash of the key of a name; the namespace is empty for cluster-scoped kinds.
    #[inline]
    pub(crate) fn object(&self, namespace: &str, name: &str) -> u64 {
        if namespace.is_empty() { self.key(name) } else { self.pair(namespace, name) }
    }

    /// The hash of labels and values, in their order.
    pub(crate) fn labels<'a>(&self, labels: impl Iterator<Item = (&'a str, &'a str)>) -> u64 {
        labels.fold(self.start, |before, (label, value)| self.text(self.text(before, label), value))
    }

    /// Hashes a text into what was hashed before.
    #[inline]
    fn text(&self, before: u64, text: &str) -> u64 {
        let bytes = text.as_bytes();
        // What was hashed before is secret, so texts of different lengths begin with unrelated states.
        let mut state = before.rotate_right(bytes.len() as u32);
        let (chunks, rest) = bytes.as_chunks::<16>();
        for chunk in chunks {
            let whole = u128::from_le_bytes(*chunk);
            state = mix(state ^ whole as u64, self.chunk ^ (whole >> 64) as u64);
        }
        let (low, high) = halves(rest);
        mix(state ^ low, self.end ^ high)
    }
}

/// Fewer than 16 bytes as two numbers; together with their count they are all that was there.
fn halves(rest: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        return (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into());
    }
    (rest.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)), 0)
}

/// Both halves of a product, in which every bit depends on every bit.
fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const HASH: KeyedHash =
        KeyedHash { start: 0x9e37_79b9_7f4a_7c15, chunk: 0xd1b5_4a32_d192_ed03, end: 0x94d0_49bb_1331_11eb };

    #[test]
    fn a_key_has_one_hash_in_one_piece_or_in_two() {
        assert_eq!(
            HASH.key("team-001/web-7d4b9c6f5d-0000001"),
            HASH.pair("team-001", "web-7d4b9c6f5d-0000001")
        );
        assert_eq!(HASH.key("node-1"), HASH.pair("", "node-1"));
        assert_ne!(HASH.pair("ab", "c"), HASH.pair("a", "bc"));
        assert_ne!(HASH.pair("", "a"), HASH.pair("a", ""));
    }

    #[test]
    fn a_seed_says_all_hashes_and_another_seed_says_others() {
        let hashes = |hash: KeyedHash| ["a", "team-001/web-7d4b9c6f5d-0000001"].map(|key| hash.key(key));
        assert_eq!(hashes(KeyedHash::new(1)), hashes(KeyedHash::new(1)));
        let seeds: Vec<KeyedHash> =
            (0..100).map(KeyedHash::new).chain((0..100).map(|_| KeyedHash::any())).collect();
        let all: HashSet<u64> = seeds.iter().copied().flat_map(hashes).collect();
        assert_eq!(all.len(), 2 * seeds.len());
    }

    #[test]
    fn names_that_differ_little_differ_in_all_bits_of_their_hashes() {
        for seed in 0..4 {
            let hash = KeyedHash::new(seed);
            let hashes: Vec<u64> =
                (0..50_000).map(|number| hash.pair("team-001", &format!("web-{number:07}"))).collect();
            assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
            for shift in [0, 4, 8, 16, 32, 48, 60] {
                let mut counts = [0_usize; 16];
                for hash in &hashes {
                    counts[(hash >> shift & 15) as usize] += 1;
                }
                assert!(counts.iter().all(|count| (2_750..3_500).contains(count)), "{shift}: {counts:?}");
            }
        }
    }

    /// With the constants of an unkeyed hash, all of these made one factor of the last product zero.
    #[test]
    fn no_part_of_a_text_cancels_what_came_before_it() {
        let hash = |number| KeyedHash::new(7).pair("4xjwcaaaaa", &format!("2bo8amu9{number:07}"));
        assert_eq!((0..1_000).map(hash).collect::<HashSet<u64>>().len(), 1_000);
    }

    #[test]
    fn every_length_counts() {
        let text = "a".repeat(192);
        let hashes: HashSet<u64> = (0..=192).map(|length| HASH.text(7, &text[..length])).collect();
        assert_eq!(hashes.len(), 193);
    }
}
