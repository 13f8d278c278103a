//! Why a type cannot be made of a value.

use std::fmt;

use serde::de::{Expected, Unexpected};

use crate::proto::ProtoError;
use crate::redact::{self, Path};

/// Why a value cannot be decoded; it has no value of the object in it. Behind a pointer, because it is handed on through every
/// value that is decoded.
pub(crate) struct Error(Box<Why>);

struct Why {
    text: String,
    /// Where in the value that is being decoded; none if the bytes are wrong, whatever the type.
    path: Option<Path>,
}

impl Error {
    #[cold]
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(Box::new(Why { text: why.into(), path: Some(Path::default()) }))
    }

    /// The error of a text in a message.
    #[cold]
    pub(super) fn in_message(&self) -> Self {
        Self(Box::new(Why { text: format!("json parse error: {self}"), path: None }))
    }

    /// The same for a caller that knows where it is.
    #[cold]
    pub(crate) fn below(mut self, grow: impl FnOnce(&mut Path)) -> Self {
        if let Some(path) = &mut self.0.path {
            grow(path);
        }
        self
    }

    /// With the place in the text.
    #[cold]
    pub(crate) fn at(self, text: &str, at: usize) -> Self {
        let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        Self::new(format!("{self} at line {line} column {column}"))
    }
}

impl From<ProtoError> for Error {
    #[cold]
    fn from(error: ProtoError) -> Self {
        Self(Box::new(Why { text: error.to_string(), path: None }))
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
        f.write_str(&self.0.text)?;
        self.0.path.as_ref().map_or(Ok(()), |path| path.fmt(f))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
