//! Functions of indexes that may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;

use super::IndexFunction;
use crate::object::Object;
use crate::panics;

/// How the function of an index is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexStatus {
    /// The name of the index.
    pub name: String,
    /// How often the function panicked. The objects for which it did are not in the index until they change.
    pub panics: u64,
    /// The message of the last panic, if it was not formatted.
    pub last_panic: Option<String>,
}

/// Wraps an index function: if it panics, the object has no values. It runs in the middle of a write, under the lock of the writer:
/// a panic must not leave it.
pub(super) fn guarded<K>(
    name: &str,
    function: impl Fn(&Object<K>) -> Vec<String> + Send + Sync + 'static,
) -> (IndexFunction<K>, Arc<Mutex<IndexStatus>>) {
    let status = Arc::new(Mutex::new(IndexStatus { name: name.to_owned(), ..IndexStatus::default() }));
    let noted = Arc::clone(&status);
    let guarded = move |object: &Object<K>| {
        catch_unwind(AssertUnwindSafe(|| function(object))).unwrap_or_else(|panic| {
            let message = panics::message(panic);
            let mut status = noted.lock();
            status.panics += 1;
            status.last_panic = Some(message);
            Vec::new()
        })
    };
    (Arc::new(guarded), status)
}
