//! Values of each type, from what the walk found.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

use super::super::error::{Cause, ProtoError};
use super::super::fields::Fields;
use super::super::runs::{Elements, Entries};
use super::super::special;
use super::super::table::Kind;
use super::super::time;
use super::super::value::{Slot, Value};
use super::super::wire::{owned_text, text};
use super::Fill;

/// A type that is read from a value. Structs are filled where they will stay, because they are large.
pub(super) trait Item: Sized {
    /// Whether what the table says about a value is needed to read it, and not the value alone.
    const NEEDS_FIELD: bool = false;

    /// Reads a value.
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError>;

    /// Reads a value into a place, and into the memory of what was there before.
    #[inline]
    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        *self = Self::read(value)?;
        Ok(())
    }

    /// The same where there may be none.
    #[inline]
    fn put_some(place: &mut Option<Self>, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        match place {
            Some(used) => used.put(value)?,
            None => *place = Some(Self::read(value)?),
        }
        Ok(())
    }

    /// Looks at all memory that this value has elsewhere; see [`Fill::touch`].
    #[inline]
    fn touch(&self) -> usize {
        0
    }

    /// Lets go of what was there before.
    #[inline]
    fn forget(&mut self)
    where
        Self: Default,
    {
        *self = Self::default();
    }

    /// Reads a value into a new place at the end of a list.
    #[inline]
    fn push(list: &mut Vec<Self>, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        list.push(Self::read(value)?);
        Ok(())
    }
}

/// Fills a new struct with the fields of a message.
#[inline]
pub(super) fn fill(place: &mut impl Fill, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
    place.fill(&mut Value(value).fields()?).map(drop)
}

/// Fills a struct that was used before.
#[inline]
pub(super) fn refill(place: &mut impl Fill, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
    place.refill(&mut Value(value).fields()?)
}

/// Allocators give small pieces of memory in steps of so many bytes.
const STEP: usize = 16;

/// Whether memory of some size is as good as new memory for so many bytes: neither too small, nor larger than what would
/// be given for them.
#[inline]
fn fits(capacity: usize, bytes: usize) -> bool {
    bytes <= capacity && bytes.div_ceil(STEP) == capacity.div_ceil(STEP)
}

/// Looks at the beginning of some bytes.
#[inline]
fn touch(bytes: &[u8]) -> usize {
    bytes.first().map_or(0, |byte| usize::from(*byte))
}

/// Writes a text over another that has memory for it.
#[inline]
fn overwrite(used: &mut String, text: &str) {
    used.clear();
    used.push_str(text);
}

/// Reads the field that a walk went to into a place.
#[inline(always)]
pub(super) fn put<T: Item>(place: &mut T, fields: &mut Fields<'_, '_>) -> Result<(), ProtoError> {
    if T::NEEDS_FIELD {
        fields.look_up();
    }
    place.put(fields.slot())
}

/// Reads it as a type that has no place here.
pub(super) fn through_serde<'de, T: Deserialize<'de>>(fields: &mut Fields<'_, 'de>) -> Result<T, ProtoError> {
    fields.look_up();
    T::deserialize(Value(fields.slot()))
}

impl<T: Item> Item for Option<T> {
    const NEEDS_FIELD: bool = T::NEEDS_FIELD;

    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        T::read(value).map(Some)
    }

    #[inline]
    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        T::put_some(self, value)
    }

    #[inline]
    fn touch(&self) -> usize {
        self.as_ref().map_or(0, T::touch)
    }

    #[inline]
    fn forget(&mut self) {
        // Most fields of most types are never there, and to see that is quicker than to let go of nothing.
        if self.is_some() {
            *self = None;
        }
    }
}

impl<T: Item> Item for Vec<T> {
    const NEEDS_FIELD: bool = true;

    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        let mut elements = Elements::new(value);
        let mut list = Self::with_capacity(elements.count());
        while elements.advance()? {
            T::push(&mut list, elements.slot())?;
        }
        Ok(list)
    }

    #[inline]
    fn touch(&self) -> usize {
        self.iter().fold(0, |sum, one| sum ^ one.touch())
    }

    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        let mut elements = Elements::new(value);
        if self.capacity() != elements.count() {
            self.truncate(elements.count());
            let mut list = Self::with_capacity(elements.count());
            list.append(self);
            *self = list;
        }
        let mut at = 0;
        while elements.advance()? {
            match self.get_mut(at) {
                Some(used) => used.put(elements.slot())?,
                None => T::push(self, elements.slot())?,
            }
            at += 1;
        }
        self.truncate(at);
        Ok(())
    }
}

impl<T: Item> Item for BTreeMap<String, T> {
    const NEEDS_FIELD: bool = true;

    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        let mut entries = Entries::new(value);
        let mut map = Self::new();
        while let Some(key) = entries.advance()? {
            map.insert(owned_text(key)?, T::read(entries.slot())?);
        }
        Ok(map)
    }

    #[inline]
    fn touch(&self) -> usize {
        self.iter().fold(0, |sum, (key, one)| sum ^ key.touch() ^ one.touch())
    }

    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        if !put_under_the_same_keys(self, value)? {
            *self = Self::read(value)?;
        }
        Ok(())
    }
}

/// Reads the values of a map into those of another, as long as their keys are the same; whether all of them are.
fn put_under_the_same_keys<T: Item>(
    map: &mut BTreeMap<String, T>,
    value: &Slot<'_, '_>,
) -> Result<bool, ProtoError> {
    let (mut entries, mut used) = (Entries::new(value), map.iter_mut());
    while let Some(key) = entries.advance()? {
        match used.next() {
            Some((same, place)) if same.as_bytes() == key => place.put(entries.slot())?,
            _ => return Ok(false),
        }
    }
    Ok(used.next().is_none())
}

impl Item for String {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        owned_text(value.raw.bytes)
    }

    #[inline]
    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        let bytes = value.raw.bytes;
        if fits(self.capacity(), bytes.len()) {
            overwrite(self, text(bytes)?);
        } else {
            *self = owned_text(bytes)?;
        }
        Ok(())
    }

    #[inline]
    fn touch(&self) -> usize {
        touch(self.as_bytes())
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

    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        let bytes = value.raw.bytes;
        if fits(self.0.capacity(), bytes.len()) {
            self.0.clear();
            self.0.extend_from_slice(bytes);
        } else {
            self.0 = bytes.to_vec();
        }
        Ok(())
    }

    #[inline]
    fn touch(&self) -> usize {
        touch(&self.0)
    }
}

impl Item for Quantity {
    #[inline]
    fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
        special::quantity(value.raw.bytes).map(|text| Self(text.to_owned()))
    }

    #[inline]
    fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
        let text = special::quantity(value.raw.bytes)?;
        if fits(self.0.capacity(), text.len()) {
            overwrite(&mut self.0, text);
        } else {
            self.0 = text.to_owned();
        }
        Ok(())
    }

    #[inline]
    fn touch(&self) -> usize {
        touch(self.0.as_bytes())
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
