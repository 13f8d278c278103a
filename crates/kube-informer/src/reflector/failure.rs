//! What can go wrong, told apart as far as the rules need it.

use std::fmt;
use std::time::Duration;

/// A server that asks to wait longer is asked again after this.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(5 * 60);

/// Why a request was not answered as hoped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// 410: the version is no longer known.
    Expired,
    /// The version is not known yet: another server was ahead.
    VersionTooLarge,
    /// 429: later.
    TooManyRequests {
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// Nobody listens.
    ConnectionRefused,
    /// 500 with reason InternalError.
    Internal,
    /// 400, 405, 406, 415, 422: the server does not understand what was asked.
    NotUnderstood,
    /// Everything else: 401, 403, 404, 5xx, a broken connection, an answer that makes no sense.
    Other,
}

impl Failure {
    /// The version asked for is the problem, so asking for the latest helps.
    pub(super) fn is_about_version(&self) -> bool {
        matches!(self, Failure::Expired | Failure::VersionTooLarge)
    }

    /// The request may be repeated as it was, later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Failure::ConnectionRefused | Failure::TooManyRequests { .. })
    }

    /// How long the server asks to wait at least.
    pub(crate) fn retry_after(&self) -> Duration {
        match self {
            Failure::TooManyRequests { retry_after } => retry_after.unwrap_or_default().min(MAX_RETRY_AFTER),
            _ => Duration::ZERO,
        }
    }
}

/// How a watch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchEnd {
    /// It could not be opened.
    Refused(Failure),
    /// The server ended it in good order.
    Closed,
    /// The server ended it with an ERROR event.
    Error(Failure),
    /// The connection broke.
    Broken,
    /// What arrived was not an event, or too large for one.
    Garbled,
    /// The driver cut it, because [`Machine::deadline`](super::Machine::deadline) had passed.
    Overdue,
    /// The driver cut it, to ask for everything again: for some objects a function of the program panicked.
    Retried,
    /// It was older than the copy, as [`BookmarkVerdict::WentBack`](super::BookmarkVerdict::WentBack) or
    /// [`EventVerdict::WentBack`](super::EventVerdict::WentBack) said.
    WentBack,
}

/// Why a watch is opened anew, or everything is asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The server ended the watch in good order.
    Closed,
    /// The connection broke.
    Broken,
    /// What arrived was not an event.
    Garbled,
    /// Nothing arrived for too long, or the watch outlived its time.
    Silent,
    /// 410: the version was no longer known.
    Expired,
    /// The version was not known yet.
    VersionTooLarge,
    /// 429.
    TooManyRequests,
    /// Nobody listened.
    ConnectionRefused,
    /// The server refused, or failed.
    Error,
    /// For some objects a function of the program panicked.
    Panicked,
    /// The server answered at a version that is before the last one, as after a restore from a backup.
    VersionWentBack,
}

impl Reason {
    /// A word for it, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Closed => "closed",
            Reason::Broken => "broken",
            Reason::Garbled => "garbled",
            Reason::Silent => "silent",
            Reason::Expired => "expired",
            Reason::VersionTooLarge => "version_too_large",
            Reason::TooManyRequests => "too_many_requests",
            Reason::ConnectionRefused => "connection_refused",
            Reason::Error => "error",
            Reason::Panicked => "panicked",
            Reason::VersionWentBack => "version_went_back",
        }
    }
}

impl From<&Failure> for Reason {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Expired => Reason::Expired,
            Failure::VersionTooLarge => Reason::VersionTooLarge,
            Failure::TooManyRequests { .. } => Reason::TooManyRequests,
            Failure::ConnectionRefused => Reason::ConnectionRefused,
            Failure::Internal | Failure::NotUnderstood | Failure::Other => Reason::Error,
        }
    }
}

impl From<&WatchEnd> for Reason {
    fn from(end: &WatchEnd) -> Self {
        match end {
            WatchEnd::Refused(failure) | WatchEnd::Error(failure) => failure.into(),
            WatchEnd::Closed => Reason::Closed,
            WatchEnd::Broken => Reason::Broken,
            WatchEnd::Garbled => Reason::Garbled,
            WatchEnd::Overdue => Reason::Silent,
            WatchEnd::Retried => Reason::Panicked,
            WatchEnd::WentBack => Reason::VersionWentBack,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
