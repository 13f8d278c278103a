//! One object from its bytes.

use std::fmt::Display;

use serde::de::DeserializeOwned;

use super::check::Anything;
use super::error::ProtoError;
use super::fields::Fields;
use super::meta::peek_key_proto;
use super::order::put_in_order;
use super::table::{Field, ProtoMessage, Table};
use super::typed;
use super::value::{Context, Slot};
use super::wire::Raw;
use crate::dynamic;
use crate::object::{DecodeError, DecodeOptions};
use crate::value::Value;

/// Decodes one object from its protobuf message, without an envelope around it: an item of a list, or what was kept of
/// one.
///
/// The result is what [`decode_object`](crate::decode_object) makes of the JSON that a server sends for the same
/// item. What the type does not name is passed over unread.
pub fn decode_object_proto<K: DeserializeOwned + 'static>(
    object: &[u8],
    message: ProtoMessage,
    options: DecodeOptions,
) -> Result<K, DecodeError> {
    decode_typed(object, message, None, options, None)
}

/// Decodes one object; `types` are its `apiVersion` and `kind`, if it has to have them. A `spare` object is one that nobody
/// needs any more, and that this one may be made of.
pub(crate) fn decode_typed<K: DeserializeOwned + 'static>(
    object: &[u8],
    message: ProtoMessage,
    types: Option<(&str, &str)>,
    options: DecodeOptions,
    spare: Option<K>,
) -> Result<K, DecodeError> {
    if let Some(decoded) = typed::decode(object, message, types, options, spare) {
        return Ok(decoded);
    }
    let context = Context::new(Table::get());
    match dynamic::decode(Value::Object(&Object { context: &context, message, object, types, options })) {
        Ok(decoded) if !context.is_disordered() => Ok(decoded),
        Err(error) if !context.is_disordered() => Err(about(object, &error)),
        _ => decode_disordered(object, message, types, options),
    }
}

/// Whether an object is right; false if it is as far as can be seen, but has to be decoded to know.
pub(super) fn check_typed(
    object: &[u8],
    message: ProtoMessage,
    options: DecodeOptions,
) -> Result<bool, DecodeError> {
    let context = Context::new(Table::get());
    let fields = Fields::of_object(&context, message.message(), object, options);
    match fields.and_then(|mut fields| fields.check()) {
        Ok(()) if !context.is_disordered() => Ok(!context.is_doubtful()),
        Err(error) if !context.is_disordered() => Err(about(object, &error)),
        _ => decode_disordered(object, message, None, options).map(|Anything| false),
    }
}

/// Decodes an object whose fields come in another order than encoders write them.
#[cold]
fn decode_disordered<K: DeserializeOwned + 'static>(
    object: &[u8],
    message: ProtoMessage,
    types: Option<(&str, &str)>,
    options: DecodeOptions,
) -> Result<K, DecodeError> {
    let ordered = put_in_order(object, message).map_err(|error| about(object, &error))?;
    let context = Context::new(Table::get());
    dynamic::decode(Value::Object(&Object { context: &context, message, object: &ordered, types, options }))
        .map_err(|error| about(&ordered, &error))
}

/// An error with the name of the object that it is about.
#[cold]
fn about(object: &[u8], error: &dyn Display) -> DecodeError {
    DecodeError::new(peek_key_proto(object).map(Box::new), error.to_string())
}

/// The message of a whole object.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a, 'de> {
    context: &'a Context,
    message: ProtoMessage,
    object: &'de [u8],
    types: Option<(&'de str, &'de str)>,
    options: DecodeOptions,
}

impl<'a, 'de> Object<'a, 'de> {
    pub(crate) fn fields(&self) -> Result<ObjectFields<'a, 'de>, ProtoError> {
        let fields = Fields::of_object(self.context, self.message.message(), self.object, self.options)?;
        let (api_version, kind) = self.types.unzip();
        Ok(ObjectFields { fields, types: [kind, api_version] })
    }
}

/// The fields of an object: its type, if it is known, and then those of its message.
pub(crate) struct ObjectFields<'a, 'de> {
    fields: Fields<'a, 'de>,
    /// `kind` and `apiVersion`, until they have been handed out.
    types: [Option<&'de str>; 2],
}

/// The fields that are not in the message, in the order of [`ObjectFields::types`].
static TYPES: [Field; 2] = [Field::string("kind"), Field::string("apiVersion")];

impl<'a, 'de> ObjectFields<'a, 'de> {
    /// Goes to the next field; none at the end.
    pub(crate) fn advance(&mut self) -> Result<Option<&'static Field>, ProtoError> {
        for (place, field) in self.types.iter_mut().zip(&TYPES) {
            if let Some(text) = place.take() {
                let slot = self.fields.slot_mut();
                slot.set_field(field);
                slot.raw = Raw { number: 0, bytes: text.as_bytes() };
                return Ok(Some(field));
            }
        }
        self.fields.advance()
    }

    /// What [`advance`](Self::advance) went to.
    pub(crate) fn slot(&self) -> &Slot<'a, 'de> {
        self.fields.slot()
    }
}
