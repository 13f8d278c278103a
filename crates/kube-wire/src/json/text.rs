//! Where strings end.

/// A byte that a string cannot just have: its end, the beginning of an escape, or one that has to be escaped.
#[inline]
fn is_odd(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < b' ')
}

const ONES: u64 = u64::from_le_bytes([1; 8]);

/// The place of the first [odd](is_odd) byte, or where all ends. Most of a text is strings, so eight bytes are looked at at once.
#[inline]
pub(super) fn first_odd(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*word);
        // The high bit of each byte that is zero, and perhaps of some behind one that is.
        let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
        let below_space = word.wrapping_sub(ONES * 0x20) & !word;
        let quotes = zeros(word ^ (ONES * u64::from(b'"')));
        let backslashes = zeros(word ^ (ONES * u64::from(b'\\')));
        let odd = (below_space | quotes | backslashes) & (ONES << 7);
        if odd != 0 {
            return at + odd.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + bytes[at..].iter().position(|byte| is_odd(*byte)).unwrap_or(bytes.len() - at)
}

/// The place of the quote that ends a string, whatever else is in it; none if nothing does.
#[inline]
pub(super) fn end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += first_odd(bytes.get(at..)?);
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_odd_byte_is_found_wherever_it_is() {
        for odd in (0..=u8::MAX).filter(|byte| is_odd(*byte)) {
            for at in 0..40 {
                for behind in [&b"\"\\\n"[..], b"", b"abcdefghijklmnopqrst\xff"] {
                    for usual in [b'a', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                        let bytes = [&vec![usual; at][..], &[odd], behind].concat();
                        assert_eq!(first_odd(&bytes), at, "{bytes:?}");
                    }
                }
            }
        }
        assert_eq!(first_odd(b"nothing is odd here"), 19);
    }

    #[test]
    fn a_string_ends_at_a_quote_that_is_not_escaped() {
        assert_eq!(end(br#"abc" "#), Some(3));
        assert_eq!(end(br#"a\"b\\" "#), Some(6));
        assert_eq!(end(b"a\nb\""), Some(3));
        for open in [&br#"abc"#[..], br#"abc\"#, br#"abc\""#, b""] {
            assert_eq!(end(open), None);
        }
    }
}
