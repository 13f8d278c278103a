//! What panics say, for those who catch them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Stands for a message that was put together when the panic came.
const FORMATTED: &str = "its message is not repeated here, since it may have values of objects in it; see the output of the panic hook";

/// The message of a panic, if it stands so in the program. One that was formatted may have values of objects in it, and is not
/// shown: what this returns goes into logs, the status and pages. What the panic carries is dropped here, though that may panic,
/// too.
pub fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.is::<String>().then(|| FORMATTED.to_owned()));
    drop_quietly(panic);
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

const OF_TRANSFORM: &str = "the transform panicked";
const OF_DECODING: &str = "decoding it panicked";

/// Why an object is in quarantine for which a transform panicked.
pub(crate) fn transform(panic: Box<dyn Any + Send>) -> String {
    format!("{OF_TRANSFORM}: {}", message(panic))
}

/// Why an object is in quarantine whose type panicked.
pub(crate) fn decoding(panic: Box<dyn Any + Send>) -> String {
    format!("{OF_DECODING}: {}", message(panic))
}

/// Whether an object is in quarantine because of a panic: the next time there may be none. No other reason begins so: what types say
/// of objects is not repeated in errors.
pub(crate) fn is_reason(why: &str) -> bool {
    why.starts_with(OF_TRANSFORM) || why.starts_with(OF_DECODING)
}

/// Drops something that may panic then.
pub fn drop_quietly<T>(what: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(what))) {
        // What it carries may panic as well, and so on for ever: it stays where it is.
        Box::leak(panic);
    }
}
