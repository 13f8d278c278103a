//! Chance that is the same in every run.

/// A generator of numbers that are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Changes, cuts, doubles or replaces some bytes.
    pub(crate) fn mutate(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = self.below(bytes.len());
            match self.below(6) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => bytes.truncate(at),
                3 => bytes.insert(at, self.next() as u8),
                4 => {
                    let end = (at + self.below(40)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                _ => {
                    let end = (at + 10).min(bytes.len());
                    bytes[at..end].fill(0xff);
                }
            }
        }
        bytes
    }

    /// Puts pieces of JSON, or of what is none, into some places.
    #[allow(dead_code, reason = "not every suite has text")]
    pub(crate) fn mutate_text(&mut self, bytes: &[u8]) -> Vec<u8> {
        const PIECES: [&[u8]; 20] = [
            b"{",
            b"}",
            b"[",
            b"]",
            b"\"",
            b"\\",
            b",",
            b":",
            b"null",
            b"true",
            b"-1",
            b"1e999",
            b"\n",
            b"\0",
            b"\xff",
            b"\\ud800",
            b"\"metadata\":",
            b"\"managedFields\":[]",
            b"\"items\":[",
            b" ",
        ];
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len() + 1);
            let over = self.below(3).min(bytes.len() - at);
            bytes.splice(at..at + over, PIECES[self.below(PIECES.len())].iter().copied());
        }
        bytes
    }
}
