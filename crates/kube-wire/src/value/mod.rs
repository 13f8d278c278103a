//! The one deserializer that types see, over JSON and over protobuf.
//!
//! Serde compiles the `Deserialize` of a type once per deserializer, which for large types is most of what a program compiles. So
//! both encodings share one deserializer. Its steps are non-generic functions compiled in this crate; a type only instantiates calls.
//!
//! A type is shown what serde_json would show it, with two differences: a struct is not made of a list, and an integer is visited as
//! `i64` or `u64`, whichever the type asks for.

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
    Object(Object<'a, 'de>),
    /// A text that has been read.
    Text(&'de str),
}

/// A value of the requested form, or the JSON text that a message embeds in its place.
enum Source<'de, T> {
    Direct(T),
    JsonText(&'de str),
}

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

/// A value without a type.
enum Any<'s, 'a, 'de> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'de, str>),
    Seq(Seq<'s, 'a, 'de>),
    Map(Map<'s, 'a, 'de>),
    Json(&'de str),
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

    fn any(self) -> Result<Any<'s, 'a, 'de>, Error> {
        let json = match self {
            Value::Json(json) => json,
            Value::Object(object) => return Ok(Any::Map(Map::Object(object.fields()?))),
            Value::Text(text) => return Ok(Any::Text(text.into())),
            Value::Proto(slot) => {
                return Ok(match slot.json_form()? {
                    JsonForm::Null => Any::Null,
                    JsonForm::Bool(truth) => Any::Bool(truth),
                    JsonForm::Number(number) => Any::Number(number),
                    JsonForm::Text(text) => Any::Text(text),
                    JsonForm::Elements(elements) => Any::Seq(Seq::Proto(elements)),
                    JsonForm::Entries(entries) => Any::Map(Map::Entries(entries)),
                    JsonForm::Fields(fields) => Any::Map(Map::Fields(fields)),
                    JsonForm::Json(text) => Any::Json(text),
                });
            }
        };
        Ok(match json.peek()? {
            b'"' => Any::Text(json.string()?),
            b'{' => Any::Map(Map::Json(json.map()?)),
            b'[' => Any::Seq(Seq::Json(json.seq()?)),
            b'-' | b'0'..=b'9' => Any::Number(json.number()?),
            b't' | b'f' => Any::Bool(json.bool()?),
            b'n' => json.null().map(|()| Any::Null)?,
            _ => return Err(Error::new("expected value")),
        })
    }

    /// Opens a map or a message. Of a message, only the fields in `names` are shown, unless `names` is empty.
    fn map(
        self,
        names: &'static [&'static str],
        expected: &dyn Expected,
    ) -> Result<Source<'de, Map<'s, 'a, 'de>>, Error> {
        match self {
            Value::Json(json) => json.map_for(expected).map(Map::Json).map(Source::Direct),
            Value::Object(object) => Ok(Source::Direct(Map::Object(object.fields()?))),
            Value::Text(text) => Err(Error::invalid_type(Unexpected::Str(text), expected)),
            Value::Proto(slot) => Ok(Source::Direct(match slot.message()? {
                Some(fields) => Map::Fields(fields.named(names)),
                None => match slot.json_form()? {
                    JsonForm::Entries(entries) => Map::Entries(entries),
                    JsonForm::Fields(fields) => Map::Fields(fields),
                    JsonForm::Json(text) => return Ok(Source::JsonText(text)),
                    other => return Err(other.type_error(expected)),
                },
            })),
        }
    }

    fn seq(self, expected: &dyn Expected) -> Result<Source<'de, Seq<'s, 'a, 'de>>, Error> {
        let slot = match self {
            Value::Json(json) => return json.seq_for(expected).map(Seq::Json).map(Source::Direct),
            Value::Object(_) | Value::Text(_) => return Err(self.type_error(expected)),
            Value::Proto(slot) => slot,
        };
        match slot.json_form()? {
            JsonForm::Elements(elements) => Ok(Source::Direct(Seq::Proto(elements))),
            JsonForm::Json(text) => Ok(Source::JsonText(text)),
            other => Err(other.type_error(expected)),
        }
    }

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
    fn wide<T: DeserializeOwned + From<u64>>(self, expected: &dyn Expected) -> Result<T, Error> {
        match self {
            Value::Json(json) => json.wide_for(expected),
            other => other.unsigned(expected).map(T::from),
        }
    }

    /// Returns the JSON text of the value, if it has one.
    fn raw(&mut self) -> Result<Option<&'de str>, Error> {
        match self {
            Value::Json(json) => json.raw_value().map(Some),
            Value::Proto(slot) => Ok(slot.json()?),
            Value::Object(_) | Value::Text(_) => Ok(None),
        }
    }

    fn variant(self, expected: &dyn Expected) -> Result<Source<'de, Variant<'s, 'a, 'de>>, Error> {
        match self {
            Value::Json(json) => match json.peek()? {
                b'"' => json.string().map(Variant::unit).map(Source::Direct),
                b'{' => Variant::of(Map::Json(json.map()?)).map(Source::Direct),
                _ => Err(json.type_error(expected)),
            },
            Value::Object(object) => Variant::of(Map::Object(object.fields()?)).map(Source::Direct),
            Value::Text(text) => Ok(Source::Direct(Variant::unit(text.into()))),
            Value::Proto(slot) => match slot.json_form()? {
                JsonForm::Text(text) => Ok(Source::Direct(Variant::unit(text))),
                JsonForm::Entries(entries) => Variant::of(Map::Entries(entries)).map(Source::Direct),
                JsonForm::Fields(fields) => Variant::of(Map::Fields(fields)).map(Source::Direct),
                JsonForm::Json(text) => Ok(Source::JsonText(text)),
                other => Err(other.type_error(expected)),
            },
        }
    }

    /// Skips the value. Fields of a message were skipped when their bytes were read.
    fn pass(self) -> Result<(), Error> {
        if let Value::Json(json) = self { json.pass_value() } else { Ok(()) }
    }
}

impl Any<'_, '_, '_> {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(truth) => Unexpected::Bool(*truth),
            Self::Number(number) => number.unexpected(),
            Self::Text(text) => Unexpected::Str(text),
            Self::Seq(_) => Unexpected::Seq,
            Self::Map(_) | Self::Json(_) => Unexpected::Map,
        }
    }
}

impl JsonForm<'_, '_> {
    /// Returns the error for a type that expects another form.
    #[cold]
    fn type_error(&self, expected: &dyn Expected) -> Error {
        let found = match self {
            JsonForm::Null => Unexpected::Unit,
            JsonForm::Bool(truth) => Unexpected::Bool(*truth),
            JsonForm::Number(number) => number.unexpected(),
            JsonForm::Text(text) => Unexpected::Str(text),
            JsonForm::Elements(_) => Unexpected::Seq,
            JsonForm::Entries(_) | JsonForm::Fields(_) | JsonForm::Json(_) => Unexpected::Map,
        };
        Error::invalid_type(found, expected)
    }
}

fn visit_map<'de, V: Visitor<'de>>(mut map: Map<'_, '_, 'de>, visitor: V) -> Result<V::Value, Error> {
    let value = visitor.visit_map(map::Access(&mut map))?;
    map.end()?;
    Ok(value)
}

fn visit_seq<'de, V: Visitor<'de>>(mut seq: Seq<'_, '_, 'de>, visitor: V) -> Result<V::Value, Error> {
    let value = visitor.visit_seq(seq::Access(&mut seq))?;
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

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.any()? {
            Any::Null => visitor.visit_unit(),
            Any::Bool(truth) => visitor.visit_bool(truth),
            Any::Number(Number::Unsigned(number)) => visitor.visit_u64(number),
            Any::Number(Number::Signed(number)) => visitor.visit_i64(number),
            Any::Number(Number::Float(number)) => visitor.visit_f64(number),
            Any::Text(text) => visit_text(text, visitor),
            Any::Seq(seq) => visit_seq(seq, visitor),
            Any::Map(map) => visit_map(map, visitor),
            Any::Json(text) => Value::of_text(text, |value| value.deserialize_any(visitor)),
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

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.any()? {
            Any::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Any::Text(Cow::Owned(text)) => visitor.visit_byte_buf(text.into_bytes()),
            Any::Seq(seq) => visit_seq(seq, visitor),
            Any::Json(text) => Value::of_text(text, |value| value.deserialize_bytes(visitor)),
            other => Err(Error::invalid_type(other.unexpected(), &visitor)),
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
            return visit_map(Map::Raw(Some(text)), visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.seq(&visitor)? {
            Source::Direct(seq) => visit_seq(seq, visitor),
            Source::JsonText(text) => Value::of_text(text, |value| value.deserialize_seq(visitor)),
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
        match self.map(names, &visitor)? {
            Source::Direct(map) => visit_map(map, visitor),
            Source::JsonText(text) => {
                Value::of_text(text, |value| value.deserialize_struct(name, names, visitor))
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.variant(&visitor)? {
            Source::Direct(mut variant) => {
                let value = visitor.visit_enum(variant::Access(&mut variant))?;
                variant.end()?;
                Ok(value)
            }
            Source::JsonText(text) => {
                Value::of_text(text, |value| value.deserialize_enum(name, variants, visitor))
            }
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
