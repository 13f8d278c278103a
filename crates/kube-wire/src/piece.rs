//! A piece of an answer: one item of a list, or one frame of a watch.

use bytes::Bytes;

use crate::limits::Limits;
use crate::meta::ObjectKey;
use crate::object::DecodeError;

/// One item of a list, or one frame of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// All of its bytes.
    Whole(Bytes),
    /// It was larger than allowed. It was passed over, and what comes behind it is not lost.
    TooLarge(TooLarge),
}

impl Piece {
    /// How many bytes it holds.
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::TooLarge(_) => 0,
        }
    }

    /// Whether it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes; none if it was too large.
    pub fn whole(self) -> Option<Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::TooLarge(_) => None,
        }
    }
}

/// What is known of a piece that was larger than allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLarge {
    /// The type of the event: `ADDED`, …; empty for an item of a list, and where it could not be read.
    pub event: String,
    /// Which object it is about, if that much could be read.
    pub key: Option<Box<ObjectKey>>,
    /// How large it was.
    pub bytes: u64,
    /// What is allowed.
    pub limit: usize,
}

impl From<TooLarge> for DecodeError {
    fn from(piece: TooLarge) -> Self {
        let TooLarge { key, bytes, limit, .. } = piece;
        Self::new(key, format!("it has {bytes} bytes; no more than {limit} are taken"))
    }
}

/// What was read of a piece while it was passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Glimpsed {
    pub(crate) event: String,
    pub(crate) key: ObjectKey,
}

impl Glimpsed {
    /// What is said of a piece of so many bytes.
    pub(crate) fn too_large(self, bytes: u64, limit: usize) -> Piece {
        let key = (!self.key.name.is_empty()).then(|| Box::new(self.key));
        Piece::TooLarge(TooLarge { event: self.event, key, bytes, limit })
    }
}

impl Limits {
    /// Whether a piece of so many bytes is too large even to be passed over.
    pub(crate) fn is_endless(&self, bytes: u64) -> bool {
        bytes > self.passed_over_bytes
    }
}
