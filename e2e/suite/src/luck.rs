//! What happens to connections by bad luck, from a seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Within so many bytes are the handshake, the head of an answer and its first frames.
const BEGINNING: u64 = 8 << 10;

/// No connection carries more than this to a client before something happens to it.
const FAR: u64 = 512 << 10;

/// A handshake and the first requests of a client are not longer.
const REQUESTS: u64 = 4 << 10;

/// The longest that one direction of a connection is held up.
const MAX_HOLD_UP: u64 = 250;

/// Small and repeatable chance (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below another; zero below zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)).checked_rem(bound).unwrap_or(0)
    }

    /// A time between two, in milliseconds.
    pub fn time(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to.saturating_sub(from)))
    }
}

/// What has happened to connections so far: by bad luck, or because they were cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Struck {
    /// Closed.
    pub cut: u64,
    /// Closed, and what was under way thrown away.
    pub reset: u64,
    /// Held up for a moment.
    pub held_up: u64,
    /// Left open, with one direction silent for ever.
    pub forgotten: u64,
}

impl Struck {
    /// How many connections were ended.
    pub fn ended(&self) -> u64 {
        self.cut + self.reset
    }
}

/// The same, while it is counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    cut: AtomicU64,
    reset: AtomicU64,
    held_up: AtomicU64,
    forgotten: AtomicU64,
}

impl Tally {
    pub(crate) fn now(&self) -> Struck {
        let read = |count: &AtomicU64| count.load(Ordering::SeqCst);
        Struck {
            cut: read(&self.cut),
            reset: read(&self.reset),
            held_up: read(&self.held_up),
            forgotten: read(&self.forgotten),
        }
    }

    pub(crate) fn count(&self, blow: Blow) {
        let count = match blow {
            Blow::Cut => &self.cut,
            Blow::Reset => &self.reset,
            Blow::HoldUp(_) => &self.held_up,
            Blow::Forget => &self.forgotten,
        };
        count.fetch_add(1, Ordering::SeqCst);
    }
}

/// What happens to a connection at some byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blow {
    /// It is closed.
    Cut,
    /// It is closed, and what is under way is thrown away.
    Reset,
    /// This direction waits.
    HoldUp(Duration),
    /// Nothing passes in this direction any more, and nobody is told.
    Forget,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToServer,
    ToClient,
}

/// What is in store for one direction of one connection.
#[derive(Debug)]
pub(crate) struct Fate {
    connection: u64,
    way: Way,
    tally: Arc<Tally>,
    /// The seed that decides, once there is one.
    seed: Option<u64>,
    chance: Chance,
    /// How many bytes pass before the next blow; none if none comes.
    left: Option<u64>,
}

impl Fate {
    pub(crate) fn new(connection: u64, way: Way, tally: Arc<Tally>) -> Self {
        Self { connection, way, tally, seed: None, chance: Chance::new(0), left: None }
    }

    /// So many bytes are to pass: how many do, and what happens then.
    pub(crate) fn meet(&mut self, seed: Option<u64>, bytes: usize) -> (usize, Option<Blow>) {
        if seed != self.seed {
            self.begin(seed);
        }
        let Some(left) = self.left else { return (bytes, None) };
        if let Some(left) = left.checked_sub(bytes as u64).filter(|left| *left > 0) {
            self.left = Some(left);
            return (bytes, None);
        }
        let blow = self.blow();
        self.tally.count(blow);
        self.left = Some(self.distance());
        (usize::try_from(left).unwrap_or(bytes), Some(blow))
    }

    fn begin(&mut self, seed: Option<u64>) {
        self.seed = seed;
        let way = u64::from(self.way == Way::ToServer);
        // Far from each other, whatever the seeds are.
        let own = Chance::new(self.connection << 1 | way).below(u64::MAX);
        self.chance = Chance::new(seed.unwrap_or(0) ^ own);
        // What clients say is short, so most of it is spared: otherwise nothing would ever be answered.
        let spared = self.way == Way::ToServer && self.chance.below(4) > 0;
        self.left = (seed.is_some() && !spared).then(|| self.distance());
    }

    /// How far the next blow is: often at the beginning, otherwise anywhere, so mostly inside of a frame.
    fn distance(&mut self) -> u64 {
        let bytes = match self.way {
            Way::ToServer => self.chance.below(REQUESTS),
            Way::ToClient if self.chance.below(4) == 0 => self.chance.below(BEGINNING),
            Way::ToClient => BEGINNING + self.chance.below(FAR - BEGINNING),
        };
        bytes + 1
    }

    fn blow(&mut self) -> Blow {
        match self.chance.below(10) {
            0..4 => Blow::Cut,
            4..6 => Blow::Reset,
            6..9 => Blow::HoldUp(self.chance.time(1, MAX_HOLD_UP)),
            _ => Blow::Forget,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(connection: u64, way: Way) -> Fate {
        Fate::new(connection, way, Arc::default())
    }

    /// Where blows fall in the first megabyte, if it comes in pieces of a size.
    fn blows(seed: u64, connection: u64, piece: usize) -> Vec<(u64, Blow)> {
        let (mut fate, mut at, mut found) = (fate(connection, Way::ToClient), 0, Vec::new());
        while at < 1 << 20 {
            let (passed, blow) = fate.meet(Some(seed), piece.min((1 << 20) - at as usize));
            at += passed as u64;
            found.extend(blow.map(|blow| (at, blow)));
        }
        found
    }

    #[test]
    fn the_same_seed_strikes_the_same_bytes_however_they_come() {
        let once = blows(7, 3, 1 << 14);
        assert_eq!(once, blows(7, 3, 1));
        assert_eq!(once, blows(7, 3, 1000));
        assert!(once.len() > 1, "{once:?}");
        assert_ne!(once, blows(8, 3, 1000), "another seed");
        assert_ne!(once, blows(7, 4, 1000), "another connection");
    }

    #[test]
    fn nothing_happens_without_a_seed_and_everything_with_one() {
        let mut calm = fate(1, Way::ToClient);
        assert_eq!(calm.meet(None, 1 << 30), (1 << 30, None));
        let tally = Arc::<Tally>::default();
        for connection in 0..100 {
            let mut fate = Fate::new(connection, Way::ToClient, Arc::clone(&tally));
            let (passed, blow) = fate.meet(Some(1), 1 << 20);
            assert!(passed > 0 && blow.is_some(), "{connection}");
            assert_eq!(fate.meet(None, 1 << 30), (1 << 30, None), "its luck may change");
        }
        let struck = tally.now();
        assert!(
            struck.cut.min(struck.reset).min(struck.held_up).min(struck.forgotten) > 2
                && struck.cut + struck.reset + struck.held_up + struck.forgotten == 100,
            "{struck:?}"
        );
    }

    #[test]
    fn three_of_four_requests_are_spared() {
        let struck = (0..1000)
            .filter(|connection| fate(*connection, Way::ToServer).meet(Some(1), 1 << 20).1.is_some())
            .count();
        assert!((150..350).contains(&struck), "{struck}");
    }
}
