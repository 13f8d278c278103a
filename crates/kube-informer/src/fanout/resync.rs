//! When listeners are told everything again.
//!
//! The arithmetic is client-go's. An informer has a period, which is that of listeners that ask for none, and a
//! check: every so often it looks which listeners are due. The check is as short as the shortest period asked for
//! before the start; after the start it stays, and shorter periods are as long as the check. One thing is better:
//! a listener that joins between two checks counts from the last one, so that its first resync is not late.
//!
//! Where some objects are told again more often than others, as those of some namespace, they have a clock of their own.

use std::time::{Duration, Instant};

use crate::source::Scope;

/// No listener is told everything more often.
const MIN_PERIOD: Duration = Duration::from_secs(1);

/// When the listeners of one informer are due.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResyncClock {
    /// The informer's own period; zero for never, whatever listeners ask for.
    period: Duration,
    check: Duration,
    /// When the clock started, or last checked; none before the start.
    last_check: Option<Instant>,
}

/// When one listener is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Zero for never.
    period: Duration,
    /// None before the start.
    next: Option<Instant>,
}

/// Some objects, by namespace, and when they are told again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Zone {
    /// None for all.
    scopes: Option<Vec<Scope>>,
    pub(crate) clock: ResyncClock,
}

impl Zone {
    /// All objects.
    pub(crate) fn everything(period: Duration) -> Self {
        Self { scopes: None, clock: ResyncClock::new(period) }
    }

    pub(crate) fn covers(&self, namespace: &str) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| scopes.iter().any(|scope| scope.covers(namespace)))
    }

    /// What is told again at which period: the objects of these scopes, which do not overlap.
    pub(crate) fn split(scopes: impl IntoIterator<Item = (Scope, Duration)>) -> Vec<Self> {
        let mut zones: Vec<Self> = Vec::new();
        for (scope, period) in scopes {
            match zones.iter_mut().find(|zone| zone.clock.period == period) {
                Some(zone) => zone.scopes.get_or_insert_default().push(scope),
                None => zones.push(Self { scopes: Some(vec![scope]), clock: ResyncClock::new(period) }),
            }
        }
        zones
    }

    /// They have the same period, so that a clock of one goes on for the other.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.clock.period == other.clock.period
    }
}

impl ResyncClock {
    pub(crate) fn new(period: Duration) -> Self {
        let period = if period.is_zero() { period } else { period.max(MIN_PERIOD) };
        Self { period, check: period, last_check: None }
    }

    pub(crate) fn start(&mut self, now: Instant) {
        self.last_check = Some(now);
    }

    /// When to look next; none if nobody is ever due.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        if self.check.is_zero() { None } else { self.last_check?.checked_add(self.check) }
    }

    /// The schedule of a listener that asks for a period: none for the informer's own, zero for never.
    pub(crate) fn join(&mut self, asked: Option<Duration>) -> Due {
        let period = match asked {
            _ if self.period.is_zero() => Duration::ZERO,
            None => self.period,
            Some(asked) if asked.is_zero() => Duration::ZERO,
            Some(asked) => self.fit(asked.max(MIN_PERIOD)),
        };
        Due { period, next: self.last_check.and_then(|last| last.checked_add(period)) }
    }

    fn fit(&mut self, period: Duration) -> Duration {
        if period >= self.check {
            return period;
        }
        if self.last_check.is_none() {
            self.check = period;
            return period;
        }
        self.check
    }

    /// The time to look has come.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next_check().is_some_and(|next| next <= now)
    }

    /// When the clock last checked, or started.
    pub(crate) fn last_check(&self) -> Option<Instant> {
        self.last_check
    }

    /// Says that the time to look has come.
    pub(crate) fn checked(&mut self, now: Instant) {
        self.last_check = Some(now);
    }
}

impl Due {
    /// Whether the listener is to be told everything now; if so, the next time is set.
    pub(crate) fn take(&mut self, now: Instant, started: Option<Instant>) -> bool {
        if self.period.is_zero() {
            return false;
        }
        let next = self.next.or_else(|| started?.checked_add(self.period));
        let due = next.is_some_and(|next| now >= next);
        self.next = if due { now.checked_add(self.period) } else { next };
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[expect(
        clippy::disallowed_methods,
        reason = "any instant will do, and there is no other way to make one"
    )]
    fn start() -> Instant {
        Instant::now()
    }

    /// The seconds at which a listener is told, over two minutes.
    fn told(clock: &mut ResyncClock, due: &mut Due, begin: Instant) -> Vec<u64> {
        let mut told = Vec::new();
        while let Some(now) = clock.next_check().filter(|now| *now <= begin + 120 * S) {
            if due.take(now, clock.last_check()) {
                told.push((now - begin).as_secs());
            }
            clock.checked(now);
        }
        told
    }

    fn alone(period: u64, asked: Option<Duration>) -> Vec<u64> {
        let (mut clock, begin) = (ResyncClock::new(Duration::from_secs(period)), start());
        let mut due = clock.join(asked);
        clock.start(begin);
        told(&mut clock, &mut due, begin)
    }

    #[test]
    fn the_informers_period_is_that_of_listeners_that_ask_for_none() {
        assert_eq!(alone(30, None), [30, 60, 90, 120]);
        assert_eq!(alone(30, Some(Duration::ZERO)), Vec::<u64>::new());
    }

    #[test]
    fn an_informer_without_a_period_tells_nobody() {
        assert_eq!(alone(0, None), Vec::<u64>::new());
        assert_eq!(alone(0, Some(30 * S)), Vec::<u64>::new());
    }

    #[test]
    fn a_shorter_period_before_the_start_shortens_the_check_for_all() {
        let (mut clock, begin) = (ResyncClock::new(60 * S), start());
        let mut slow = clock.join(Some(50 * S));
        let mut quick = clock.join(Some(20 * S));
        clock.start(begin);
        let mut other = clock.clone();
        assert_eq!(told(&mut clock, &mut quick, begin), [20, 40, 60, 80, 100, 120]);
        assert_eq!(told(&mut other, &mut slow, begin), [60, 120], "rounded up to a multiple of the check");
    }

    #[test]
    fn a_shorter_period_after_the_start_is_as_long_as_the_check() {
        let (mut clock, begin) = (ResyncClock::new(30 * S), start());
        clock.start(begin);
        let mut due = clock.join(Some(5 * S));
        assert_eq!(told(&mut clock, &mut due, begin), [30, 60, 90, 120]);
    }

    #[test]
    fn no_period_is_shorter_than_a_second() {
        let (mut clock, begin) = (ResyncClock::new(30 * S), start());
        clock.join(Some(Duration::from_millis(3)));
        clock.start(begin);
        assert_eq!(clock.next_check(), Some(begin + S));
    }

    #[test]
    fn a_listener_that_joins_between_two_checks_is_not_skipped_at_the_next() {
        let (mut clock, begin) = (ResyncClock::new(30 * S), start());
        clock.start(begin);
        clock.checked(begin + 30 * S);
        // It joins at 45 s: client-go would tell it at 90 s, almost two periods later.
        let mut late = clock.join(None);
        assert_eq!(told(&mut clock, &mut late, begin), [60, 90, 120]);
    }
}
