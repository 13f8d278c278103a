//! What is inside a value: the members of an object, the elements of a list, the variant of an enum.

use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor};
use serde::{Deserializer, de};

use super::Place;
use super::decoder::Decoder;
use super::error::Error;
use super::key::Key;
use super::read::Text;

/// The members of an object, without those that are hidden.
pub(crate) struct Members<'a, 'de> {
    json: &'a mut Decoder<'de>,
    /// Where the object is.
    place: Place,
    /// Where the value behind the name is that was read last.
    below: Place,
    /// Where that name is in the text.
    name_at: usize,
    first: bool,
}

impl<'a, 'de> Members<'a, 'de> {
    #[inline]
    pub(super) fn new(json: &'a mut Decoder<'de>, place: Place) -> Self {
        Self { json, place, below: Place::Inside, name_at: 0, first: true }
    }

    /// The name of the next member.
    #[inline]
    pub(crate) fn name(&mut self) -> Result<Option<Text<'de>>, Error> {
        loop {
            let Some(name) = self.any_name()? else { return Ok(None) };
            // Most objects are in a place where nothing is hidden.
            if self.place != Place::Inside {
                if self.place.hides(&name) {
                    self.pass()?;
                    continue;
                }
                self.below = self.place.below(&name);
            }
            return Ok(Some(name));
        }
    }

    #[inline]
    fn any_name(&mut self) -> Result<Option<Text<'de>>, Error> {
        let reader = &mut self.json.reader;
        let mut next = reader.peek();
        if next == Some(b'}') {
            return Ok(None);
        }
        if !std::mem::take(&mut self.first) {
            if next != Some(b',') {
                return Err(reader.wanted_in(b'{'));
            }
            reader.pass();
            next = reader.peek();
        }
        match next {
            Some(b'"') => {
                self.name_at = reader.at();
                reader.string().map(Some)
            }
            Some(b'}') => Err(Error::new("trailing comma")),
            _ => Err(reader.wanted("EOF while parsing an object", "key must be a string")),
        }
    }

    /// Passes over the value behind the name.
    pub(crate) fn pass(&mut self) -> Result<(), Error> {
        self.json.reader.colon()?;
        self.json.reader.pass_value()
    }

    /// The text of the value behind the name.
    pub(crate) fn raw_value(&mut self) -> Result<&'de str, Error> {
        self.json.reader.colon()?;
        self.json.reader.raw_value()
    }

    /// An error in the value behind the name.
    #[cold]
    fn blame(&self, error: Error) -> Error {
        match self.json.reader.string_at(self.name_at) {
            Ok(name) => error.below(&name),
            Err(_) => error,
        }
    }

    /// The value behind the name.
    pub(crate) fn value(&mut self) -> Result<&mut Decoder<'de>, Error> {
        self.json.reader.colon()?;
        Ok(self.json)
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        match self.name()? {
            Some(name) => seed.deserialize(Key(name)).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        self.json.reader.colon()?;
        if self.below == Place::Inside {
            return seed.deserialize(&mut *self.json).map_err(|error| self.blame(error));
        }
        self.json.place = self.below;
        let value = seed.deserialize(&mut *self.json);
        self.json.place = Place::Inside;
        value.map_err(|error| self.blame(error))
    }
}

/// The elements of a list, which is known to have so many.
pub(super) struct Elements<'a, 'de> {
    json: &'a mut Decoder<'de>,
    len: usize,
    left: usize,
    first: bool,
}

impl<'a, 'de> Elements<'a, 'de> {
    #[inline]
    pub(super) fn new(json: &'a mut Decoder<'de>, len: usize) -> Self {
        Self { json, len, left: len, first: true }
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let reader = &mut self.json.reader;
        let next = reader.peek();
        if next == Some(b']') {
            return Ok(None);
        }
        if !std::mem::take(&mut self.first) {
            if next != Some(b',') {
                return Err(reader.wanted_in(b'['));
            }
            reader.pass();
            if reader.peek() == Some(b']') {
                return Err(Error::new("trailing comma"));
            }
        } else if next.is_none() {
            return Err(reader.wanted_in(b'['));
        }
        self.left = self.left.saturating_sub(1);
        let index = |elements: &Self| (elements.len - elements.left).saturating_sub(1);
        seed.deserialize(&mut *self.json).map(Some).map_err(|error| error.in_element(index(self)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The variant of an enum, which may have a value behind it.
pub(super) struct Variant<'a, 'de> {
    pub(super) name: Text<'de>,
    pub(super) json: Option<&'a mut Decoder<'de>>,
}

/// The value behind the name of a variant.
pub(super) struct VariantValue<'a, 'de>(Option<&'a mut Decoder<'de>>);

impl<'a, 'de> EnumAccess<'de> for Variant<'a, 'de> {
    type Error = Error;
    type Variant = VariantValue<'a, 'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), Error> {
        Ok((seed.deserialize(Key(self.name))?, VariantValue(self.json)))
    }
}

impl<'a, 'de> VariantValue<'a, 'de> {
    fn some(self, expected: &'static str) -> Result<&'a mut Decoder<'de>, Error> {
        self.0.ok_or_else(|| de::Error::invalid_type(Unexpected::UnitVariant, &expected))
    }
}

impl<'de> VariantAccess<'de> for VariantValue<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.0.map_or(Ok(()), <() as de::Deserialize>::deserialize)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.some("newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.some("tuple variant")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.some("struct variant")?.deserialize_struct("", fields, visitor)
    }
}
