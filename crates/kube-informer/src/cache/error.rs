//! Why a cache cannot do what it is asked for.

use std::time::Duration;

use crate::discovery::{DiscoveryError, ResolveError};
use crate::informer::InformerError;
use crate::lister::NotFound;
use crate::selector::SelectorError;
use crate::source::SourceError;
use crate::store::IndexError;

/// Why a cache cannot do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Nothing can be read before the start.
    #[error("the cache has not been started; call start() before it is read")]
    NotStarted,
    /// It has been shut down.
    #[error("the cache has been shut down; make a new one")]
    ShutDown,
    /// Nobody has asked for the kind before, and reads do not start it.
    #[error("{resource} is not cached, and reads of it do not start it; ask for its informer first")]
    NotCached {
        /// `pods`, `deployments.apps`.
        resource: String,
    },
    /// The namespace is none of those that are followed.
    #[error("the namespace {namespace:?} of {resource} is not cached; add it to the cache's namespaces")]
    NamespaceNotCached {
        /// `pods`, `deployments.apps`.
        resource: String,
        /// The namespace.
        namespace: String,
    },
    /// The kind was removed from the cache while somebody waited for it.
    #[error("{resource} was removed from the cache meanwhile; ask again to have it followed anew")]
    Removed {
        /// `pods`, `deployments.apps`.
        resource: String,
    },
    /// There is no such object in the copy.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The object is there, and does not fit the type that it is read as.
    #[error("{resource} {key:?} does not fit its type: {why}")]
    Unfit {
        /// `pods`, `deployments.apps`.
        resource: String,
        /// `namespace/name`, or the name alone.
        key: String,
        /// Why not.
        why: String,
    },
    /// The kind cannot be followed, and time alone will not change that.
    #[error("cannot sync {resource}: {cause}")]
    CannotSync {
        /// `pods`, `deployments.apps`.
        resource: String,
        /// Why not.
        cause: SourceError,
    },
    /// The kind did not arrive in time.
    #[error("{resource} did not arrive in {}{}", in_words(.after), because(.cause.as_ref()))]
    TimedOut {
        /// `pods`, `deployments.apps`.
        resource: String,
        /// How long it was waited for.
        after: Duration,
        /// What is wrong so far.
        cause: Option<SourceError>,
    },
    /// What the caller wrote did not arrive in time.
    #[error(
        "what was written to {resource} {wanted} did not arrive in {}; the copy is at {}{}",
        in_words(.after),
        .seen.as_deref().unwrap_or("none"),
        because(.cause.as_deref())
    )]
    WriteNotSeen {
        /// `pods`, `deployments.apps`.
        resource: String,
        /// Which write it was: `at version 12`, `by deleting shop/a`.
        wanted: String,
        /// The version of the copy of its namespace, if namespaces are followed by themselves, or of all of it.
        seen: Option<String>,
        /// How long it was waited for.
        after: Duration,
        /// What is wrong with the copy, if something is.
        cause: Option<Box<SourceError>>,
    },
    /// There is no index of that name.
    #[error("{resource} has no index with the name {name:?}; add it with add_index")]
    NoIndex {
        /// `pods`, `deployments.apps`.
        resource: String,
        /// The name.
        name: String,
    },
    /// There is an index of that name.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A kind without namespaces was given some.
    #[error("{resource} has no namespaces, so it cannot be kept by namespace; leave its namespaces out")]
    ClusterScoped {
        /// `nodes`, `clusterroles.rbac.authorization.k8s.io`.
        resource: String,
    },
    /// What was named is a list of objects.
    #[error("{kind} is a list of objects, not a kind of them; ask for {of}")]
    ListKind {
        /// `PodList`.
        kind: String,
        /// `Pod`.
        of: String,
    },
    /// What was named cannot be a kind.
    #[error("{given:?} is no resource that can be followed: {why}")]
    NotAResource {
        /// What was named: `v1 pods/status`.
        given: String,
        /// For people.
        why: String,
    },
    /// There can be no such namespace.
    #[error("{namespace:?} cannot be the name of a namespace")]
    BadNamespace {
        /// What was named.
        namespace: String,
    },
    /// A selector makes no sense.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// Nobody knows what resources the server has.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// The server has no such resource.
    #[error(transparent)]
    Unknown(#[from] ResolveError),
    /// The server was asked, and did not answer as hoped.
    #[error("{resource}: {cause}")]
    Server {
        /// `pods`, `deployments.apps`.
        resource: String,
        /// Why not.
        cause: SourceError,
    },
    /// An informer refused.
    #[error(transparent)]
    Informer(#[from] InformerError),
}

impl CacheError {
    /// There is no such object: in the copy, or, if the server was asked, there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }
}

fn in_words(time: &Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn because(cause: Option<&SourceError>) -> String {
    cause.map(|cause| format!(": {cause}")).unwrap_or_default()
}
