//! Why bytes are not an object.

use std::fmt;

/// Bytes that are not what their type says; it has no value of the object in it. Small, because every step of decoding may return one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProtoError(Box<Cause>);

/// What is wrong, in the words of Go's decoder where it has some.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Cause {
    #[error("unexpected EOF")]
    Truncated,
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    #[error("proto: integer overflow")]
    EndlessNumber,
    #[error("proto: illegal tag {} (wire type {})", bits >> 3, bits & 7)]
    IllegalTag { bits: u64 },
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WrongWireType { wire: u32, field: &'static str },
    #[error("proto: invalid UTF-8 in a string")]
    InvalidUtf8,
    #[error("proto: messages nested more than {} deep", super::MAX_DEPTH)]
    TooDeep,
    /// Fields come in another order than encoders write them. Nobody sees it: the bytes are put in order and read
    /// again.
    #[error("proto: fields out of order")]
    Disorder,
    /// A value that its type cannot hold.
    #[error("{0}")]
    Value(String),
    #[error("missing field `{0}`")]
    Missing(&'static str),
}

impl Cause {
    /// A length that is more than there is. Go's lengths have a sign.
    #[cold]
    pub(crate) fn past_the_end(length: u64) -> Self {
        if i64::try_from(length).is_err() { Self::NegativeLength } else { Self::Truncated }
    }
}

impl ProtoError {
    /// There would be more, if the bytes had not ended.
    pub(crate) fn is_truncation(&self) -> bool {
        *self.0 == Cause::Truncated
    }

    #[cfg(test)]
    pub(crate) fn into_cause(self) -> Cause {
        *self.0
    }
}

impl From<Cause> for ProtoError {
    #[cold]
    fn from(cause: Cause) -> Self {
        Self(Box::new(cause))
    }
}

impl fmt::Display for ProtoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ProtoError {}
