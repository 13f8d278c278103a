//! Why a controller does not run.

use std::time::Duration;

/// Settings that make no controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// It has no name.
    #[error("a controller needs a name; give `Controller::builder` one")]
    NoName,
    /// Nothing would ever be added.
    #[error(
        "the controller {controller:?} has nothing to listen to; give it a kind (`for_`, `watches`) or a source"
    )]
    NoSource {
        /// The controller's name.
        controller: String,
    },
    /// It is for two kinds.
    #[error("the controller {controller:?} is for two kinds; call `for_` once, and `watches` for others")]
    TwoKinds {
        /// The controller's name.
        controller: String,
    },
    /// Nobody knows who owns.
    #[error(
        "the controller {controller:?} owns {owned}, but is for no kind; call `for_` too, or `watches` instead"
    )]
    NoOwner {
        /// The controller's name.
        controller: String,
        /// What it would own: `deployments.apps`.
        owned: String,
    },
    /// Nobody would work.
    #[error("the controller {controller:?} has no workers; its concurrency must be 1 or more")]
    NoWorkers {
        /// The controller's name.
        controller: String,
    },
}

/// Why a controller ended though nobody stopped it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// Its settings make no sense.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It has ended, or could not begin, and is of no use any more.
    #[error("the controller {controller:?} has ended; build a new one")]
    Ended {
        /// The controller's name.
        controller: String,
    },
    /// A kind could not be listened to.
    #[error("the controller {controller:?} cannot listen to {source_name}: {why}")]
    Source {
        /// The controller's name.
        controller: String,
        /// What it listens to: `deployments.apps`.
        source_name: String,
        /// For people.
        why: String,
    },
    /// What is to be there before the work begins did not come in time.
    #[error("the controller {controller:?} has waited {waited:?} in vain for {}", in_words(.sources))]
    NotSynced {
        /// The controller's name.
        controller: String,
        /// How long it waited.
        waited: Duration,
        /// What it waited for.
        sources: Vec<Unsynced>,
    },
}

/// A source that was not ready in time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsynced {
    /// What it is: `deployments.apps`.
    pub name: String,
    /// What is wrong; none if nothing is known to be.
    pub cause: Option<String>,
}

fn in_words(sources: &[Unsynced]) -> String {
    let each = sources.iter().map(|source| match &source.cause {
        Some(cause) => format!("{} ({cause})", source.name),
        None => format!("{} (nothing is known to be wrong; is the server slow?)", source.name),
    });
    each.collect::<Vec<_>>().join(", ")
}
