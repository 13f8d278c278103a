//! Variants of enums: a name, or a map with one entry.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, EnumAccess, Error as _, Unexpected, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::key::Key;
use super::{Error, Map, Value};

/// A variant.
pub(super) struct Variant<'s, 'a, 'de> {
    name: Cow<'de, str>,
    /// The map of which the name is the key; none for a name alone.
    map: Option<Map<'s, 'a, 'de>>,
}

impl<'s, 'a, 'de> Variant<'s, 'a, 'de> {
    /// A name alone.
    pub(super) fn unit(name: Cow<'de, str>) -> Self {
        Self { name, map: None }
    }

    /// The first entry of a map.
    pub(super) fn of(mut map: Map<'s, 'a, 'de>) -> Result<Self, Error> {
        match map.key()? {
            Some(name) => Ok(Self { name, map: Some(map) }),
            None => Err(Error::new("expected value")),
        }
    }

    /// There may be no other entry.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        let Some(map) = &mut self.map else { return Ok(()) };
        if let Map::Json(_) = map {
            return map.end();
        }
        match map.key()? {
            Some(_) => Err(Error::new("trailing characters")),
            None => Ok(()),
        }
    }

    /// The value behind the name.
    fn value(&mut self, expected: &'static str) -> Result<Value<'_, 'a, 'de>, Error> {
        match &mut self.map {
            Some(map) => map.value(),
            None => Err(Error::invalid_type(Unexpected::UnitVariant, &expected)),
        }
    }
}

/// Gives a type a variant.
pub(super) struct Access<'m, 's, 'a, 'de>(pub(super) &'m mut Variant<'s, 'a, 'de>);

impl<'de> EnumAccess<'de> for Access<'_, '_, '_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let name = std::mem::take(&mut self.0.name);
        Ok((seed.deserialize(Key(name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Access<'_, '_, '_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match &mut self.0.map {
            Some(map) => <()>::deserialize(map.value()?),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.0.value("newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.0.value("tuple variant")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.value("struct variant")?.deserialize_struct("", fields, visitor)
    }
}
