//! Objects of k8s-openapi's types, filled in place.
//!
//! Whatever can be decoded from JSON can be decoded from protobuf through serde ([`super::value`]), and most of that
//! time is spent on names: the walk knows a field by its number, serde wants its name, and the type compares that name
//! with all of its own. Times take the way through text, bytes the one through base64, and large structs are moved from
//! place to place. For the kinds that clusters have many of this is left out: the walk is the same ([`Fields`]), and
//! [made files](places) say which number belongs to which field of the type.
//!
//! Only what is as usual goes this way. Whatever is not, be it an error, another order of fields or a type that is not
//! one of these, is decoded through serde, which also knows how to tell what is wrong.

mod item;
#[macro_use]
mod said;
mod places;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};

use super::error::ProtoError;
use super::fields::Fields;
use super::table::{ProtoMessage, Table};
use super::value::{Context, Slot};
use crate::object::DecodeOptions;
use item::{Item, fill, through_serde};

/// A type whose fields are filled in place.
trait Fill: Default {
    fn fill(&mut self, fields: &mut Fields<'_, '_>) -> Result<(), ProtoError>;
}

/// Decodes an object if its type is one of those that this is for, and all about it is as usual.
#[inline]
pub(super) fn decode<K: 'static>(
    object: &[u8],
    message: ProtoMessage,
    types: Option<(&str, &str)>,
    options: DecodeOptions,
) -> Option<K> {
    let mut place: Option<K> = None;
    if types.is_none_or(|(version, kind)| message.is(version, kind)) {
        places::fill_place(&mut place, &Object { object, message, options });
    }
    place
}

/// The bytes of an object, and what they are.
struct Object<'a> {
    object: &'a [u8],
    message: ProtoMessage,
    options: DecodeOptions,
}

impl Object<'_> {
    /// Fills the place of an object if it is one for this type; whether it is.
    ///
    /// The types are known when this is compiled, so all but the right one of these calls vanish.
    #[inline(always)]
    fn fill<K: 'static, T: Fill + k8s_openapi::Resource + 'static>(&self, place: &mut Option<K>) -> bool {
        if TypeId::of::<K>() != TypeId::of::<T>() {
            return false;
        }
        if let Some(place) = (place as &mut dyn Any).downcast_mut::<Option<T>>()
            && self.message.is(T::API_VERSION, T::KIND)
        {
            self.fill_as(place);
        }
        true
    }

    /// Fills the place of an object; it stays empty if anything is not as usual.
    fn fill_as<T: Fill>(&self, place: &mut Option<T>) {
        let context = Context::new(Table::get());
        let filled = Fields::of_object(&context, self.message.message(), self.object, self.options)
            .and_then(|mut fields| place.insert(T::default()).fill(&mut fields));
        if filled.is_err() {
            *place = None;
        }
    }
}
