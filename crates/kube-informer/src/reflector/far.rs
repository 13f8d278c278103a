//! Settings may say `Duration::MAX`, which no clock can add.

use std::ops::Add;
use std::time::Duration;

/// Longer than any program runs: what "never" means for an instant.
pub(crate) const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A time from now, however far.
pub(crate) fn after<I: Add<Duration, Output = I>>(now: I, time: Duration) -> I {
    now + time.min(FAR)
}
