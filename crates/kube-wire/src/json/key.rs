//! The name of a member, as a type of key.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::CowStrDeserializer;
use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::error::Error;
use super::read::Text;

/// A key is text, or a number or a truth value written as text: the type knows.
pub(super) struct Key<'de>(pub(super) Text<'de>);

const ODD: &str = "invalid value: expected key to be a number or a truth value in quotes";

/// What is not text is read from the text as serde_json reads it.
macro_rules! written_as_text {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            // Spaces are no part of a key that is a number.
            if self.0.trim_ascii().len() != self.0.len() {
                return Err(Error::new(ODD));
            }
            let mut json = serde_json::Deserializer::from_str(&self.0);
            let value = json.$method(Owned { inner: visitor, borrows: PhantomData })?;
            json.end().map(|()| value).map_err(|_| Error::new(ODD))
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

    written_as_text! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32
        deserialize_f64
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A visitor of numbers and truth values, which borrow nothing.
struct Owned<'de, V> {
    inner: V,
    /// What the visitor could borrow from.
    borrows: PhantomData<&'de str>,
}

macro_rules! visit {
    ($($method:ident: $kind:ty;)*) => {$(
        fn $method<E: serde::de::Error>(self, value: $kind) -> Result<Self::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'_> for Owned<'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool: bool;
        visit_i64: i64;
        visit_i128: i128;
        visit_u64: u64;
        visit_u128: u128;
        visit_f64: f64;
    }
}
