//! What is wrong with a text.

use std::fmt;

use serde::de::{Expected, Unexpected};

use crate::redact::{self, Path};

/// Why a text cannot be decoded; it has no value of the text in it. Behind a pointer, because it is handed on through every value
/// that is decoded.
pub(crate) struct Error(Box<Why>);

struct Why {
    text: String,
    /// Where in the value that is being decoded.
    path: Path,
}

impl Error {
    #[cold]
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(Box::new(Why { text: why.into(), path: Path::default() }))
    }

    /// The same for somebody who knows the member that it is about.
    #[cold]
    pub(super) fn below(mut self, name: &str) -> Self {
        self.0.path.name(name);
        self
    }

    /// The same for somebody who knows the element that it is about.
    #[cold]
    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.0.path.element(index);
        self
    }

    /// With the place in the text.
    #[cold]
    pub(super) fn at(self, text: &str, at: usize) -> Self {
        let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        Self::new(format!("{self} at line {line} column {column}"))
    }
}

/// What serde_json found in a piece of the text, without the place in that piece.
impl From<serde_json::Error> for Error {
    #[cold]
    fn from(error: serde_json::Error) -> Self {
        if error.is_data() {
            // The words of a type.
            return Self::new(redact::REFUSED);
        }
        let why = error.to_string();
        Self::new(why.rsplit_once(" at line ").map_or(&*why, |(why, _)| why))
    }
}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::new(redact::REFUSED)
    }

    #[cold]
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(redact::invalid_type(&found, expected))
    }

    #[cold]
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(redact::invalid_value(&found, expected))
    }

    #[cold]
    fn invalid_length(len: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("invalid length {len}, expected {expected}"))
    }

    #[cold]
    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(redact::unknown_variant(expected))
    }

    #[cold]
    fn unknown_field(name: &str, expected: &'static [&'static str]) -> Self {
        Self::new(redact::unknown_field(name, expected))
    }

    #[cold]
    fn missing_field(name: &'static str) -> Self {
        Self::new(format!("missing field `{name}`"))
    }

    #[cold]
    fn duplicate_field(name: &'static str) -> Self {
        Self::new(format!("duplicate field `{name}`"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0.text, self.0.path)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
