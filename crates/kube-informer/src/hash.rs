//! Hashes of texts: quick, and the same in every process.
//!
//! The order in which things are listed must depend on nothing but the things, so there is no secret in it. Somebody who
//! may choose many names can make some of them collide; that makes finding, adding and removing those names slower, and a
//! little also others that are near them, and nothing else.

/// Odd numbers without a pattern.
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd1b5_4a32_d192_ed03;

/// The hash of a key, `namespace/name` or a name alone, or of any other text.
pub(crate) fn hash_key(key: &str) -> u64 {
    match key.split_once('/') {
        Some((namespace, name)) => hash_pair(namespace, name),
        None => hash_pair("", key),
    }
}

/// The hash of the key `namespace/name`, without putting it together; the namespace may be empty.
pub(crate) fn hash_pair(namespace: &str, name: &str) -> u64 {
    hash(hash(FIRST, namespace), name)
}

/// Hashes a text into what was hashed before.
pub(crate) fn hash(before: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut state = before ^ (bytes.len() as u64).wrapping_mul(SECOND);
    let (chunks, rest) = bytes.as_chunks::<16>();
    for chunk in chunks {
        let whole = u128::from_le_bytes(*chunk);
        state = mix(state ^ whole as u64, SECOND ^ (whole >> 64) as u64);
    }
    let (low, high) = halves(rest);
    mix(state ^ low, FIRST ^ high)
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

    #[test]
    fn a_key_has_one_hash_in_one_piece_or_in_two() {
        assert_eq!(
            hash_key("team-001/web-7d4b9c6f5d-0000001"),
            hash_pair("team-001", "web-7d4b9c6f5d-0000001")
        );
        assert_eq!(hash_key("node-1"), hash_pair("", "node-1"));
        assert_ne!(hash_pair("ab", "c"), hash_pair("a", "bc"));
        assert_ne!(hash_pair("", "a"), hash_pair("a", ""));
    }

    #[test]
    fn names_that_differ_little_differ_in_all_bits_of_their_hashes() {
        let hashes: Vec<u64> =
            (0..100_000).map(|number| hash_pair("team-001", &format!("web-{number:07}"))).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
        for shift in [0, 4, 8, 16, 32, 48, 60] {
            let mut counts = [0_usize; 16];
            for hash in &hashes {
                counts[(hash >> shift & 15) as usize] += 1;
            }
            assert!(counts.iter().all(|count| (5_500..7_000).contains(count)), "{shift}: {counts:?}");
        }
    }

    #[test]
    fn every_length_counts() {
        let text = "a".repeat(64);
        let hashes: HashSet<u64> = (0..=64).map(|length| hash(0, &text[..length])).collect();
        assert_eq!(hashes.len(), 65);
    }
}
