//! What is wrong with a text.

use std::fmt;

use serde::de::{Expected, Unexpected};

/// Why a text cannot be decoded. Behind a pointer, because it is handed on through every value that is decoded.
pub(crate) struct Error(Box<Why>);

struct Why(String);

impl Error {
    #[cold]
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(Box::new(Why(why.into())))
    }

    /// With the place in the text.
    #[cold]
    pub(super) fn at(self, text: &str, at: usize) -> Self {
        let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        Self::new(format!("{} at line {line} column {column}", self.0.0))
    }
}

/// What serde_json found in a piece of the text, without the place in that piece.
impl From<serde_json::Error> for Error {
    #[cold]
    fn from(error: serde_json::Error) -> Self {
        let why = error.to_string();
        Self::new(why.rsplit_once(" at line ").map_or(&*why, |(why, _)| why))
    }
}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self::new(why.to_string())
    }

    #[cold]
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        // What serde calls a unit is null to those who write JSON.
        let found = if found == Unexpected::Unit { Unexpected::Other("null") } else { found };
        Self::new(format!("invalid type: {found}, expected {expected}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.0)
    }
}

impl std::error::Error for Error {}
