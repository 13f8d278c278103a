//! How long things take, and which times make sense together.

use std::time::Duration;

use super::ConfigError;
use crate::random::Random;

/// How long a lease that is not renewed is respected, unless it is said otherwise.
pub const DEFAULT_LEASE_DURATION: Duration = Duration::from_secs(15);
/// How long a leader goes on that cannot renew its lease, unless it is said otherwise.
pub const DEFAULT_RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How long to wait between tries, unless it is said otherwise.
pub const DEFAULT_RETRY_PERIOD: Duration = Duration::from_secs(2);
/// Candidates wait up to so many retry periods more, at random.
pub const JITTER_FACTOR: f64 = 1.2;

/// Every request gets at least so long, where the renew deadline has room for it.
const MIN_REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
/// Longer times than that are refused: a year. Arithmetic on times need not be checked for overflow then.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The times of an election.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) lease_duration: Duration,
    pub(super) renew_deadline: Duration,
    pub(super) retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: DEFAULT_LEASE_DURATION,
            renew_deadline: DEFAULT_RENEW_DEADLINE,
            retry_period: DEFAULT_RETRY_PERIOD,
        }
    }
}

impl Timing {
    pub(super) fn validate(self) -> Result<Self, ConfigError> {
        let Self { lease_duration, renew_deadline, retry_period } = self;
        let named = [
            ("lease duration", lease_duration),
            ("renew deadline", renew_deadline),
            ("retry period", retry_period),
        ];
        for (name, value) in named {
            if value.is_zero() || value > LONGEST {
                return Err(ConfigError::OutOfRange { name, value });
            }
        }
        if lease_duration <= renew_deadline {
            return Err(ConfigError::LeaseTooShort { lease_duration, renew_deadline });
        }
        if renew_deadline <= retry_period.mul_f64(JITTER_FACTOR) {
            return Err(ConfigError::DeadlineTooShort { renew_deadline, retry_period });
        }
        Ok(self)
    }

    /// The lease's duration as it is written: whole seconds, rather too long than too short.
    pub(super) fn lease_seconds(&self) -> i32 {
        let seconds = self.lease_duration.as_secs() + u64::from(self.lease_duration.subsec_nanos() > 0);
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }

    /// How long after the last renewal was sent the work is aborted: half-way between the deadline and the moment when
    /// somebody else may take the lease.
    pub(super) fn fence(&self) -> Duration {
        self.renew_deadline + (self.lease_duration - self.renew_deadline) / 2
    }

    /// How long one request may take.
    pub(super) fn request(&self) -> Duration {
        (self.renew_deadline / 2).max(MIN_REQUEST_TIMEOUT).min(self.renew_deadline)
    }

    /// How long a candidate waits until its next try: between once and 2.2 times the retry period.
    pub(super) fn jittered(&self, random: &mut Random) -> Duration {
        self.retry_period.mul_f64(1.0 + JITTER_FACTOR * random.fraction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn timing(lease: f64, renew: f64, retry: f64) -> Timing {
        let [lease_duration, renew_deadline, retry_period] =
            [lease, renew, retry].map(Duration::from_secs_f64);
        Timing { lease_duration, renew_deadline, retry_period }
    }

    #[test]
    fn times_that_make_no_sense_together_are_refused() {
        assert!(Timing::default().validate().is_ok());
        assert!(timing(3.0, 2.5, 2.0).validate().is_ok());
        for zero in [timing(0.0, 10.0, 2.0), timing(15.0, 0.0, 2.0), timing(15.0, 10.0, 0.0)] {
            assert!(matches!(zero.validate(), Err(ConfigError::OutOfRange { .. })));
        }
        assert!(matches!(timing(10.0, 10.0, 2.0).validate(), Err(ConfigError::LeaseTooShort { .. })));
        assert!(matches!(timing(15.0, 2.4, 2.0).validate(), Err(ConfigError::DeadlineTooShort { .. })));
        let endless = Timing { lease_duration: Duration::MAX, ..Timing::default() };
        let error = endless.validate().unwrap_err();
        assert!(error.to_string().contains("lease duration"), "{error}");
    }

    #[test]
    fn a_lease_is_written_in_whole_seconds_and_never_too_short() {
        assert_eq!(Timing::default().lease_seconds(), 15);
        assert_eq!(timing(0.5, 0.4, 0.1).lease_seconds(), 1);
        assert_eq!(timing(1.001, 0.4, 0.1).lease_seconds(), 2);
    }

    #[test]
    fn work_is_aborted_after_the_deadline_and_before_the_lease_is_over() {
        assert_eq!(Timing::default().fence(), 12 * S + S / 2);
        let fifth = Timing::default().fence().mul_f64(1.2);
        assert!(fifth <= DEFAULT_LEASE_DURATION, "a clock that is a fifth too slow does no harm");
        assert_eq!(Timing::default().request(), 5 * S);
        assert_eq!(timing(0.5, 0.4, 0.1).request(), Duration::from_millis(400));
        assert_eq!(timing(4.0, 1.5, 1.0).request(), S);
    }

    #[test]
    fn candidates_wait_between_once_and_a_bit_more_than_twice_the_period() {
        let mut random = Random::new(Random::seed_of("me"));
        let waits: Vec<Duration> = (0..1000).map(|_| Timing::default().jittered(&mut random)).collect();
        assert!(waits.iter().all(|wait| (2 * S..S.mul_f64(4.4)).contains(wait)));
        assert!(
            waits.iter().any(|wait| *wait < S.mul_f64(2.1))
                && waits.iter().any(|wait| *wait > S.mul_f64(4.3))
        );
        assert_ne!(Random::seed_of("me"), Random::seed_of("you"));
    }
}
