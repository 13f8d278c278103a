//! What panics say, for those who catch them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic said. What it carries is dropped here, though that may panic, too.
pub fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    drop_quietly(panic);
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

/// Drops something that may panic then.
pub fn drop_quietly<T>(what: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(what))) {
        // What it carries may panic as well, and so on for ever.
        std::mem::forget(panic);
    }
}
