//! Waiting for something to happen: to one object, to a kind, or from a certain version on.
//!
//! | to wait | use | it |
//! |---|---|---|
//! | until one object is as it should be | [`wait_for_object`] | looks at the copy of an informer; never fails on old versions |
//! | until something happens to a kind | [`until_synced`] | hears the events of an informer; may miss states in between |
//! | for each change since a version | [`until`] with a [`RetryWatch`] | misses nothing, and says so when it cannot |
//!
//! Nothing here has a time-out of its own, and nothing has a task: dropping a future or a stream ends it, whatever it
//! is waiting for. Give up after a time with [`tokio::time::timeout`].
//!
//! What client-go calls an informer watcher, the events of an informer as a stream, is
//! [`SharedInformer::subscribe`](crate::SharedInformer::subscribe): its queue is bounded, and an object whose end
//! nobody saw comes as [`Deleted`](crate::fanout::Deleted), like any other, with its last known state.

mod change;
mod error;
mod object;
mod open;
mod pace;
mod retry;
mod synced;
#[cfg(test)]
mod tests;
mod until;

pub use change::Change;
pub use error::{StartError, UntilError, WatchError};
pub use object::wait_for_object;
pub use pace::MIN_RESTART;
pub use retry::RetryWatch;
pub use synced::{UntilSynced, until_synced};
pub use until::{Until, Verdict, until};
