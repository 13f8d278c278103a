//! What can go wrong in an election.

use std::time::Duration;

use crate::in_words;

/// Settings that make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Something that must be named is not.
    #[error("the {0} of an election must not be empty")]
    Empty(&'static str),
    /// A time that is zero or longer than a year.
    #[error("the {name} must be more than zero and not more than a year; it is {value:?}")]
    OutOfRange {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: Duration,
    },
    /// Work would go on after somebody else may have taken the lease.
    #[error(
        "the lease duration ({lease_duration:?}) must be longer than the renew deadline ({renew_deadline:?})"
    )]
    LeaseTooShort {
        /// How long the lease lasts.
        lease_duration: Duration,
        /// How long a leader goes on that cannot renew it.
        renew_deadline: Duration,
    },
    /// There would be no second try.
    #[error(
        "the renew deadline ({renew_deadline:?}) must be longer than 1.2 times the retry period ({retry_period:?})"
    )]
    DeadlineTooShort {
        /// How long a leader goes on that cannot renew the lease.
        renew_deadline: Duration,
        /// How long it waits between tries.
        retry_period: Duration,
    },
}

/// A try that failed. There will be another; this is for those who look.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionError {
    /// The server refused, or could not be reached.
    #[error("cannot {action} lease {lease}: {}", in_words(source))]
    Request {
        /// `read`, `create` or `update`.
        action: &'static str,
        /// Which lease.
        lease: String,
        /// Why.
        source: Box<kube_client::Error>,
    },
    /// No answer came in time.
    #[error("cannot {action} lease {lease}: no answer within {after:?}")]
    NoAnswer {
        /// `read`, `create` or `update`.
        action: &'static str,
        /// Which lease.
        lease: String,
        /// How long it was waited for.
        after: Duration,
    },
}

impl ElectionError {
    /// Somebody else has written the lease, or made it, since it was read.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Request { source, .. } => {
                matches!(&**source, kube_client::Error::Api(status) if status.code == 409)
            }
            Self::NoAnswer { .. } => false,
        }
    }
}
