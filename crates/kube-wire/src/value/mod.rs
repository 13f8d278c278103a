//! The one deserializer that types see, over JSON and over protobuf.
//!
//! Serde compiles the `Deserialize` of a type once per deserializer, which for large types is most of what a program compiles. So
//! both encodings share one deserializer. Its steps are non-generic functions compiled in this crate; a type only instantiates calls.
//!
//! A type is shown what serde_json would show it, with these differences: a struct is not made of a list; an integer is visited as
//! `i64` or `u64`, and a floating-point number as `f64`, whichever the type asks for; a string of bytes has to be text.

mod error;
mod key;
mod map;
mod seq;
mod variant;

use std::borrow::Cow;

use serde::Deserializer;
use serde::de::{DeserializeOwned, Error as _, Expected, Unexpected, Visitor};

use crate::json::Decoder;
use crate::proto::{JsonForm, Object, Slot};
pub(crate) use error::Error;
pub(crate) use map::Map;
use seq::Seq;
use variant::Variant;

/// The name by which serde_json's types ask for text that is kept as it is.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A value, wherever it is read from.
pub(crate) enum Value<'s, 'a, 'de> {
    /// What comes next in a text.
    Json(&'s mut Decoder<'de>),
    /// A field of a message, or an element of it.
    Proto(&'s Slot<'a, 'de>),
    /// The message of a whole object.
    Object(&'s Object<'a, 'de>),
    /// A text that has been read.
    Text(&'de str),
}

/// The JSON text that a message embeds in place of the requested form; none if the form was found.
type Embedded<'de> = Option<&'de str>;

/// Some number.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Number {
    pub(crate) fn unexpected(self) -> Unexpected<'static> {
        match self {
            Self::Unsigned(number) => Unexpected::Unsigned(number),
            Self::Signed(number) => Unexpected::Signed(number),
            Self::Float(number) => Unexpected::Float(number),
        }
    }

    fn signed(self, expected: &dyn Expected) -> Result<i64, Error> {
        match self {
            Self::Signed(number) => Ok(number),
            Self::Unsigned(number) => i64::try_from(number)
                .map_err(|_| Error::invalid_value(Unexpected::Unsigned(number), expected)),
            Self::Float(number) => Err(Error::invalid_type(Unexpected::Float(number), expected)),
        }
    }

    fn unsigned(self, expected: &dyn Expected) -> Result<u64, Error> {
        match self {
            Self::Unsigned(number) => Ok(number),
            Self::Signed(number) => {
                u64::try_from(number).map_err(|_| Error::invalid_value(Unexpected::Signed(number), expected))
            }
            Self::Float(number) => Err(Error::invalid_type(Unexpected::Float(number), expected)),
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Unsigned(number) => number as f64,
            Self::Signed(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl<'s, 'a, 'de> Value<'s, 'a, 'de> {
    /// Decodes the JSON text embedded in a message.
    fn of_text<T>(
        text: &'de str,
        decode: impl FnOnce(Value<'_, '_, 'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut json = Decoder::new(text);
        let decoded = decode(Value::Json(&mut json)).and_then(|value| json.end().map(|()| value));
        decoded.map_err(|error| error.at(text, json.at()).in_message())
    }

    /// Returns the form of the value, and consumes it unless that is a list or a map.
    #[inline]
    fn form(&mut self) -> Result<JsonForm<'de>, Error> {
        let json = match self {
            Value::Json(json) => json,
            Value::Object(_) => return Ok(JsonForm::Map),
            Value::Text(text) => return Ok(JsonForm::Text((*text).into())),
            Value::Proto(slot) => return Ok(slot.json_form()?),
        };
        Ok(match json.peek()? {
            b'"' => JsonForm::Text(json.string()?),
            b'{' => JsonForm::Map,
            b'[' => JsonForm::List,
            b'-' | b'0'..=b'9' => JsonForm::Number(json.number()?),
            b't' | b'f' => JsonForm::Bool(json.bool()?),
            b'n' => json.null().map(|()| JsonForm::Null)?,
            _ => return Err(Error::new("expected value")),
        })
    }

    /// Opens a map or a message in `map`: it is too large to be returned by value. Of a message, only the fields in `names` are
    /// shown, unless `names` is empty.
    #[inline]
    fn map(
        self,
        names: &'static [&'static str],
        expected: &dyn Expected,
        map: &mut Map<'s, 'a, 'de>,
    ) -> Result<Embedded<'de>, Error> {
        match self {
            Value::Json(json) => *map = Map::Json(json.map_for(expected)?),
            Value::Object(object) => *map = Map::Object(object.fields()?),
            Value::Text(text) => return Err(Error::invalid_type(Unexpected::Str(text), expected)),
            Value::Proto(slot) if slot.open_map(names, map)? => {}
            Value::Proto(slot) => return slot.json_form()?.embedded(expected).map(Some),
        }
        Ok(None)
    }

    /// Opens a list in `seq`.
    fn seq(self, expected: &dyn Expected, seq: &mut Seq<'s, 'a, 'de>) -> Result<Embedded<'de>, Error> {
        let slot = match self {
            Value::Json(json) => {
                *seq = Seq::Json(json.seq_for(expected)?);
                return Ok(None);
            }
            Value::Object(_) | Value::Text(_) => return Err(self.type_error(expected)),
            Value::Proto(slot) => slot,
        };
        match slot.elements()? {
            Some(elements) => *seq = Seq::Proto(elements),
            None => return slot.json_form()?.embedded(expected).map(Some),
        }
        Ok(None)
    }

    #[inline]
    fn text(self, expected: &dyn Expected) -> Result<Cow<'de, str>, Error> {
        let slot = match self {
            Value::Json(json) => return json.string_for(expected),
            Value::Text(text) => return Ok(text.into()),
            Value::Object(_) => return Err(Error::invalid_type(Unexpected::Map, expected)),
            Value::Proto(slot) => slot,
        };
        if let Some(text) = slot.string()? {
            return Ok(Cow::Borrowed(text));
        }
        match slot.json_form()? {
            JsonForm::Text(text) => Ok(text),
            JsonForm::Json(text) => Self::of_text(text, |value| value.text(expected)),
            other => Err(other.type_error(expected)),
        }
    }

    fn bool(self, expected: &dyn Expected) -> Result<bool, Error> {
        let slot = match self {
            Value::Json(json) => return json.bool_for(expected),
            Value::Object(_) | Value::Text(_) => return Err(self.type_error(expected)),
            Value::Proto(slot) => slot,
        };
        match slot.json_form()? {
            JsonForm::Bool(truth) => Ok(truth),
            JsonForm::Json(text) => Self::of_text(text, |value| value.bool(expected)),
            other => Err(other.type_error(expected)),
        }
    }

    fn number(self, expected: &dyn Expected) -> Result<Number, Error> {
        let slot = match self {
            Value::Json(json) => return json.number_for(expected),
            Value::Object(_) | Value::Text(_) => return Err(self.type_error(expected)),
            Value::Proto(slot) => slot,
        };
        match slot.json_form()? {
            JsonForm::Number(number) => Ok(number),
            JsonForm::Json(text) => Self::of_text(text, |value| value.number(expected)),
            other => Err(other.type_error(expected)),
        }
    }

    fn signed(self, expected: &dyn Expected) -> Result<i64, Error> {
        self.number(expected)?.signed(expected)
    }

    fn unsigned(self, expected: &dyn Expected) -> Result<u64, Error> {
        self.number(expected)?.unsigned(expected)
    }

    fn float(self, expected: &dyn Expected) -> Result<f64, Error> {
        self.number(expected).map(Number::float)
    }

    /// Returns the error for a type that expects neither a whole object nor a text.
    #[cold]
    fn type_error(&self, expected: &dyn Expected) -> Error {
        let found = if let Value::Text(text) = self { Unexpected::Str(text) } else { Unexpected::Map };
        Error::invalid_type(found, expected)
    }

    /// Consumes a null; returns false and leaves the value if it is none.
    #[inline]
    fn take_null(&mut self) -> Result<bool, Error> {
        match self {
            Value::Json(json) => json.take_null(),
            Value::Proto(slot) => Ok(slot.is_null()?),
            Value::Object(_) | Value::Text(_) => Ok(false),
        }
    }

    fn null(mut self, expected: &dyn Expected) -> Result<(), Error> {
        if self.take_null()? {
            return Ok(());
        }
        match self {
            Value::Json(json) => Err(json.type_error(expected)),
            Value::Object(_) | Value::Text(_) => Err(self.type_error(expected)),
            Value::Proto(slot) => match slot.json_form()? {
                JsonForm::Json(text) => Self::of_text(text, |value| value.null(expected)),
                other => Err(other.type_error(expected)),
            },
        }
    }

    /// Reads an integer of 128 bits. Messages have none that needs more than 64.
    fn wide<T: DeserializeOwned + TryFrom<i64> + TryFrom<u64>>(
        self,
        expected: &dyn Expected,
    ) -> Result<T, Error> {
        let number = match self {
            Value::Json(json) => return json.wide_for(expected),
            other => other.number(expected)?,
        };
        let wide = match number {
            Number::Unsigned(number) => T::try_from(number).ok(),
            Number::Signed(number) => T::try_from(number).ok(),
            Number::Float(_) => return Err(Error::invalid_type(number.unexpected(), expected)),
        };
        wide.ok_or_else(|| Error::invalid_value(number.unexpected(), expected))
    }

    /// Returns the JSON text of the value, if it has one.
    fn raw(&mut self) -> Result<Option<&'de str>, Error> {
        match self {
            Value::Json(json) => json.raw_value().map(Some),
            Value::Proto(slot) => Ok(slot.json()?),
            Value::Object(_) | Value::Text(_) => Ok(None),
        }
    }

    /// Reads the name of a variant, or opens the map of which it is the key.
    fn variant(
        mut self,
        expected: &dyn Expected,
        variant: &mut Variant<'s, 'a, 'de>,
    ) -> Result<Embedded<'de>, Error> {
        let name = match &mut self {
            Value::Json(json) => match json.peek()? {
                b'"' => Some(json.string()?),
                b'{' => None,
                _ => return Err(json.type_error(expected)),
            },
            Value::Text(text) => Some((*text).into()),
            Value::Proto(slot) => match slot.json_form()? {
                JsonForm::Text(text) => Some(text),
                _ => None,
            },
            Value::Object(_) => None,
        };
        *variant = match name {
            Some(name) => Variant::unit(name),
            None => {
                let mut map = Map::Raw(None);
                if let Some(text) = self.map(&[], expected, &mut map)? {
                    return Ok(Some(text));
                }
                Variant::of(map)?
            }
        };
        Ok(None)
    }

    /// Skips the value. Fields of a message were skipped when their bytes were read.
    fn pass(self) -> Result<(), Error> {
        if let Value::Json(json) = self { json.pass_value() } else { Ok(()) }
    }
}

impl<'de> JsonForm<'de> {
    /// Returns the embedded text, or the error for a type that expects another form.
    fn embedded(self, expected: &dyn Expected) -> Result<&'de str, Error> {
        if let JsonForm::Json(text) = self { Ok(text) } else { Err(self.type_error(expected)) }
    }

    /// Returns the error for a type that expects another form.
    #[cold]
    fn type_error(&self, expected: &dyn Expected) -> Error {
        let found = match self {
            JsonForm::Null => Unexpected::Unit,
            JsonForm::Bool(truth) => Unexpected::Bool(*truth),
            JsonForm::Number(number) => number.unexpected(),
            JsonForm::Text(text) => Unexpected::Str(text),
            JsonForm::List => Unexpected::Seq,
            JsonForm::Map | JsonForm::Json(_) => Unexpected::Map,
        };
        Error::invalid_type(found, expected)
    }
}

fn visit_map<'de, V: Visitor<'de>>(map: &mut Map<'_, '_, 'de>, visitor: V) -> Result<V::Value, Error> {
    let value = visitor.visit_map(map::Access(map))?;
    map.end()?;
    Ok(value)
}

fn visit_seq<'de, V: Visitor<'de>>(seq: &mut Seq<'_, '_, 'de>, visitor: V) -> Result<V::Value, Error> {
    let value = visitor.visit_seq(seq::Access(seq))?;
    seq.end()?;
    Ok(value)
}

fn visit_text<'de, V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value, Error> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

macro_rules! visit {
    ($($method:ident $read:ident $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let value = self.$read(&visitor)?;
            visitor.$visit(value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Value<'_, '_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.form()? {
            JsonForm::Null => visitor.visit_unit(),
            JsonForm::Bool(truth) => visitor.visit_bool(truth),
            JsonForm::Number(Number::Unsigned(number)) => visitor.visit_u64(number),
            JsonForm::Number(Number::Signed(number)) => visitor.visit_i64(number),
            JsonForm::Number(Number::Float(number)) => visitor.visit_f64(number),
            JsonForm::Text(text) => visit_text(text, visitor),
            JsonForm::List => self.deserialize_seq(visitor),
            JsonForm::Map => self.deserialize_map(visitor),
            JsonForm::Json(text) => Value::of_text(text, |value| value.deserialize_any(visitor)),
        }
    }

    visit! {
        deserialize_bool bool visit_bool,
        deserialize_i8 signed visit_i64,
        deserialize_i16 signed visit_i64,
        deserialize_i32 signed visit_i64,
        deserialize_i64 signed visit_i64,
        deserialize_i128 wide visit_i128,
        deserialize_u8 unsigned visit_u64,
        deserialize_u16 unsigned visit_u64,
        deserialize_u32 unsigned visit_u64,
        deserialize_u64 unsigned visit_u64,
        deserialize_u128 wide visit_u128,
        deserialize_f32 float visit_f64,
        deserialize_f64 float visit_f64,
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.text(&visitor)?;
        visit_text(text, visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.form()? {
            JsonForm::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_bytes(text.as_bytes()),
            JsonForm::Text(Cow::Owned(text)) => visitor.visit_byte_buf(text.into_bytes()),
            JsonForm::List => self.deserialize_seq(visitor),
            JsonForm::Json(text) => Value::of_text(text, |value| value.deserialize_bytes(visitor)),
            other => Err(other.type_error(&visitor)),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        if self.take_null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.null(&visitor)?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == RAW_VALUE
            && let Some(text) = self.raw()?
        {
            return visit_map(&mut Map::Raw(Some(text)), visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut seq = Seq::Empty;
        match self.seq(&visitor, &mut seq)? {
            None => visit_seq(&mut seq, visitor),
            Some(text) => Value::of_text(text, |value| value.deserialize_seq(visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut map = Map::Raw(None);
        match self.map(names, &visitor, &mut map)? {
            None => visit_map(&mut map, visitor),
            Some(text) => Value::of_text(text, |value| value.deserialize_struct(name, names, visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut variant = Variant::unit(Cow::Borrowed(""));
        match self.variant(&visitor, &mut variant)? {
            None => {
                let value = visitor.visit_enum(variant::Access(&mut variant))?;
                variant.end()?;
                Ok(value)
            }
            Some(text) => Value::of_text(text, |value| value.deserialize_enum(name, variants, visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.pass()?;
        visitor.visit_unit()
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }
}
