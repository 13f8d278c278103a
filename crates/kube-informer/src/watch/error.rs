//! Why waiting is over without what was waited for.

use crate::informer::InformerError;
use crate::source::SourceError;

/// A version from which a watch cannot be followed without loss or repetition.
///
/// From the versions `""` and `"0"` a watch begins with what is there, which cannot be told from what happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a watch cannot be followed from resource version {resource_version:?}; list or read first, and give the version \
     of what was read"
)]
#[non_exhaustive]
pub struct StartError {
    /// The version that was given.
    pub resource_version: String,
}

/// Why a [`RetryWatch`](super::RetryWatch) ended: it cannot go on without losing something, or may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The server no longer knows what happened since the last version.
    #[error("what happened since version {resource_version} is no longer known, so list again: {cause}")]
    Expired {
        /// The last version that was seen.
        resource_version: String,
        /// What the server said.
        #[source]
        cause: SourceError,
    },
    /// An event has a version below the last one, as after a restore from a backup: versions that were seen may stand for other
    /// content, and a watch from one of them would miss what was written since.
    #[error(
        "the server's resource versions went back from {resource_version} to {came}, as after a restore from a backup, so list again"
    )]
    VersionWentBack {
        /// The last version that was seen.
        resource_version: String,
        /// The version of the event.
        came: String,
    },
    /// 401 or 403: whoever asks may not watch.
    #[error("the watch is not allowed; check the credentials and the permission to watch: {0}")]
    Denied(#[source] SourceError),
    /// An event came without a version, so that nobody knows where to go on.
    #[error("{what} came without a resource version, so the watch could not be continued after it")]
    NoVersion {
        /// What came.
        what: String,
    },
    /// An event of a type that this version does not know came: nobody knows what it means.
    #[error("a watch event of the unknown type {event:?} came, and skipping it could lose something")]
    UnknownEvent {
        /// The type.
        event: String,
    },
}

/// Why something that was waited for did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UntilError {
    /// The events ended, without saying why.
    #[error("the events ended before what was waited for happened")]
    Ended,
    /// The watch failed.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The informer was stopped.
    #[error(transparent)]
    Informer(#[from] InformerError),
    /// A condition failed.
    #[error("a condition failed: {0}")]
    Condition(#[source] Box<dyn std::error::Error + Send + Sync>),
}
