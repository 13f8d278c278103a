//! The values of a text, one after the other.

use std::borrow::Cow;

use serde::de::{Deserialize, DeserializeOwned, Error as _, Expected, Unexpected};

use super::access::{Elements, Members};
use super::lists::Lists;
use super::read::Reader;
use super::{DecodeOptions, Place, pass};
use crate::dynamic;
use crate::value::{Error, Number, Value};

/// Deeper than this nothing is decoded, as in serde_json.
const MOST_NESTED: usize = 127;

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
    pub(crate) fn new(text: &'de str) -> Self {
        Self { reader: Reader::new(text), lists: Lists::default(), room: MOST_NESTED, place: Place::Inside }
    }

    /// Decodes an object.
    pub(crate) fn object<K: DeserializeOwned + 'static>(
        &mut self,
        options: DecodeOptions,
    ) -> Result<K, Error> {
        self.place = Place::of(options);
        let object = dynamic::decode(Value::Json(self));
        self.place = Place::Inside;
        object
    }

    /// Decodes a value.
    pub(crate) fn value<T: Deserialize<'de>>(&mut self) -> Result<T, Error> {
        T::deserialize(Value::Json(self))
    }

    /// Reads the members of an object, all of them.
    pub(crate) fn members<T>(
        &mut self,
        read: impl FnOnce(&mut Members<'_, 'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.peek()? != b'{' {
            return Err(Error::new("expected an object"));
        }
        let mut members = self.map()?;
        let value = read(&mut members)?;
        members.end()?;
        Ok(value)
    }

    /// Nothing may follow.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        if self.reader.peek().is_none() { Ok(()) } else { Err(Error::new("trailing characters")) }
    }

    /// How far the text has been read.
    pub(crate) fn at(&self) -> usize {
        self.reader.at()
    }

    /// The first byte of the next value.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, Error> {
        self.reader.peek_value()
    }

    fn open(&mut self) -> Result<(), Error> {
        self.room = self.room.checked_sub(1).ok_or_else(|| Error::new("recursion limit exceeded"))?;
        self.reader.pass();
        Ok(())
    }

    /// Goes behind the other one of a bracket or brace, which has to come next.
    pub(super) fn close(&mut self, open: u8) -> Result<(), Error> {
        self.room += 1;
        if self.reader.take(pass::other(open)) { Ok(()) } else { Err(self.left_over(open)) }
    }

    /// What is wrong if something is left where a list or an object should end.
    #[cold]
    fn left_over(&mut self, open: u8) -> Error {
        match self.reader.peek() {
            Some(b',') => Error::new("trailing characters"),
            _ => self.reader.wanted_in(open),
        }
    }

    /// Opens the object that comes next.
    pub(crate) fn map(&mut self) -> Result<Members<'_, 'de>, Error> {
        self.open()?;
        let place = std::mem::replace(&mut self.place, Place::Inside);
        Ok(Members::new(self, place))
    }

    /// Opens the list that comes next.
    pub(crate) fn seq(&mut self) -> Result<Elements<'_, 'de>, Error> {
        let len = self.lists.len_at(self.reader.text().as_bytes(), self.reader.at());
        self.open()?;
        self.place = Place::Inside;
        Ok(Elements::new(self, len))
    }

    /// Reads the string that comes next.
    pub(crate) fn string(&mut self) -> Result<Cow<'de, str>, Error> {
        self.reader.string()
    }

    /// Reads the number that comes next.
    pub(crate) fn number(&mut self) -> Result<Number, Error> {
        match self.reader.plain_number() {
            Some((true, number)) => Ok(Number::Signed(-number.cast_signed())),
            Some((false, number)) => Ok(Number::Unsigned(number)),
            None => {
                let number: serde_json::Number = self.odd_number()?;
                match (number.as_u64(), number.as_i64(), number.as_f64()) {
                    (Some(number), ..) => Ok(Number::Unsigned(number)),
                    (_, Some(number), _) => Ok(Number::Signed(number)),
                    (.., Some(number)) => Ok(Number::Float(number)),
                    _ => Err(Error::new("number out of range")),
                }
            }
        }
    }

    /// Reads the truth value that comes next.
    pub(crate) fn bool(&mut self) -> Result<bool, Error> {
        let truth = self.peek()? == b't';
        self.reader.word(if truth { "true" } else { "false" }).map(|()| truth)
    }

    /// Reads the null that comes next.
    pub(crate) fn null(&mut self) -> Result<(), Error> {
        self.reader.word("null")
    }

    /// Goes behind a null, if one comes next; whether it did.
    pub(crate) fn take_null(&mut self) -> Result<bool, Error> {
        Ok(self.peek()? == b'n' && self.null().map(|()| true)?)
    }

    pub(crate) fn map_for(&mut self, expected: &dyn Expected) -> Result<Members<'_, 'de>, Error> {
        if self.peek()? == b'{' { self.map() } else { Err(self.type_error(expected)) }
    }

    pub(crate) fn seq_for(&mut self, expected: &dyn Expected) -> Result<Elements<'_, 'de>, Error> {
        if self.peek()? == b'[' { self.seq() } else { Err(self.type_error(expected)) }
    }

    pub(crate) fn string_for(&mut self, expected: &dyn Expected) -> Result<Cow<'de, str>, Error> {
        if self.peek()? == b'"' { self.string() } else { Err(self.type_error(expected)) }
    }

    pub(crate) fn bool_for(&mut self, expected: &dyn Expected) -> Result<bool, Error> {
        if matches!(self.peek()?, b't' | b'f') { self.bool() } else { Err(self.type_error(expected)) }
    }

    pub(crate) fn number_for(&mut self, expected: &dyn Expected) -> Result<Number, Error> {
        if is_number(self.peek()?) { self.number() } else { Err(self.type_error(expected)) }
    }

    /// Reads an integer of any size, as a type of the language.
    pub(crate) fn wide_for<T: Deserialize<'de>>(&mut self, expected: &dyn Expected) -> Result<T, Error> {
        if is_number(self.peek()?) { self.odd_number() } else { Err(self.type_error(expected)) }
    }

    /// Passes over a value.
    pub(crate) fn pass_value(&mut self) -> Result<(), Error> {
        self.reader.pass_value()
    }

    /// Passes over a value, and returns its text.
    pub(crate) fn raw_value(&mut self) -> Result<&'de str, Error> {
        self.reader.raw_value()
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

    /// Returns the error for a type that expects something else than what comes next.
    #[cold]
    pub(crate) fn type_error(&mut self, expected: &dyn Expected) -> Error {
        self.type_error_value(expected).unwrap_or_else(|error| error)
    }

    fn type_error_value(&mut self, expected: &dyn Expected) -> Result<Error, Error> {
        let invalid = |found| Error::invalid_type(found, expected);
        Ok(match self.peek()? {
            b'n' => self.null().map(|()| invalid(Unexpected::Unit))?,
            b't' | b'f' => invalid(Unexpected::Bool(self.bool()?)),
            b'"' => invalid(Unexpected::Str(&self.string()?)),
            b'[' => invalid(Unexpected::Seq),
            b'{' => invalid(Unexpected::Map),
            b'-' | b'0'..=b'9' => invalid(self.number()?.unexpected()),
            _ => Error::new("expected value"),
        })
    }
}

fn is_number(first: u8) -> bool {
    matches!(first, b'-' | b'0'..=b'9')
}
