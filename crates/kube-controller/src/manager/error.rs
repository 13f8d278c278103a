//! What goes wrong with a manager.

use std::net::SocketAddr;
use std::time::Duration;

use kube_informer::redact::error_text;

use super::{BoxError, Group};
use crate::leader::{ConfigError, Loss};

/// Why a manager cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A port cannot be listened on.
    #[error("cannot serve {what} on {address}: {source}; choose another address, or end what uses this one")]
    Bind {
        /// Which pages: `metrics`.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// What is for this machine alone was to be shown to others.
    #[error("the debug pages are for this machine alone, and {0} is not a loopback address; use 127.0.0.1")]
    NotLoopback(SocketAddr),
    /// The certificate for some pages cannot be used.
    #[cfg(feature = "tls")]
    #[error("cannot serve {what} over TLS: {source}")]
    Certificate {
        /// Which pages: `metrics`.
        what: &'static str,
        /// Why not.
        source: super::CertificateError,
    },
    /// The settings of the election make no sense.
    #[error("leader election: {0}")]
    Election(#[from] ConfigError),
}

/// Why something cannot be added to a manager.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// The manager stops, or has stopped.
    #[error("{name:?} cannot be added: the manager is stopping")]
    Stopping {
        /// What was to be added.
        name: String,
    },
}

/// Why a manager has ended, other than because it was told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// One of those that it runs has failed.
    #[error("{name}: {}", error_text(&**cause))]
    Failed {
        /// Which.
        name: String,
        /// Why.
        #[source]
        cause: BoxError,
    },
    /// A runnable has panicked.
    #[error("{name} has panicked: {message}")]
    Panicked {
        /// The name of the runnable.
        name: String,
        /// The message, if it is a literal of the program. A formatted one may have values of objects in it: the text says
        /// that it is withheld.
        message: String,
    },
    /// A group was not ready in time.
    #[error("{group:?} not ready after {after:?}: {}", .names.join(", "))]
    NotReady {
        /// Which group.
        group: Group,
        /// Which of the group.
        names: Vec<String>,
        /// How long they were waited for.
        after: Duration,
    },
    /// Leadership was lost. What only a leader may do has ended.
    #[error("leadership was lost: {}", in_words(.0))]
    LostLeadership(Loss),
    /// Some had not ended when the time for that was over; they were aborted.
    #[error("still running {grace:?} after the stop, and aborted: {}", .names.join(", "))]
    StillRunning {
        /// Which.
        names: Vec<String>,
        /// How much time there was.
        grace: Duration,
    },
    /// Several things went wrong; the first is why the manager stopped.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; then "))]
    Several(Vec<ManagerError>),
}

impl ManagerError {
    pub(super) fn is_loss(&self) -> bool {
        matches!(self, Self::LostLeadership(_))
    }

    /// One error of many; none if there are none.
    pub(super) fn of(mut errors: Vec<Self>) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Self::Several(errors)),
        }
    }
}

fn in_words(loss: &Loss) -> String {
    match loss {
        Loss::NotRenewed => "the lease could not be renewed in time".to_owned(),
        Loss::TakenBy(other) => format!("{other:?} has the lease"),
        Loss::EndOfTerm(other) => format!("{other:?} shall have the lease next"),
    }
}
