//! Numbers and texts drawn from a seed, the same on every machine: only integers are computed with.

use serde_json::{Value, json};

const WORDS: [&str; 24] = [
    "timeout", "cache", "retry", "listen", "upstream", "queue", "limit", "region", "enabled", "level",
    "primary", "batch", "ledger", "token", "worker", "schema", "replica", "window", "budget", "route", "of",
    "the", "per", "to",
];

/// How long the times last: they stay within one month, which keeps their making simple.
const MONTH: u64 = 30 * 86_400;

/// Draws numbers by `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Starts the stream of one object.
    pub(super) fn new(seed: u64, kind: u64, index: u64) -> Self {
        let mut random = Self(seed);
        for part in [kind, index] {
            random.0 = random.next() ^ part;
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws from `low` to `high`, both included.
    pub(super) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// Draws log-uniformly: each power of two between the bounds is as likely as the others.
    pub(super) fn log(&mut self, low: u64, high: u64) -> u64 {
        let power = 1 << self.range(u64::from(low.ilog2()), u64::from(high.ilog2()));
        self.range(low.max(power), high.min(power * 2 - 1))
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.range(0, 99) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.range(0, choices.len() as u64 - 1) as usize]
    }

    fn letters(&mut self, alphabet: &[u8], length: u64) -> String {
        (0..length).map(|_| char::from(self.pick(alphabet))).collect()
    }

    pub(super) fn hex(&mut self, length: u64) -> String {
        self.letters(b"0123456789abcdef", length)
    }

    /// Draws a suffix as Kubernetes generates them.
    pub(super) fn suffix(&mut self, length: u64) -> String {
        self.letters(b"bcdfghjklmnpqrstvwxz2456789", length)
    }

    /// Draws the first four groups of a UID.
    pub(super) fn uid_front(&mut self) -> String {
        format!("{}-{}-4{}-9{}", self.hex(8), self.hex(4), self.hex(3), self.hex(3))
    }

    pub(super) fn uid(&mut self) -> String {
        format!("{}-{}", self.uid_front(), self.hex(12))
    }

    pub(super) fn word(&mut self) -> &'static str {
        self.pick(&WORDS)
    }

    /// Draws words up to a length in bytes.
    pub(super) fn words(&mut self, length: u64) -> String {
        self.fill(length, |random| format!("{} ", random.word()))
    }

    /// Draws lines of a configuration file up to a length in bytes.
    pub(super) fn lines(&mut self, length: u64) -> String {
        self.fill(length, |random| {
            let indent = random.pick(&["", "  ", "    "]);
            format!("{}_{}: {}\n{indent}", random.word(), random.word(), random.range(0, 90_000))
        })
    }

    fn fill(&mut self, length: u64, mut part: impl FnMut(&mut Self) -> String) -> String {
        let mut text = String::new();
        while text.len() < length as usize {
            text.push_str(&part(self));
        }
        text.truncate(length as usize);
        text
    }

    /// Draws bytes in base64. None is a `~`: the marks are looked for in the plain bytes as well.
    pub(super) fn base64_bytes(&mut self, length: u64) -> String {
        let bytes: Vec<u8> = (0..length).map(|_| self.range(0, 0x7d) as u8).collect();
        base64(&bytes)
    }

    pub(super) fn address(&mut self) -> String {
        format!("10.{}.{}.{}", self.range(0, 250), self.range(0, 250), self.range(1, 250))
    }

    /// Draws a JSON value without a schema. The depth is how many levels may be below it.
    pub(super) fn tree(&mut self, depth: u64) -> Value {
        const TEXTS: [&str; 8] = [
            "größe",
            "日本語",
            "a \"quoted\" part",
            "C:\\data\\in",
            "line\nline",
            "\ttab",
            "🙂",
            "\u{1}</a>&",
        ];
        match if depth == 0 { self.range(0, 5) } else { self.range(0, 11) } {
            0 => json!(self.range(0, 1 << 40)),
            1 => json!(-(self.range(1, 5_000) as i64)),
            // A sum of powers of two: every machine writes it alike.
            2 => json!(self.range(0, 1 << 20) as f64 / 64.0),
            3 => json!(self.chance(50)),
            4 => json!(format!("{} {}", self.word(), self.pick(&TEXTS))),
            5 => {
                let length = self.log(1, 120);
                json!(self.words(length))
            }
            6 | 7 => (0..self.range(1, 5)).map(|_| self.tree(depth - 1)).collect(),
            _ => {
                let fields =
                    (0..self.range(1, 6)).map(|at| (format!("{}{at}", self.word()), self.tree(depth - 1)));
                Value::Object(fields.collect())
            }
        }
    }
}

/// Writes the time that is `seconds` into the month.
pub(super) fn time(seconds: u64) -> String {
    format!("{}Z", date_time(seconds))
}

/// Writes a time with microseconds.
pub(super) fn micro_time(seconds: u64, micros: u64) -> String {
    format!("{}.{micros:06}Z", date_time(seconds))
}

fn date_time(seconds: u64) -> String {
    let (day, second) = (seconds % MONTH / 86_400, seconds % 86_400);
    format!("2026-10-{:02}T{:02}:{:02}:{:02}", day + 1, second / 3_600, second / 60 % 60, second % 60)
}

/// Encodes bytes in base64.
pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = ALPHABET[(group >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
