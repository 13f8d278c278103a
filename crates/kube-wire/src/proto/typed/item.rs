//! Values of each type, from what the walk found.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

use super::super::error::{Cause, ProtoError};
use super::super::runs::{Elements, Entries};
use super::super::special;
use super::super::table::Kind;
use super::super::time;
use super::super::value::{Slot, Value};
use super::super::wire::text;
use super::Fill;

/// A type that is read from a value. Structs are filled where they will stay, because they are large.
pub(super) trait Item: Sized {
    /// Reads a value.
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError>;

    /// Reads a value into a place where nothing was put before.
    #[inline]
    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        *self = Self::read(value)?;
        Ok(())
    }

    /// The same where there may be none.
    #[inline]
    fn put_some(place: &mut Option<Self>, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        *place = Some(Self::read(value)?);
        Ok(())
    }

    /// The same at the end of a list.
    #[inline]
    fn push(list: &mut Vec<Self>, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        list.push(Self::read(value)?);
        Ok(())
    }
}

/// Fills a struct with the fields of a message.
#[inline]
pub(super) fn fill(place: &mut impl Fill, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
    place.fill(&mut Value(value).fields()?)
}

/// Reads a value of a type that has no place here.
pub(super) fn through_serde<'de, T: Deserialize<'de>>(value: &Slot<'_, 'de>) -> Result<T, ProtoError> {
    T::deserialize(Value(value))
}

impl<T: Item> Item for Option<T> {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        T::read(value).map(Some)
    }

    #[inline]
    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        T::put_some(self, value)
    }
}

impl<T: Item> Item for Vec<T> {
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        let mut elements = Elements::new(value);
        let mut list = Self::with_capacity(elements.count());
        while elements.advance()? {
            T::push(&mut list, elements.slot())?;
        }
        Ok(list)
    }
}

impl<T: Item> Item for BTreeMap<String, T> {
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        let mut entries = Entries::new(value);
        let mut map = Self::new();
        while let Some(key) = entries.advance()? {
            map.insert(text(key)?.to_owned(), T::read(entries.slot())?);
        }
        Ok(map)
    }
}

impl Item for String {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        text(value.raw.bytes).map(str::to_owned)
    }
}

impl Item for bool {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        Ok(value.raw.number != 0)
    }
}

impl Item for i32 {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        Ok(value.raw.int32())
    }
}

impl Item for i64 {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        Ok(value.raw.int64())
    }
}

impl Item for ByteString {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        Ok(Self(value.raw.bytes.to_vec()))
    }
}

impl Item for Quantity {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        special::quantity(value.raw.bytes).map(|text| Self(text.to_owned()))
    }
}

impl Item for IntOrString {
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        Ok(match special::int_or_string(value.raw.bytes)? {
            special::IntOrString::Int(number) => Self::Int(number),
            special::IntOrString::String(text) => Self::String(text.to_owned()),
        })
    }
}

impl Item for Time {
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        timestamp(value.raw.bytes, Kind::Time).map(Self)
    }
}

impl Item for MicroTime {
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        timestamp(value.raw.bytes, Kind::MicroTime).map(Self)
    }
}

/// A moment, as exact as JSON has it.
fn timestamp(bytes: &[u8], kind: Kind) -> Result<Timestamp, ProtoError> {
    let (seconds, nanos) = time::Time::read(bytes)?.ok_or_else(unusual)?.parts(kind);
    Timestamp::new(seconds, nanos).map_err(|_| unusual())
}

/// What only the way through serde knows what to make of.
#[cold]
fn unusual() -> ProtoError {
    Cause::Value("unusual".to_owned()).into()
}
