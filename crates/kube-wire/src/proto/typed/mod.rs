//! Objects of k8s-openapi's types, filled in place.
//!
//! Whatever can be decoded from JSON can be decoded from protobuf through serde ([`super::value`]), and most of that
//! time is spent on names: the walk knows a field by its number, serde wants its name, and the type compares that name
//! with all of its own. Times take the way through text, bytes the one through base64, and large structs are moved from
//! place to place. For the kinds that clusters have many of this is left out: [made files](places) say which number belongs to
//! which field of the type, and each type goes through its message by itself ([`walk`]).
//!
//! Only what is as usual goes this way. Whatever is not, be it an error, another order of fields or a type that is not
//! one of these, is decoded through serde, which also knows how to tell what is wrong.

mod item;
#[macro_use]
mod said;
mod places;
#[cfg(test)]
mod tests;
mod walk;

use std::any::{Any, TypeId};
use std::hint::black_box;

use super::table::ProtoMessage;
use super::wire::{BYTES, Raw, VARINT};
use crate::object::DecodeOptions;
use item::{Field, Item, through_serde};
use walk::{At, END, Rules, Walk, pass};

/// What the number of an inlined message counts in a [place](Walk::next). No field has so high a number: what makes
/// the files of places refuses to.
const INLINED: u32 = 1000;

/// A type whose fields are filled in place.
trait Fill: Default {
    /// Reads the fields of a message. Where there was another value before, it is written over, and what the new one has not
    /// goes. None if something is not as usual; what is in the place then is of no use.
    fn fill(&mut self, bytes: &[u8], at: At) -> Option<()>;

    /// Lets go of what is left of an older value in the fields that are not there.
    fn forget_unseen(&mut self, seen: Seen);

    /// Looks at most of the memory that the value has elsewhere, so that it is near when it is written over. An old value is in a
    /// hundred pieces of memory that nobody has looked at for long: where each is waited for when its turn comes, that takes
    /// longer than all else, and if all are asked for at once, they come at once. What is returned is of no use.
    fn touch(&self) -> usize;
}

/// Whether an object of this type can be made of another, in its memory; see
/// [`Encoding::decode_object_into`](crate::Encoding::decode_object_into). It can if it arrives in protobuf, and its type is
/// one of those that are filled in place.
pub fn can_be_remade<K: 'static>() -> bool {
    places::has::<K>()
}

/// Decodes an object if its type is one of those that this is for, and all about it is as usual: into the memory of one
/// that nobody needs any more, if there is one.
#[inline]
pub(super) fn decode<K: 'static>(
    object: &[u8],
    message: ProtoMessage,
    types: Option<(&str, &str)>,
    options: DecodeOptions,
    spare: Option<K>,
) -> Option<K> {
    let mut place = spare;
    let usual = types.is_none_or(|(version, kind)| message.is(version, kind));
    let filled = usual && places::fill_place(&mut place, &Object { object, message, options });
    place.filter(|_| filled)
}

/// The bytes of an object, and what they are.
struct Object<'a> {
    object: &'a [u8],
    message: ProtoMessage,
    options: DecodeOptions,
}

impl Object<'_> {
    /// Fills the place of an object if it is one for this type, and all is as usual; whether it has.
    ///
    /// The types are known when this is compiled, so all but the right one of these calls vanish.
    #[inline(always)]
    fn fill<K: 'static, T: Fill + k8s_openapi::Resource + 'static>(&self, place: &mut Option<K>) -> bool {
        let mine = TypeId::of::<K>() == TypeId::of::<T>() || TypeId::of::<K>() == TypeId::of::<Box<T>>();
        if !mine || !self.message.is(T::API_VERSION, T::KIND) {
            return false;
        }
        let place: &mut dyn Any = place;
        if let Some(place) = place.downcast_mut::<Option<T>>() {
            let used = place.is_some();
            return self.fill_as(place.get_or_insert_default(), used);
        }
        let boxed = place.downcast_mut::<Option<Box<T>>>();
        boxed.is_some_and(|place| {
            let used = place.is_some();
            self.fill_as::<T>(place.get_or_insert_default(), used)
        })
    }

    /// Fills an object that was `used` before, or is new; whether all is as usual.
    fn fill_as<T: Fill>(&self, place: &mut T, used: bool) -> bool {
        if used {
            black_box(place.touch());
        }
        place.fill(self.object, At::object(used, self.options.keep_managed_fields)).is_some()
    }
}

/// Which fields of a message have been there, by their [places](Walk::next).
#[derive(Clone, Copy, Default)]
struct Seen(u128);

impl Seen {
    /// So many numbers have a bit for each inlined message.
    const INLINED: u32 = 40;

    /// The field of a place alone.
    const fn of(place: u32) -> Self {
        Self(1 << (place / INLINED * Self::INLINED + place % INLINED))
    }

    #[inline]
    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    #[inline]
    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no two of the fields of a type are taken for each other.
    const fn can_tell_apart(mut places: &[&[u32]]) -> bool {
        let mut all = Self(0);
        while let [some, others @ ..] = places {
            let mut rest = *some;
            while let [place, behind @ ..] = rest {
                let one = Self::of(*place);
                if all.0 & one.0 != 0 {
                    return false;
                }
                (all, rest) = (Self(all.0 | one.0), behind);
            }
            places = others;
        }
        true
    }
}
