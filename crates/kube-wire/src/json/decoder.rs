//! What types ask for, and what the text says to it.

use std::borrow::Cow;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, Expected, Unexpected, Visitor};

use super::access::{Elements, Members, Variant};
use super::error::Error;
use super::lists::Lists;
use super::read::Reader;
use super::{DecodeOptions, Place, pass};
use crate::dynamic;

/// Deeper than this nothing is decoded, as in serde_json.
const MOST_NESTED: usize = 127;

/// The name by which serde_json's types ask for text that is kept as it is.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A text that values are made of.
pub(crate) struct Decoder<'de> {
    pub(super) reader: Reader<'de>,
    lists: Lists,
    /// How many lists and objects may still be opened in one another.
    room: usize,
    /// Where the value that comes next is.
    pub(super) place: Place,
}

impl<'de> Decoder<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { reader: Reader::new(text), lists: Lists::default(), room: MOST_NESTED, place: Place::Inside }
    }

    /// Decodes an object.
    pub(crate) fn object<K: DeserializeOwned + 'static>(
        &mut self,
        options: DecodeOptions,
    ) -> Result<K, Error> {
        self.place = Place::of(options);
        let object = dynamic::decode(&mut *self);
        self.place = Place::Inside;
        object
    }

    /// Reads the members of an object, all of them.
    pub(crate) fn members<T>(
        &mut self,
        read: impl FnOnce(&mut Members<'_, 'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.reader.peek_value()? != b'{' {
            return Err(Error::new("expected an object"));
        }
        self.inside(b'{', |json| read(&mut Members::new(json, Place::Inside)))
    }

    /// Nothing may follow.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        if self.reader.peek().is_none() { Ok(()) } else { Err(Error::new("trailing characters")) }
    }

    pub(super) fn at(&self) -> usize {
        self.reader.at()
    }

    /// Reads what is between this bracket or brace, which comes next, and its other one.
    #[inline]
    fn inside<T>(&mut self, open: u8, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.room = self.room.checked_sub(1).ok_or_else(|| Error::new("recursion limit exceeded"))?;
        self.reader.pass();
        let value = read(self)?;
        self.room += 1;
        if self.reader.take(pass::other(open)) { Ok(value) } else { Err(self.left_over(open)) }
    }

    /// What is wrong if something is left where a list or an object should end.
    #[cold]
    fn left_over(&mut self, open: u8) -> Error {
        match self.reader.peek() {
            Some(b',') => Error::new("trailing characters"),
            _ => self.reader.wanted_in(open),
        }
    }

    #[inline]
    fn seq<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let len = self.lists.len_at(self.reader.text().as_bytes(), self.reader.at());
        self.inside(b'[', |json| {
            json.place = Place::Inside;
            visitor.visit_seq(Elements::new(json, len))
        })
    }

    #[inline]
    fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.inside(b'{', |json| {
            let place = std::mem::replace(&mut json.place, Place::Inside);
            visitor.visit_map(Members::new(json, place))
        })
    }

    #[inline]
    fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.reader.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// Reads a number of any kind, for somebody who takes them all.
    #[inline]
    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.reader.plain_number() {
            Some(plain) => visit_plain(plain, visitor),
            None => visit_number(self.any_number()?, visitor),
        }
    }

    /// A number of any kind.
    fn any_number(&mut self) -> Result<Unexpected<'static>, Error> {
        Ok(kind_of(&self.odd_number()?))
    }

    /// Leaves a number to serde_json: one of its own or of the language, which makes no errors with the number in them.
    fn odd_number<T: Deserialize<'de>>(&mut self) -> Result<T, Error> {
        let mut json = serde_json::Deserializer::from_str(self.reader.odd_number());
        let number = match T::deserialize(&mut json) {
            // It is not the text that ends there.
            Err(error) if error.is_eof() => Err(Error::new("invalid number")),
            number => number.map_err(Error::from),
        }?;
        json.end().map(|()| number).map_err(|_| Error::new("invalid number"))
    }

    /// What is wrong where something else comes next than a type expects.
    #[cold]
    fn other(&mut self, expected: &dyn Expected) -> Error {
        self.other_value(expected).unwrap_or_else(|error| error)
    }

    fn other_value(&mut self, expected: &dyn Expected) -> Result<Error, Error> {
        let invalid = |found| Error::invalid_type(found, expected);
        Ok(match self.reader.peek_value()? {
            b'n' => self.reader.word("null").map(|()| invalid(Unexpected::Unit))?,
            b't' => self.reader.word("true").map(|()| invalid(Unexpected::Bool(true)))?,
            b'f' => self.reader.word("false").map(|()| invalid(Unexpected::Bool(false)))?,
            b'"' => invalid(Unexpected::Str(&self.reader.string()?)),
            b'[' => invalid(Unexpected::Seq),
            b'{' => invalid(Unexpected::Map),
            b'-' | b'0'..=b'9' => invalid(self.any_number()?),
            _ => Error::new("expected value"),
        })
    }
}

/// Shows an integer to a type: whether it is below zero, and how large it is.
#[inline]
fn visit_plain<'de, V: Visitor<'de>>(
    (below_zero, number): (bool, u64),
    visitor: V,
) -> Result<V::Value, Error> {
    if below_zero { visitor.visit_i64(-number.cast_signed()) } else { visitor.visit_u64(number) }
}

/// What serde_json has for a number.
pub(super) fn kind_of(number: &serde_json::Number) -> Unexpected<'static> {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), ..) => Unexpected::Unsigned(number),
        (_, Some(number), _) => Unexpected::Signed(number),
        (.., Some(number)) => Unexpected::Float(number),
        _ => Unexpected::Other("number"),
    }
}

/// Shows a number of any kind to a type.
pub(super) fn visit_number<'de, V: Visitor<'de>>(
    number: Unexpected<'_>,
    visitor: V,
) -> Result<V::Value, Error> {
    match number {
        Unexpected::Unsigned(number) => visitor.visit_u64(number),
        Unexpected::Signed(number) => visitor.visit_i64(number),
        Unexpected::Float(number) => visitor.visit_f64(number),
        _ => Err(Error::new("number out of range")),
    }
}

/// Bytes as serde_json reads them from a string, which need not be text then.
struct OddBytes(Vec<u8>);

impl<'de> Deserialize<'de> for OddBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = OddBytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<OddBytes, E> {
                Ok(OddBytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Numbers of every kind are numbers; the type sees what it can do with them.
macro_rules! numbers {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.reader.peek_value()? {
                b'-' | b'0'..=b'9' => match self.reader.plain_number() {
                    Some(plain) => visit_plain(plain, visitor),
                    None => visit_number(self.any_number()?, visitor),
                },
                _ => Err(self.other(&visitor)),
            }
        }
    )*};
}

/// Those that may be larger than all others.
macro_rules! large_numbers {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.reader.peek_value()? {
                b'-' | b'0'..=b'9' => visitor.$visit(self.odd_number()?),
                _ => Err(self.other(&visitor)),
            }
        }
    )*};
}

macro_rules! strings {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.reader.peek_value()? {
                b'"' => self.string(visitor),
                _ => Err(self.other(&visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.reader.peek_value()? {
            b'"' => self.string(visitor),
            b'{' => self.map(visitor),
            b'[' => self.seq(visitor),
            b'-' | b'0'..=b'9' => self.number(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            _ => Err(Error::new("expected value")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.reader.peek_value()? {
            b't' => self.reader.word("true").and_then(|()| visitor.visit_bool(true)),
            b'f' => self.reader.word("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(self.other(&visitor)),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_f32 deserialize_f64
    }

    large_numbers! { deserialize_i128 visit_i128 deserialize_u128 visit_u128 }

    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.reader.peek_value()? {
            b'"' => match self.reader.plain_string() {
                Some(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
                None => {
                    let OddBytes(bytes) = serde_json::from_str(self.reader.odd_string())?;
                    visitor.visit_byte_buf(bytes)
                }
            },
            b'[' => self.seq(visitor),
            _ => Err(self.other(&visitor)),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.reader.peek_value()? == b'n' {
            return self.reader.word("null").and_then(|()| visitor.visit_none());
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.reader.peek_value()? {
            b'n' => self.reader.word("null").and_then(|()| visitor.visit_unit()),
            _ => Err(self.other(&visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == RAW_VALUE {
            let text = BorrowedStrDeserializer::new(self.reader.raw_value()?);
            return visitor.visit_map(MapDeserializer::new(std::iter::once((RAW_VALUE, text))));
        }
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.reader.peek_value()? {
            b'[' => self.seq(visitor),
            _ => Err(self.other(&visitor)),
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

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.reader.peek_value()? {
            b'{' => self.map(visitor),
            _ => Err(self.other(&visitor)),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.reader.peek_value()? {
            b'{' => self.map(visitor),
            b'[' => self.seq(visitor),
            _ => Err(self.other(&visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.reader.peek_value()? {
            b'"' => {
                let name = self.reader.string()?;
                visitor.visit_enum(Variant { name, json: None })
            }
            b'{' => self.inside(b'{', |json| {
                json.place = Place::Inside;
                if json.reader.peek() != Some(b'"') {
                    return Err(json.reader.wanted("EOF while parsing an object", "expected value"));
                }
                let name = json.reader.string()?;
                json.reader.colon()?;
                visitor.visit_enum(Variant { name, json: Some(json) })
            }),
            _ => Err(self.other(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.reader.pass_value()?;
        visitor.visit_unit()
    }
}
