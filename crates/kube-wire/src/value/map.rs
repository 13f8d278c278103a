//! Maps: the members of a JSON object, the fields of a message, the entries of a map in it.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, MapAccess};

use super::key::Key;
use super::{Error, RAW_VALUE, Value};
use crate::json::Members;
use crate::proto::{Entries, Fields, ObjectFields};

/// A map, of which the next key or value is to be read.
pub(crate) enum Map<'s, 'a, 'de> {
    Json(Members<'s, 'de>),
    Fields(Fields<'a, 'de>),
    Object(ObjectFields<'a, 'de>),
    Entries(Entries<'a, 'de>),
    /// A text that is kept as it is, in the form in which serde_json's types take one; none after it has been read.
    Raw(Option<&'de str>),
}

impl<'a, 'de> Map<'_, 'a, 'de> {
    /// The next key; none at the end.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Option<Cow<'de, str>>, Error> {
        Ok(match self {
            Map::Json(members) => return members.name(),
            Map::Fields(fields) => fields.advance()?.map(|field| field.name.into()),
            Map::Object(fields) => fields.advance()?.map(|field| field.name.into()),
            Map::Entries(entries) => entries.next_key()?.map(Into::into),
            Map::Raw(text) => text.is_some().then_some(RAW_VALUE.into()),
        })
    }

    /// The value behind the key.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Value<'_, 'a, 'de>, Error> {
        Ok(match self {
            Map::Json(members) => Value::Json(members.value()?),
            Map::Fields(fields) => Value::Proto(fields.slot()),
            Map::Object(fields) => Value::Proto(fields.slot()),
            Map::Entries(entries) => Value::Proto(entries.slot()),
            Map::Raw(text) => Value::Text(text.take().unwrap_or_default()),
        })
    }

    /// The error of the value behind the key, with the key.
    #[cold]
    pub(super) fn blame(&self, error: Error) -> Error {
        match self {
            Map::Json(members) => match members.last_name() {
                Ok(name) => error.below(|path| path.name(&name)),
                Err(_) => error,
            },
            Map::Fields(fields) => error.below(|path| path.name(fields.slot().field.name)),
            Map::Object(fields) => error.below(|path| path.name(fields.slot().field.name)),
            Map::Entries(entries) => error.below(|path| path.name(entries.key())),
            Map::Raw(_) => error,
        }
    }

    fn size_hint(&self) -> Option<usize> {
        if let Map::Entries(entries) = self { Some(entries.left()) } else { None }
    }

    /// Goes behind the map; an error if something is left in a text.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        if let Map::Json(members) = self { members.end() } else { Ok(()) }
    }
}

/// Gives a type a map.
pub(super) struct Access<'m, 's, 'a, 'de>(pub(super) &'m mut Map<'s, 'a, 'de>);

impl<'de> MapAccess<'de> for Access<'_, '_, '_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        match self.0.key()? {
            Some(key) => seed.deserialize(Key(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        match seed.deserialize(self.0.value()?) {
            Err(error) => Err(self.0.blame(error)),
            value => value,
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}
