//! Randomness from a seed: the same seed gives the same uids, generated names and faults.

use parking_lot::Mutex;

/// Letters and digits that Kubernetes uses for generated names: no vowels, nothing easily confused.
const NAME_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A small generator (SplitMix64): good enough to look random, trivial to reproduce.
#[derive(Debug)]
pub(crate) struct Random(Mutex<u64>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        let mut state = self.0.lock();
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// True with the given probability.
    pub(crate) fn chance(&self, probability: f64) -> bool {
        // 53 bits are what an f64 holds exactly.
        ((self.next() >> 11) as f64 / (1u64 << 53) as f64) < probability
    }

    /// A version 4 UUID.
    pub(crate) fn uuid(&self) -> String {
        let high = (self.next() & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000;
        let low = (self.next() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000;
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xFFFF,
            high & 0xFFFF,
            low >> 48,
            low & 0xFFFF_FFFF_FFFF
        )
    }

    /// The five letters behind a `generateName`.
    pub(crate) fn name_suffix(&self) -> String {
        let mut bits = self.next();
        let mut suffix = String::with_capacity(5);
        for _ in 0..5 {
            let at = (bits % NAME_ALPHABET.len() as u64) as usize;
            suffix.push(char::from(NAME_ALPHABET[at]));
            bits /= NAME_ALPHABET.len() as u64;
        }
        suffix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_uuids_and_they_are_version_4() {
        let (a, b) = (Random::new(7), Random::new(7));
        for _ in 0..1000 {
            let uuid = a.uuid();
            assert_eq!(uuid, b.uuid());
            assert_eq!(uuid.len(), 36);
            assert_eq!(&uuid[14..15], "4", "{uuid}");
            assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"), "{uuid}");
        }
        assert_ne!(Random::new(8).uuid(), Random::new(7).uuid());
    }

    #[test]
    fn generated_suffixes_have_five_letters_of_the_alphabet() {
        let random = Random::new(1);
        for _ in 0..100 {
            let suffix = random.name_suffix();
            assert_eq!(suffix.len(), 5);
            assert!(suffix.bytes().all(|b| NAME_ALPHABET.contains(&b)), "{suffix}");
        }
    }
}
