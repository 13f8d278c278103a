//! One value of a message, and what JSON has in its place.

use std::borrow::Cow;
use std::cell::Cell;

use super::check::Anything;
use super::error::{Cause, ProtoError};
use super::fields::Fields;
use super::runs::{Elements, Entries};
use super::special;
use super::table::{Field, Kind, Shape, Table};
use super::time::{TIME_BYTES, Time};
use super::wanted::Names;
use super::wire::{Raw, check_text, text};
use crate::json::Decoder;
use crate::value::{Map, Number};

/// What is the same for all values of one object.
pub(crate) struct Context {
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
pub(crate) struct Slot<'a, 'de> {
    pub(super) context: &'a Context,
    pub(crate) field: &'static Field,
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

/// The form that JSON has for a value.
pub(crate) enum JsonForm<'de> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'de, str>),
    List,
    Map,
    /// JSON text that the message embeds.
    Json(&'de str),
}

impl<'a, 'de> Slot<'a, 'de> {
    #[inline]
    fn is_one(&self, kind: Kind) -> bool {
        self.field.kind == kind && self.shape == Shape::One
    }

    /// The fields of the message that it is, or that all of its elements are.
    #[inline]
    pub(super) fn fields(&self) -> Result<Fields<'a, 'de>, ProtoError> {
        let Slot { context, field, raw, depth, .. } = *self;
        Fields::new(context, context.table.below(field), raw.bytes, depth + 1)
    }

    /// The text, if it is a string.
    #[inline]
    pub(crate) fn string(&self) -> Result<Option<&'de str>, ProtoError> {
        if self.is_one(Kind::String) { text(self.raw.bytes).map(Some) } else { Ok(None) }
    }

    /// The text, if it is JSON.
    pub(crate) fn json(&self) -> Result<Option<&'de str>, ProtoError> {
        if self.is_one(Kind::Json) { special::json(self.raw.bytes) } else { Ok(None) }
    }

    /// Opens a message or a map in `map`; false if it is neither. Of a message, only the fields in `names` are shown.
    pub(crate) fn open_map(&self, names: Names, map: &mut Map<'_, 'a, 'de>) -> Result<bool, ProtoError> {
        match (self.shape, self.field.kind) {
            (Shape::One, Kind::Message) => *map = Map::Fields(self.fields()?.named(names)),
            (Shape::Map, _) => *map = Map::Entries(Entries::new(self)),
            (Shape::One, Kind::Or) => match self.choose()? {
                Chosen::Value(slot) => return slot.open_map(names, map),
                Chosen::False | Chosen::Empty | Chosen::Null => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the elements of a list; none if it is not one.
    pub(crate) fn elements(&self) -> Result<Option<Elements<'a, 'de>>, ProtoError> {
        match (self.shape, self.field.kind) {
            (Shape::Repeated, _) => Ok(Some(Elements::new(self))),
            (Shape::One, Kind::Or) => match self.choose()? {
                Chosen::Value(slot) => slot.elements(),
                Chosen::Empty => Ok(Some(Elements::none(self))),
                Chosen::False | Chosen::Null => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Returns the form that JSON has for the value.
    pub(crate) fn json_form(&self) -> Result<JsonForm<'de>, ProtoError> {
        match self.shape {
            Shape::Repeated => return Ok(JsonForm::List),
            Shape::Map => return Ok(JsonForm::Map),
            Shape::One => {}
        }
        let (raw, bytes) = (self.raw, self.raw.bytes);
        Ok(match self.field.kind {
            Kind::String => JsonForm::Text(text(bytes)?.into()),
            Kind::Bytes => JsonForm::Text(special::base64(bytes).into()),
            Kind::Bool => JsonForm::Bool(raw.number != 0),
            Kind::Int32 => JsonForm::Number(Number::Signed(raw.int32().into())),
            Kind::Int64 => JsonForm::Number(Number::Signed(raw.int64())),
            Kind::Number => JsonForm::Number(special::number(raw)?),
            Kind::Time | Kind::MicroTime => match Time::read(bytes)? {
                Some(time) => {
                    let mut buffer = [0; TIME_BYTES];
                    JsonForm::Text(time.text(self.field.kind, &mut buffer)?.to_owned().into())
                }
                None => JsonForm::Null,
            },
            Kind::Quantity => JsonForm::Text(special::quantity(bytes)?.into()),
            Kind::IntOrString => match special::int_or_string(bytes)? {
                special::IntOrString::Int(number) => JsonForm::Number(Number::Signed(number.into())),
                special::IntOrString::String(text) => JsonForm::Text(text.into()),
            },
            Kind::Json => special::json(bytes)?.map_or(JsonForm::Null, JsonForm::Json),
            Kind::Message => JsonForm::Map,
            Kind::Or => match self.choose()? {
                Chosen::Value(slot) => slot.json_form()?,
                Chosen::False => JsonForm::Bool(false),
                Chosen::Empty => JsonForm::List,
                Chosen::Null => JsonForm::Null,
            },
            // Neither is ever handed out.
            Kind::Inline | Kind::Absent => return Err(Cause::Value("no value".to_owned()).into()),
        })
    }

    /// Looks at all that is in it, and makes nothing of it; an error if it could not be handed over.
    pub(super) fn check(&self) -> Result<(), ProtoError> {
        match self.shape {
            Shape::Repeated => {
                let mut elements = Elements::new(self);
                while elements.advance()? {
                    elements.slot().check_one()?;
                }
                Ok(())
            }
            Shape::Map => {
                let (mut entries, mut last) = (Entries::new(self), None);
                while let Some(key) = entries.advance()? {
                    check_text(key)?;
                    entries.slot().check_one()?;
                    // Encoders write keys in order. Of one that comes twice the last counts, which who reads them one by one
                    // does not know.
                    if last.replace(key).is_some_and(|last| last >= key) {
                        self.context.doubt.set(true);
                    }
                }
                Ok(())
            }
            Shape::One => self.check_one(),
        }
    }

    /// The same for what comes once, or is an element.
    #[inline]
    fn check_one(&self) -> Result<(), ProtoError> {
        let Slot { context, field, raw, .. } = *self;
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
                Some(text) => special::parse(text, Decoder::value).map(|Anything| ()),
                None => Ok(()),
            },
            Kind::Or => match self.choose()? {
                Chosen::Value(slot) => slot.check(),
                Chosen::False | Chosen::Empty | Chosen::Null => Ok(()),
            },
            // Neither is ever handed out.
            Kind::Inline | Kind::Absent => Err(Cause::Value("no value".to_owned()).into()),
        }
    }

    /// What JSON has in place of a message with several forms: the last of its fields that is there.
    fn choose(&self) -> Result<Chosen<'a, 'de>, ProtoError> {
        let mut fields = self.fields()?;
        let mut chosen = None;
        while fields.advance()?.is_some() {
            chosen = Some(*fields.slot());
        }
        if let Some(slot) = chosen {
            return Ok(Chosen::Value(slot));
        }
        let table = self.context.table;
        Ok(match table.fields(table.below(self.field)).get(1) {
            Some(Field { kind: Kind::Bool, .. }) => Chosen::False,
            Some(Field { shape: Shape::Repeated, .. }) => Chosen::Empty,
            _ => Chosen::Null,
        })
    }

    /// Whether JSON has `null` for it.
    #[inline]
    pub(crate) fn is_null(&self) -> Result<bool, ProtoError> {
        match self.field.kind {
            Kind::Time | Kind::MicroTime | Kind::Json | Kind::Or => self.is_really_null(),
            _ => Ok(false),
        }
    }

    fn is_really_null(&self) -> Result<bool, ProtoError> {
        Ok(self.shape == Shape::One
            && match self.field.kind {
                Kind::Time | Kind::MicroTime => self.raw.bytes.is_empty(),
                Kind::Json => special::json(self.raw.bytes)?.is_none(),
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
