//! Chance that can be repeated, and a seed that cannot.

use std::hash::BuildHasher;

/// Random numbers that follow from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// A seed that is another each time, for those who are given none: programs must not all do the same at the same moment.
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "what a fleet of programs does must differ; tests give a seed where it matters"
)]
pub(crate) fn any_seed() -> u64 {
    std::hash::RandomState::new().hash_one(0)
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number in [0, 1).
    pub(crate) fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // 53 bits are what an f64 holds exactly.
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
