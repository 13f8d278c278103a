//! The name of a member, as a type of key.

use std::borrow::Cow;

use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::error::Error;

/// A key is text, or a number or a truth value written as text: the type knows.
pub(super) struct Key<'de>(pub(super) Cow<'de, str>);

const ODD: &str = "invalid value: expected key to be a number or a truth value in quotes";

impl<'de> Key<'de> {
    /// What is not text, as serde_json reads it from the text; a type of the language, which makes no errors of its own.
    fn parsed<T: DeserializeOwned>(&self) -> Result<T, Error> {
        // Neither escapes nor spaces are part of a key that is a number.
        let plain = match &self.0 {
            Cow::Borrowed(key) if key.trim_ascii().len() == key.len() => Some(*key),
            _ => None,
        };
        plain.and_then(|key| serde_json::from_str(key).ok()).ok_or_else(|| Error::new(ODD))
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.parsed()?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_string(key),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        CowStrDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    parsed! {
        deserialize_bool visit_bool,
        deserialize_i8 visit_i64,
        deserialize_i16 visit_i64,
        deserialize_i32 visit_i64,
        deserialize_i64 visit_i64,
        deserialize_i128 visit_i128,
        deserialize_u8 visit_u64,
        deserialize_u16 visit_u64,
        deserialize_u32 visit_u64,
        deserialize_u64 visit_u64,
        deserialize_u128 visit_u128,
        deserialize_f32 visit_f64,
        deserialize_f64 visit_f64,
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(key) => visitor.visit_borrowed_bytes(key.as_bytes()),
            Cow::Owned(key) => visitor.visit_byte_buf(key.into_bytes()),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
