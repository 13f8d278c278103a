//! What comes of asking a factory.

use crate::informer::InformerError;
use crate::source::SourceError;

/// Why a factory cannot do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FactoryError {
    /// It has been shut down.
    #[error("the informer factory has been shut down; make a new one")]
    ShutDown,
    /// It was given namespaces that make no sense together, or none.
    #[error("the namespaces of the informer factory: {0}")]
    Namespaces(InformerError),
    /// Some informers cannot sync, or were stopped before they had.
    #[error("{}", in_words(.0))]
    NotSynced(Vec<NotSynced>),
}

/// An informer that has synced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Synced {
    /// `pods`, `deployments.apps`.
    pub resource: String,
    /// How many objects there are.
    pub objects: usize,
    /// How many objects cannot be decoded; the informer's status names them.
    pub quarantined: usize,
}

/// An informer that cannot sync.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSynced {
    /// `pods`, `deployments.apps`.
    pub resource: String,
    /// Why not; none if it was stopped, or if nothing is wrong yet.
    pub cause: Option<SourceError>,
}

fn in_words(failed: &[NotSynced]) -> String {
    let each: Vec<String> = failed
        .iter()
        .map(|one| match &one.cause {
            Some(cause) => format!("{}: {cause}", one.resource),
            None => format!("{}: stopped before it had synced", one.resource),
        })
        .collect();
    format!("cannot sync {}", each.join("; "))
}
