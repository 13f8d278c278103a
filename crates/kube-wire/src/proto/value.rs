//! One value, as serde's deserializer.

use std::cell::Cell;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::check::Anything;
use super::error::{Cause, ProtoError};
use super::fields::Fields;
use super::runs::{Elements, Entries};
use super::special;
use super::table::{Field, Kind, Shape, Table};
use super::time::{TIME_BYTES, Time};
use super::wanted::Names;
use super::wire::{Raw, check_text, text};

/// What is the same for all values of one object.
pub(super) struct Context {
    pub(super) table: &'static Table,
    /// Fields came in an order that this walk does not understand.
    disorder: Cell<bool>,
    /// There is something that not every type takes.
    doubt: Cell<bool>,
}

impl Context {
    pub(super) fn new(table: &'static Table) -> Self {
        Self { table, disorder: Cell::new(false), doubt: Cell::new(false) }
    }

    /// Remembers that fields came out of order, whatever the type that is decoded makes of the error.
    #[cold]
    pub(super) fn disorder(&self) -> ProtoError {
        self.disorder.set(true);
        Cause::Disorder.into()
    }

    pub(super) fn is_disordered(&self) -> bool {
        self.disorder.get()
    }

    pub(super) fn is_doubtful(&self) -> bool {
        self.doubt.get()
    }
}

/// A value with what the table says about it, in the place where it was read.
#[derive(Clone, Copy)]
pub(super) struct Slot<'a, 'de> {
    pub(super) context: &'a Context,
    pub(super) field: &'static Field,
    pub(super) raw: Raw<'de>,
    /// How many messages are around it.
    depth: u32,
    /// [`Shape::One`] for an element, whatever the field is.
    shape: Shape,
}

impl<'a, 'de> Slot<'a, 'de> {
    /// A place for values of a message.
    #[inline]
    pub(super) fn new(context: &'a Context, depth: u32) -> Self {
        static ABSENT: Field = Field::ABSENT;
        Self { context, field: &ABSENT, raw: Raw::default(), depth, shape: Shape::One }
    }

    /// Puts in what the table says about the value.
    #[inline]
    pub(super) fn set_field(&mut self, field: &'static Field) {
        (self.field, self.shape) = (field, field.shape);
    }

    /// Puts in one of the values of a list or map.
    #[inline]
    pub(super) fn set_element(&mut self, raw: Raw<'de>) {
        (self.raw, self.shape) = (raw, Shape::One);
    }
}

/// A value as serde's deserializer.
///
/// Types say what they expect, and the usual case is that the table says the same: that is the short way of each
/// method. Otherwise the value is handed over as what it is, and the type decides.
#[derive(Clone, Copy)]
pub(super) struct Value<'s, 'a, 'de>(pub(super) &'s Slot<'a, 'de>);

impl<'a, 'de> Value<'_, 'a, 'de> {
    #[inline]
    fn is_one(self, kind: Kind) -> bool {
        self.0.field.kind == kind && self.0.shape == Shape::One
    }

    #[inline]
    fn bytes(self) -> &'de [u8] {
        self.0.raw.bytes
    }

    /// The fields of the message that it is.
    #[inline]
    pub(super) fn fields(self) -> Result<Fields<'a, 'de>, ProtoError> {
        let Slot { context, field, raw, depth, .. } = *self.0;
        Fields::new(context, context.table.below(field), raw.bytes, depth + 1)
    }

    /// Hands over whatever it is.
    #[inline(never)]
    fn any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        let Slot { field, raw, shape, .. } = *self.0;
        match shape {
            Shape::Repeated => return visitor.visit_seq(&mut Elements::new(self.0)),
            Shape::Map => return visitor.visit_map(&mut Entries::new(self.0)),
            Shape::One => {}
        }
        let bytes = raw.bytes;
        match field.kind {
            Kind::String => visitor.visit_borrowed_str(text(bytes)?),
            Kind::Bytes => visitor.visit_string(special::base64(bytes)),
            Kind::Bool => visitor.visit_bool(raw.number != 0),
            Kind::Int32 => visitor.visit_i64(raw.int32().into()),
            Kind::Int64 => visitor.visit_i64(raw.int64()),
            Kind::Number => match special::number(raw)? {
                special::Number::Whole(number) => visitor.visit_i64(number),
                special::Number::Float(number) => visitor.visit_f64(number),
            },
            Kind::Time | Kind::MicroTime => match Time::read(bytes)? {
                Some(time) => {
                    let mut buffer = [0; TIME_BYTES];
                    visitor.visit_str(time.text(field.kind, &mut buffer)?)
                }
                None => visitor.visit_unit(),
            },
            Kind::Quantity => visitor.visit_borrowed_str(special::quantity(bytes)?),
            Kind::IntOrString => match special::int_or_string(bytes)? {
                special::IntOrString::Int(number) => visitor.visit_i64(number.into()),
                special::IntOrString::String(text) => visitor.visit_borrowed_str(text),
            },
            Kind::Json => match special::json(bytes)? {
                Some(text) => special::parse(text, |json| json.deserialize_any(visitor)),
                None => visitor.visit_unit(),
            },
            Kind::Message => visitor.visit_map(&mut self.fields()?),
            Kind::Or => match self.choose()? {
                Chosen::Value(slot) => Value(&slot).any(visitor),
                Chosen::False => visitor.visit_bool(false),
                Chosen::Empty => visitor.visit_seq(&mut Elements::none(self.0)),
                Chosen::Null => visitor.visit_unit(),
            },
            // Neither is ever handed out.
            Kind::Inline | Kind::Absent => Err(Cause::Value("no value".to_owned()).into()),
        }
    }

    /// Looks at all that is in it, and makes nothing of it; an error if it could not be handed over.
    pub(super) fn check(self) -> Result<(), ProtoError> {
        match self.0.shape {
            Shape::Repeated => {
                let mut elements = Elements::new(self.0);
                while elements.advance()? {
                    Value(elements.slot()).check_one()?;
                }
                Ok(())
            }
            Shape::Map => {
                let (mut entries, mut last) = (Entries::new(self.0), None);
                while let Some(key) = entries.advance()? {
                    check_text(key)?;
                    Value(entries.slot()).check_one()?;
                    // Encoders write keys in order. Of one that comes twice the last counts, which who reads them one by one
                    // does not know.
                    if last.replace(key).is_some_and(|last| last >= key) {
                        self.0.context.doubt.set(true);
                    }
                }
                Ok(())
            }
            Shape::One => self.check_one(),
        }
    }

    /// The same for what comes once, or is an element.
    #[inline]
    fn check_one(self) -> Result<(), ProtoError> {
        let Slot { context, field, raw, .. } = *self.0;
        match field.kind {
            Kind::String => check_text(raw.bytes),
            Kind::Bytes | Kind::Bool | Kind::Int32 | Kind::Int64 => Ok(()),
            Kind::Message => self.fields()?.check(),
            Kind::Number => special::number(raw).map(|_| ()),
            Kind::Time | Kind::MicroTime => {
                if Time::read(raw.bytes)?.is_some_and(Time::is_extreme) {
                    context.doubt.set(true);
                }
                Ok(())
            }
            Kind::Quantity => special::quantity(raw.bytes).map(|_| ()),
            Kind::IntOrString => special::int_or_string(raw.bytes).map(|_| ()),
            Kind::Json => match special::json(raw.bytes)? {
                Some(text) => special::parse(text, |json| Anything::deserialize(json)).map(|Anything| ()),
                None => Ok(()),
            },
            Kind::Or => match self.choose()? {
                Chosen::Value(slot) => Value(&slot).check(),
                Chosen::False | Chosen::Empty | Chosen::Null => Ok(()),
            },
            // Neither is ever handed out.
            Kind::Inline | Kind::Absent => Err(Cause::Value("no value".to_owned()).into()),
        }
    }

    /// What JSON has in place of a message with several forms: the last of its fields that is there.
    fn choose(self) -> Result<Chosen<'a, 'de>, ProtoError> {
        let mut fields = self.fields()?;
        let mut chosen = None;
        while fields.advance()?.is_some() {
            chosen = Some(*fields.slot());
        }
        if let Some(slot) = chosen {
            return Ok(Chosen::Value(slot));
        }
        let table = self.0.context.table;
        Ok(match table.fields(table.below(self.0.field)).get(1) {
            Some(Field { kind: Kind::Bool, .. }) => Chosen::False,
            Some(Field { shape: Shape::Repeated, .. }) => Chosen::Empty,
            _ => Chosen::Null,
        })
    }

    /// Whether JSON has `null` for it.
    #[inline]
    fn is_null(self) -> Result<bool, ProtoError> {
        match self.0.field.kind {
            Kind::Time | Kind::MicroTime | Kind::Json | Kind::Or => self.is_really_null(),
            _ => Ok(false),
        }
    }

    fn is_really_null(self) -> Result<bool, ProtoError> {
        Ok(self.0.shape == Shape::One
            && match self.0.field.kind {
                Kind::Time | Kind::MicroTime => self.bytes().is_empty(),
                Kind::Json => special::json(self.bytes())?.is_none(),
                Kind::Or => matches!(self.choose()?, Chosen::Null),
                _ => false,
            })
    }
}

/// The form of a message with several.
enum Chosen<'a, 'de> {
    Value(Slot<'a, 'de>),
    False,
    Empty,
    Null,
}

impl<'de> Deserializer<'de> for Value<'_, '_, 'de> {
    type Error = ProtoError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        self.any(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        if self.is_null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: Names,
        visitor: V,
    ) -> Result<V::Value, ProtoError> {
        if self.is_one(Kind::Message) {
            visitor.visit_map(&mut self.fields()?.named(names))
        } else {
            self.any(visitor)
        }
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        if self.is_one(Kind::Message) { visitor.visit_map(&mut self.fields()?) } else { self.any(visitor) }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        if self.0.shape == Shape::Repeated {
            visitor.visit_seq(&mut Elements::new(self.0))
        } else {
            self.any(visitor)
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        if self.is_one(Kind::String) {
            visitor.visit_borrowed_str(text(self.bytes())?)
        } else {
            self.any(visitor)
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        if self.is_one(Kind::Bool) { visitor.visit_bool(self.0.raw.number != 0) } else { self.any(visitor) }
    }

    #[inline]
    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        if self.is_one(Kind::Int32) { visitor.visit_i32(self.0.raw.int32()) } else { self.any(visitor) }
    }

    #[inline]
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        if self.is_one(Kind::Int64) { visitor.visit_i64(self.0.raw.int64()) } else { self.any(visitor) }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ProtoError> {
        if self.is_one(Kind::Json)
            && let Some(text) = special::json(self.bytes())?
        {
            // There are newtypes that mean something to those who read JSON.
            return special::parse(text, |json| json.deserialize_newtype_struct(name, visitor));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProtoError> {
        match (self.0.shape, self.0.field.kind) {
            (Shape::One, Kind::String) => {
                visitor.visit_enum(BorrowedStrDeserializer::<ProtoError>::new(text(self.bytes())?))
            }
            (Shape::One, Kind::Message) => {
                MapAccessDeserializer::new(&mut self.fields()?).deserialize_enum(name, variants, visitor)
            }
            (Shape::One, Kind::Json) => {
                let text = special::json(self.bytes())?.unwrap_or("null");
                special::parse(text, |json| json.deserialize_enum(name, variants, visitor))
            }
            _ => self.any(visitor),
        }
    }

    /// What nobody wants is not even looked at.
    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtoError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}
