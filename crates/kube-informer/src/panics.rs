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

/// Why an object is in quarantine for which a transform panicked.
pub(crate) fn transform(panic: Box<dyn Any + Send>) -> String {
    format!("the transform panicked: {}", message(panic))
}

/// Why an object is in quarantine whose type panicked.
pub(crate) fn decoding(panic: Box<dyn Any + Send>) -> String {
    format!("decoding it panicked: {}", message(panic))
}

/// Drops something that may panic then.
pub fn drop_quietly<T>(what: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(what))) {
        // What it carries may panic as well, and so on for ever: it stays where it is.
        Box::leak(panic);
    }
}
