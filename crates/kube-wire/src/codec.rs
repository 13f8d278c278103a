//! How the objects of one type are decoded, as a value.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::encoding::Encoding;
use crate::event::{Event, EventError};
use crate::object::{DecodeError, DecodeOptions};
use crate::proto::can_be_remade;

type DecodeObject<K> = fn(Encoding, &[u8], DecodeOptions, Option<Box<K>>) -> Result<Box<K>, DecodeError>;
type DecodeEvent<K> = fn(Encoding, &[u8], DecodeOptions, Option<Box<K>>) -> Result<Event<Box<K>>, EventError>;

/// Decodes the objects of one type.
///
/// Code that is generic over types and takes a codec does not have the decoder of each type compiled into it. The codecs of the
/// kinds that clusters have many of are compiled in this crate ([`BuiltIn`]); those of other types are compiled where
/// [`Codec::serde`] is called.
pub struct Codec<K> {
    object: DecodeObject<K>,
    event: DecodeEvent<K>,
    is_complete: bool,
    reuses: bool,
}

impl<K: DeserializeOwned + 'static> Codec<K> {
    /// Decodes a type with its own `Deserialize`.
    pub fn serde() -> Self {
        let is_known = can_be_remade::<K>();
        Self {
            object: Encoding::decode_object_into,
            event: Encoding::decode_event_into,
            is_complete: is_known,
            reuses: is_known,
        }
    }
}

impl<K> Codec<K> {
    /// Decodes an item of a list, or what was kept of one. A `spare` object is one that is not needed any more, into whose memory
    /// the new one may be decoded.
    pub fn object(
        &self,
        encoding: Encoding,
        object: &[u8],
        options: DecodeOptions,
        spare: Option<Box<K>>,
    ) -> Result<Box<K>, DecodeError> {
        (self.object)(encoding, object, options, spare)
    }

    /// Decodes one frame of a watch.
    pub fn event(
        &self,
        encoding: Encoding,
        frame: &[u8],
        options: DecodeOptions,
        spare: Option<Box<K>>,
    ) -> Result<Event<Box<K>>, EventError> {
        (self.event)(encoding, frame, options, spare)
    }

    /// Whether the type takes everything that a server may send of its kind, so that objects that are
    /// [right](crate::check_object_proto) need not be decoded to know that they can be.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether an object can be decoded into the memory of another.
    pub fn reuses(&self) -> bool {
        self.reuses
    }
}

impl<K> Clone for Codec<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Codec<K> {}

impl<K> fmt::Debug for Codec<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_complete, reuses, .. } = self;
        f.debug_struct("Codec")
            .field("is_complete", is_complete)
            .field("reuses", reuses)
            .finish_non_exhaustive()
    }
}

/// A type of k8s-openapi for a kind that is built into Kubernetes.
///
/// It takes everything that a server may send of its kind. Implemented in this crate, and nowhere else.
pub trait BuiltIn: sealed::Sealed + Sized + 'static {
    /// The codec of the type.
    fn codec() -> Codec<Self>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Built-in kinds whose codecs are compiled where they are used.
macro_rules! built_in {
    ($([$($gate:ident)*] $($kind:ident)::+,)+) => { $(
        gated! { [$($gate)*]
            impl $crate::codec::sealed::Sealed for k8s_openapi::$($kind)::+ {}

            impl $crate::BuiltIn for k8s_openapi::$($kind)::+ {
                #[inline]
                fn codec() -> $crate::Codec<Self> {
                    $crate::codec::built_in()
                }
            }
        }
    )+ };
}

/// Items that exist if all of these macros of k8s-openapi let them through.
macro_rules! gated {
    ([] $($item:tt)*) => { $($item)* };
    ([$gate:ident $($gates:ident)*] $($item:tt)*) => {
        k8s_openapi::$gate! { gated! { [$($gates)*] $($item)* } }
    };
}

/// The codec of a type of k8s-openapi.
pub(crate) fn built_in<K: DeserializeOwned + 'static>() -> Codec<K> {
    Codec { is_complete: true, ..Codec::serde() }
}
