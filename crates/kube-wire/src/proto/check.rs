//! Whether bytes are what their kind says, without making anything of them.
//!
//! The walk is the one that decodes through serde, with nobody who takes what it finds: so what is right here is right there.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::envelope::ProtoEnvelope;
use super::event::{Opened, open_event};
use super::object::check_typed;
use super::table::{Kind, ProtoMessage, Shape, Table};
use crate::event::{Event, EventError};
use crate::object::{DecodeError, DecodeOptions};

/// Looks at everything in the protobuf message of an object, and makes nothing of it.
///
/// If it is right, and the kind is [plain](ProtoMessage::is_plain), then a type that takes all that the kind may say, as
/// the types of k8s-openapi do, can be [decoded](crate::decode_object_proto) from it. False if that is not sure: it is
/// written in another way than encoders write it, so that what [`ProtoMetadata`](crate::ProtoMetadata) says of it may be
/// wrong, or has a time at the ends of time, which not every type reaches. An error may be about something that a type does
/// not have.
///
/// ```
/// use kube_wire::{DecodeOptions, ProtoMessage, check_object_proto};
///
/// let kind = ProtoMessage::of("", "v1", "ConfigMap").expect("a built-in kind");
/// let object = b"\x0a\x03\x0a\x01a";
/// assert_eq!(check_object_proto(object, kind, DecodeOptions::default()), Ok(true));
/// let garbled = check_object_proto(b"\x0a\x03\x0a\x01\xff", kind, DecodeOptions::default());
/// assert_eq!(garbled.unwrap_err().why, "proto: invalid UTF-8 in a string");
/// ```
pub fn check_object_proto(
    object: &[u8],
    message: ProtoMessage,
    options: DecodeOptions,
) -> Result<bool, DecodeError> {
    check_typed(object, message, options)
}

impl ProtoMessage {
    /// Whether a type that has all that the kind has takes every object that is
    /// [right](check_object_proto): nothing in it may be missing or `null` that a type could insist on.
    ///
    /// Times that Go shows even if they were never set are such things; so are times in lists and maps, and values of
    /// several forms.
    pub fn is_plain(self) -> bool {
        let table = Table::get();
        let (mut waiting, mut seen) = (vec![self.message()], Vec::new());
        while let Some(message) = waiting.pop() {
            seen.push(message);
            for field in table.fields(message) {
                let insists = match field.kind {
                    Kind::Time | Kind::MicroTime => {
                        field.shape != Shape::One || (field.shows_zero && !field.pointer)
                    }
                    Kind::Or => true,
                    _ => false,
                };
                if insists {
                    return false;
                }
                if field.kind.has_fields() {
                    let below = table.below(field);
                    if !seen.contains(&below) && !waiting.contains(&below) {
                        waiting.push(below);
                    }
                }
            }
        }
        true
    }
}

/// Opens one frame of a watch in protobuf: what [`decode_event_proto`](crate::decode_event_proto) makes of it, but with
/// the bytes of its object, of which nothing is known but that they are of the right kind.
pub fn open_event_proto(frame: &[u8], message: ProtoMessage) -> Result<Event<&[u8]>, EventError> {
    match open_event(frame, message)? {
        Opened::Object { event, envelope: ProtoEnvelope { object, .. } } => Ok(match event {
            "ADDED" => Event::Added(object),
            "MODIFIED" => Event::Modified(object),
            _ => Event::Deleted(object),
        }),
        Opened::Other(other) => Ok(other),
    }
}

/// Anything, of which nothing is kept.
pub(super) struct Anything;

impl<'de> Deserialize<'de> for Anything {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

impl<'de> Visitor<'de> for Anything {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    #[inline]
    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    #[inline]
    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    #[inline]
    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    #[inline]
    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    #[inline]
    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    #[inline]
    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self, A::Error> {
        while elements.next_element::<Anything>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        while entries.next_key::<IgnoredAny>()?.is_some() {
            entries.next_value::<Anything>()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::proto::encode_object_proto;

    #[test]
    fn a_time_at_the_ends_of_time_is_doubtful() {
        let kind = ProtoMessage::of("", "v1", "ConfigMap").unwrap();
        for (time, sure) in
            [("2024-02-29T12:00:00Z", true), ("9999-12-31T23:59:59Z", false), ("0000-01-01T00:00:00Z", false)]
        {
            let object = json!({"metadata": {"name": "a", "creationTimestamp": time}});
            let bytes = encode_object_proto(&object, kind).unwrap();
            assert_eq!(check_object_proto(&bytes, kind, DecodeOptions::default()), Ok(sure), "{time}");
        }
    }
}
