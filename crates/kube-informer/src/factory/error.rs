//! What comes of asking a factory.

use crate::informer::InformerError;
use crate::selector::SelectorError;
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
    /// What was asked for cannot be the name of a resource.
    #[error("{given:?} is no resource that can be followed: {why}{}", advice(.nearest))]
    NotAResource {
        /// What was asked for: `v1 PodList`.
        given: String,
        /// For people.
        why: String,
        /// What is called nearly so, the nearest first: `v1 pods`.
        nearest: Vec<String>,
    },
    /// There is no type for the resource that was asked for.
    #[error(
        "the factory knows no type for {given:?}{}; make one known with `FactoryBuilder::kind`, or ask a factory that \
         needs none",
        advice(.nearest)
    )]
    UnknownResource {
        /// What was asked for: `apps/v1 deploymets`.
        given: String,
        /// What is called nearly so, the nearest first: `apps/v1 deployments`.
        nearest: Vec<String>,
    },
    /// The factory is confined to namespaces, and what was asked for has none.
    #[error(
        "{given:?} has no namespaces, and the factory is confined to some; ask a factory for all namespaces"
    )]
    ClusterScoped {
        /// What was asked for: `v1 nodes`.
        given: String,
    },
    /// What the factory is told to select by makes no sense.
    #[error(transparent)]
    Selector(#[from] SelectorError),
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
    /// It was asked for in namespaces, and not in all.
    pub confined: bool,
}

fn advice(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!(" (did you mean {one:?}?)"),
        [some @ .., last] => {
            let some: Vec<String> = some.iter().map(|one| format!("{one:?}")).collect();
            format!(" (did you mean {} or {last:?}?)", some.join(", "))
        }
    }
}

fn in_words(failed: &[NotSynced]) -> String {
    let each: Vec<String> = failed
        .iter()
        .map(|one| match &one.cause {
            Some(cause) if one.confined && cause.code == 404 => {
                format!("{}: {cause} (if it has no namespaces, ask a factory for all of them)", one.resource)
            }
            Some(cause) => format!("{}: {cause}", one.resource),
            None => format!("{}: stopped before it had synced", one.resource),
        })
        .collect();
    format!("cannot sync {}", each.join("; "))
}
