//! Values of each type, from what the walk found.

use std::any::TypeId;
use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, MicroTime, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

use super::super::fields::run;
use super::super::runs::in_order;
use super::super::special;
use super::super::table::{Kind, Shape, Table};
use super::super::time;
use super::super::value::{Context, Slot};
use super::super::wire::{BYTES, Raw, Reader, Tag, VARINT, owned_text, text};
use super::walk::{At, another, bytes, count, number, pass};
use crate::value::Value;

/// What a field of a struct is: one value, several, or either of them that may not be there.
pub(super) trait Field: Sized {
    /// Reads what is behind a tag into a place, and into the memory of what was there before; returns what is behind it.
    fn receive<'a>(&mut self, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]>;

    /// The same where there may be none.
    fn receive_some<'a>(place: &mut Option<Self>, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]>;

    /// Looks at all memory that it has elsewhere; see [`Fill::touch`](super::Fill::touch).
    fn touch(&self) -> usize;

    /// Lets go of what was there before.
    #[inline]
    fn forget(&mut self)
    where
        Self: Default,
    {
        *self = Self::default();
    }
}

/// A type that is read from one value. Structs are filled where they will stay, because they are large.
pub(super) trait Item: Sized + 'static {
    /// How it is written.
    const WIRE: u32 = BYTES;

    /// Reads a value.
    fn read(value: Raw<'_>, at: At) -> Option<Self>;

    /// Reads a value into a place, and into the memory of what was there before.
    #[inline]
    fn put(&mut self, value: Raw<'_>, at: At) -> Option<()> {
        *self = Self::read(value, at)?;
        Some(())
    }

    /// The same where there may be none.
    #[inline]
    fn put_some(place: &mut Option<Self>, value: Raw<'_>, at: At) -> Option<()> {
        match place {
            Some(used) => used.put(value, at)?,
            None => *place = Some(Self::read(value, at)?),
        }
        Some(())
    }

    /// Makes a list so long, if its elements can be there before they are read.
    #[inline]
    fn make_room(_list: &mut Vec<Self>, _count: usize) {}

    /// Looks at all memory that this value has elsewhere.
    #[inline]
    fn touch(&self) -> usize {
        0
    }
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

/// The value behind a tag, and what is behind that; none if it is not written as its type should be.
#[inline(always)]
fn value<T: Item>(tag: Tag, rest: &[u8]) -> Option<(Raw<'_>, &[u8])> {
    if tag.wire() != T::WIRE {
        return None;
    }
    if T::WIRE == BYTES {
        bytes(rest).map(|(bytes, rest)| (Raw { number: 0, bytes }, rest))
    } else {
        number(rest).map(|(number, rest)| (Raw { number, bytes: &[] }, rest))
    }
}

/// Reads a field as a type that has no place here: the one of this number in a message. Returns what is behind it.
pub(super) fn through_serde<'a, T: Deserialize<'a>>(
    place: &mut T,
    message: &str,
    number: u32,
    start: &'a [u8],
) -> Option<&'a [u8]> {
    let context = Context::new(Table::get());
    let field = context.table.named(message, number)?;
    let mut reader = Reader::new(start);
    let tag = reader.tag().ok()??;
    let mut slot = Slot::new(&context, 0);
    slot.set_field(field);
    (slot.raw, reader) = match field.shape {
        Shape::One if tag == field.tag => (reader.value(tag).ok()?, reader),
        Shape::One => return None,
        Shape::Repeated | Shape::Map => run(reader, start, tag, field).ok()?,
    };
    *place = T::deserialize(Value::Proto(&slot)).ok().filter(|_| !context.is_disordered())?;
    Some(reader.rest())
}

impl<T: Item> Field for T {
    #[inline]
    fn receive<'a>(&mut self, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]> {
        let (value, rest) = value::<T>(tag, rest)?;
        self.put(value, at.below())?;
        Some(rest)
    }

    #[inline]
    fn receive_some<'a>(place: &mut Option<Self>, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]> {
        let (value, rest) = value::<T>(tag, rest)?;
        T::put_some(place, value, at.below())?;
        Some(rest)
    }

    #[inline]
    fn touch(&self) -> usize {
        Item::touch(self)
    }
}

impl<T: Field> Field for Option<T> {
    #[inline]
    fn receive<'a>(&mut self, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]> {
        T::receive_some(self, tag, rest, at)
    }

    #[inline]
    fn receive_some<'a>(place: &mut Option<Self>, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]> {
        place.get_or_insert_default().receive(tag, rest, at)
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

impl<T: Item> Field for Vec<T> {
    fn receive<'a>(&mut self, tag: Tag, mut rest: &'a [u8], at: At) -> Option<&'a [u8]> {
        // Integers may also be packed into one field; nobody does that.
        if tag.wire() != T::WIRE {
            return None;
        }
        let count = count(tag, rest)?;
        if self.capacity() != count {
            self.truncate(count);
            let mut list = Self::with_capacity(count);
            list.append(self);
            *self = list;
        }
        let (used, at) = (self.len(), at.below());
        T::make_room(self, count);
        for number in 0..count {
            let value;
            (value, rest) = self::value::<T>(tag, rest)?;
            match self.get_mut(number) {
                Some(place) => place.put(value, if number < used { at } else { at.fresh() })?,
                None => self.push(T::read(value, at.fresh())?),
            }
            rest = another(tag, rest).unwrap_or(rest);
        }
        self.truncate(count);
        Some(rest)
    }

    #[inline]
    fn receive_some<'a>(place: &mut Option<Self>, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]> {
        if at.is_lean() && TypeId::of::<T>() == TypeId::of::<ManagedFieldsEntry>() {
            *place = None;
            return pass(tag, rest);
        }
        place.get_or_insert_default().receive(tag, rest, at)
    }

    #[inline]
    fn touch(&self) -> usize {
        self.iter().fold(0, |sum, one| sum ^ one.touch())
    }
}

impl<T: Item> Field for BTreeMap<String, T> {
    fn receive<'a>(&mut self, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]> {
        let at = at.below();
        if at.used
            && !self.is_empty()
            && let Some(rest) = put_under_the_same_keys(self, tag, rest, at)?
        {
            return Some(rest);
        }
        self.clear();
        let mut rest = rest;
        loop {
            let (key, value);
            (key, value, rest) = entry(tag, rest)?;
            self.insert(owned_text(key).ok()?, T::read(value, at.fresh())?);
            match another(tag, rest) {
                Some(behind) => rest = behind,
                None => return Some(rest),
            }
        }
    }

    #[inline]
    fn receive_some<'a>(place: &mut Option<Self>, tag: Tag, rest: &'a [u8], at: At) -> Option<&'a [u8]> {
        place.get_or_insert_default().receive(tag, rest, at)
    }

    #[inline]
    fn touch(&self) -> usize {
        self.iter().fold(0, |sum, (key, one)| sum ^ touch(key.as_bytes()) ^ one.touch())
    }
}

/// A key, its value, and what is behind them.
#[inline]
fn entry(tag: Tag, rest: &[u8]) -> Option<(&[u8], Raw<'_>, &[u8])> {
    if tag.wire() != BYTES {
        return None;
    }
    let (entry, rest) = bytes(rest)?;
    let (key, bytes) = in_order(Reader::new(entry)).ok()??;
    Some((key, Raw { number: 0, bytes }, rest))
}

/// Reads the values of a map into those of another, as long as their keys are the same; what is behind them, if all are.
#[expect(clippy::option_option, reason = "other keys are not odd")]
fn put_under_the_same_keys<'a, T: Item>(
    map: &mut BTreeMap<String, T>,
    tag: Tag,
    mut rest: &'a [u8],
    at: At,
) -> Option<Option<&'a [u8]>> {
    let mut used = map.iter_mut();
    loop {
        let (key, value);
        (key, value, rest) = entry(tag, rest)?;
        match used.next() {
            Some((same, place)) if same.as_bytes() == key => place.put(value, at)?,
            _ => return Some(None),
        }
        match another(tag, rest) {
            Some(behind) => rest = behind,
            None => return Some(used.next().is_none().then_some(rest)),
        }
    }
}

impl Item for String {
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        owned_text(value.bytes).ok()
    }

    fn put(&mut self, value: Raw<'_>, _at: At) -> Option<()> {
        // Objects have much in common, and what is there is a text already.
        if self.as_bytes() == value.bytes {
            return Some(());
        }
        if fits(self.capacity(), value.bytes.len()) {
            overwrite(self, text(value.bytes).ok()?);
        } else {
            *self = owned_text(value.bytes).ok()?;
        }
        Some(())
    }

    #[inline]
    fn touch(&self) -> usize {
        touch(self.as_bytes())
    }
}

impl Item for bool {
    const WIRE: u32 = VARINT;

    #[inline]
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        Some(value.number != 0)
    }
}

impl Item for i32 {
    const WIRE: u32 = VARINT;

    #[inline]
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        Some(value.int32())
    }
}

impl Item for i64 {
    const WIRE: u32 = VARINT;

    #[inline]
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        Some(value.int64())
    }
}

impl Item for ByteString {
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        Some(Self(value.bytes.to_vec()))
    }

    fn put(&mut self, value: Raw<'_>, _at: At) -> Option<()> {
        if fits(self.0.capacity(), value.bytes.len()) {
            self.0.clear();
            self.0.extend_from_slice(value.bytes);
        } else {
            self.0 = value.bytes.to_vec();
        }
        Some(())
    }

    #[inline]
    fn touch(&self) -> usize {
        touch(&self.0)
    }
}

impl Item for Quantity {
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        special::quantity(value.bytes).ok().map(|text| Self(text.to_owned()))
    }

    fn put(&mut self, value: Raw<'_>, _at: At) -> Option<()> {
        let text = special::quantity(value.bytes).ok()?;
        if fits(self.0.capacity(), text.len()) {
            overwrite(&mut self.0, text);
        } else {
            self.0 = text.to_owned();
        }
        Some(())
    }

    #[inline]
    fn touch(&self) -> usize {
        touch(self.0.as_bytes())
    }
}

impl Item for IntOrString {
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        Some(match special::int_or_string(value.bytes).ok()? {
            special::IntOrString::Int(number) => Self::Int(number),
            special::IntOrString::String(text) => Self::String(text.to_owned()),
        })
    }
}

impl Item for Time {
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        timestamp(value.bytes, Kind::Time).map(Self)
    }
}

impl Item for MicroTime {
    fn read(value: Raw<'_>, _at: At) -> Option<Self> {
        timestamp(value.bytes, Kind::MicroTime).map(Self)
    }
}

/// A moment, as exact as JSON has it.
fn timestamp(bytes: &[u8], kind: Kind) -> Option<Timestamp> {
    let (seconds, nanos) = time::Time::read(bytes).ok()??.parts(kind);
    Timestamp::new(seconds, nanos).ok()
}
