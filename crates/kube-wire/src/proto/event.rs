//! One watch event from its frame.

use serde::de::DeserializeOwned;

use super::envelope::ProtoEnvelope;
use super::error::{Cause, ProtoError};
use super::meta::{ProtoMetadata, peek_key_proto};
use super::object::decode_typed;
use super::table::ProtoMessage;
use super::wire::Reader;
use crate::event::{Event, EventError, INITIAL_EVENTS_END, WatchStatus};
use crate::object::{DecodeError, DecodeOptions};

/// Decodes one frame of a watch in protobuf; `message` is what its objects are.
pub fn decode_event_proto<K: DeserializeOwned + 'static>(
    frame: &[u8],
    message: ProtoMessage,
    options: DecodeOptions,
) -> Result<Event<K>, EventError> {
    decode_event_proto_into(frame, message, options, None)
}

/// The same with a `spare` object that the new one may be made of.
pub(crate) fn decode_event_proto_into<K: DeserializeOwned + 'static>(
    frame: &[u8],
    message: ProtoMessage,
    options: DecodeOptions,
    spare: Option<K>,
) -> Result<Event<K>, EventError> {
    let (event, envelope) = match open_event(frame, message)? {
        Opened::Object { event, envelope } => (event, envelope),
        Opened::Other(other) => return Ok(other),
    };
    let types = Some((envelope.api_version, envelope.kind));
    let decoded: Result<K, DecodeError> = decode_typed(envelope.object, message, types, options, spare);
    let decoded = decoded.map_err(|error| EventError::Object { event: event.to_owned(), error })?;
    Ok(match event {
        "ADDED" => Event::Added(decoded),
        "MODIFIED" => Event::Modified(decoded),
        _ => Event::Deleted(decoded),
    })
}

/// An event whose object has not been looked into.
pub(super) enum Opened<'a, K> {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    Object { event: &'a str, envelope: ProtoEnvelope<'a> },
    /// One that has no object.
    Other(Event<K>),
}

/// Opens a frame; an error if the object is not of the kind that was asked for.
pub(super) fn open_event<K>(frame: &[u8], message: ProtoMessage) -> Result<Opened<'_, K>, EventError> {
    let not_an_event = |why: String| EventError::NotAnEvent { why };
    let (event, object) = open(frame).map_err(|error| not_an_event(error.to_string()))?;
    match event {
        "ADDED" | "MODIFIED" | "DELETED" => {
            let wrong = |error| EventError::Object { event: event.to_owned(), error };
            let envelope = ProtoEnvelope::read(object).map_err(wrong)?;
            if !message.is(envelope.api_version, envelope.kind) {
                return Err(wrong(other_kind(&envelope, message)));
            }
            Ok(Opened::Object { event, envelope })
        }
        "BOOKMARK" => bookmark(object).map(Opened::Other).map_err(|error| not_an_event(error.why)),
        "ERROR" => {
            let status = status(object).map_err(|error| not_an_event(error.why))?;
            Ok(Opened::Other(Event::Error(status)))
        }
        other => Ok(Opened::Other(Event::Unknown(other.to_owned()))),
    }
}

/// The type of an event and its object, as they stand in a frame; none if the frame is not a whole event.
pub fn split_event_proto(frame: &[u8]) -> Option<(&str, &[u8])> {
    let (event, object) = open(frame).ok()?;
    Some((event, ProtoEnvelope::read(object).ok()?.object))
}

/// The type of an event and the envelope of its object.
fn open(frame: &[u8]) -> Result<(&str, &[u8]), ProtoError> {
    let (mut event, mut object): (&str, Option<&[u8]>) = ("", None);
    let mut reader = Reader::new(frame);
    while let Some((tag, raw)) = reader.field()? {
        match tag.number() {
            1 => event = raw.text_of(tag, "type")?,
            2 => object = Some(super::special::embedded(raw.bytes_of(tag, "object")?)?),
            _ => {}
        }
    }
    match object {
        _ if event.is_empty() => Err(Cause::Missing("type").into()),
        Some(object) => Ok((event, object)),
        None => Err(Cause::Missing("object").into()),
    }
}

fn bookmark<K>(object: &[u8]) -> Result<Event<K>, DecodeError> {
    let envelope = ProtoEnvelope::read(object)?;
    let metadata = ProtoMetadata::of(envelope.object)
        .filter(|metadata| !metadata.resource_version().is_empty())
        .ok_or_else(|| DecodeError::new(None, "a bookmark without a version"))?;
    Ok(Event::Bookmark {
        resource_version: metadata.resource_version().to_owned(),
        initial_events_end: metadata.annotations().any(|entry| entry == (INITIAL_EVENTS_END, "true")),
    })
}

fn status(object: &[u8]) -> Result<WatchStatus, DecodeError> {
    let envelope = ProtoEnvelope::read(object)?;
    let message = ProtoMessage::of("", "v1", "Status")
        .filter(|message| message.is(envelope.api_version, envelope.kind))
        .ok_or_else(|| DecodeError::new(None, "an error that is no status"))?;
    decode_typed(envelope.object, message, None, DecodeOptions::default(), None)
}

/// An object that is not of the kind that was asked for. Its bytes would mean something else.
pub(super) fn other_kind(envelope: &ProtoEnvelope<'_>, wanted: ProtoMessage) -> DecodeError {
    let ProtoEnvelope { api_version, kind, object } = envelope;
    DecodeError::new(
        peek_key_proto(object).map(Box::new),
        format!("it is \"{kind}\" of \"{api_version}\", not {} of {}", wanted.kind(), wanted.api_version()),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::proto::wire::put_bytes;

    fn frame(event: &str, api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
        let mut raw = Vec::new();
        put_bytes(1, &ProtoEnvelope { api_version, kind, object }.to_bytes(), &mut raw);
        let mut frame = Vec::new();
        put_bytes(1, event.as_bytes(), &mut frame);
        put_bytes(2, &raw, &mut frame);
        frame
    }

    fn decode(frame: &[u8]) -> Result<Event<Value>, EventError> {
        let message = ProtoMessage::of("", "v1", "ConfigMap").unwrap();
        decode_event_proto(frame, message, DecodeOptions::default())
    }

    /// `metadata` with a field.
    fn metadata(number: u32, value: &[u8]) -> Vec<u8> {
        let (mut inner, mut outer) = (Vec::new(), Vec::new());
        put_bytes(number, value, &mut inner);
        put_bytes(1, &inner, &mut outer);
        outer
    }

    #[test]
    fn every_type_of_event_is_decoded() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        for (kind, expected) in [
            ("ADDED", Event::Added(object.clone())),
            ("MODIFIED", Event::Modified(object.clone())),
            ("DELETED", Event::Deleted(object)),
            ("NEWS", Event::Unknown("NEWS".to_owned())),
        ] {
            assert_eq!(decode(&frame(kind, "v1", "ConfigMap", &metadata(1, b"a"))).unwrap(), expected);
        }
    }

    #[test]
    fn bookmarks_say_their_version_and_the_end_of_the_initial_events() {
        let bookmark = |end| Event::Bookmark { resource_version: "5".to_owned(), initial_events_end: end };
        let plain = metadata(6, b"5");
        assert_eq!(decode(&frame("BOOKMARK", "v1", "ConfigMap", &plain)).unwrap(), bookmark(false));
        for (value, end) in [(&b"true"[..], true), (b"no", false)] {
            let (mut entry, mut inner, mut object) = (Vec::new(), Vec::new(), Vec::new());
            put_bytes(1, INITIAL_EVENTS_END.as_bytes(), &mut entry);
            put_bytes(2, value, &mut entry);
            put_bytes(6, b"5", &mut inner);
            put_bytes(12, &entry, &mut inner);
            put_bytes(1, &inner, &mut object);
            assert_eq!(decode(&frame("BOOKMARK", "v1", "ConfigMap", &object)).unwrap(), bookmark(end));
        }
        let nothing = decode(&frame("BOOKMARK", "v1", "ConfigMap", b""));
        assert!(matches!(nothing, Err(EventError::NotAnEvent { .. })));
    }

    #[test]
    fn errors_carry_the_servers_status() {
        // message "too old", reason "Expired", retryAfterSeconds 3, code 410
        let status = b"\x1a\x07too old\x22\x07Expired\x2a\x02\x28\x03\x30\x9a\x03";
        let Event::Error(status) = decode(&frame("ERROR", "v1", "Status", status)).unwrap() else { panic!() };
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
        assert_eq!((status.message.as_str(), status.retry_after_seconds), ("too old", Some(3)));
        assert!(decode(&frame("ERROR", "v1", "Pod", b"")).is_err());
    }

    #[test]
    fn an_object_of_another_kind_is_told_from_a_broken_frame() {
        let error = decode(&frame("ADDED", "v1", "Secret", &metadata(1, b"a"))).unwrap_err();
        assert_eq!(error.key().map(|key| key.name.as_str()), Some("a"));
        assert!(error.to_string().contains("it is \"Secret\" of \"v1\", not ConfigMap of v1"), "{error}");
        assert!(matches!(decode(&frame("ADDED", "", "", b"")), Err(EventError::Object { .. })));
        let whole = frame("ADDED", "v1", "ConfigMap", b"");
        for broken in
            [&b""[..], b"\x0a\x05ADDED", b"\x12\x02\x0a\x00", &whole[..whole.len() - 1], b"\xff\xff"]
        {
            assert!(matches!(decode(broken), Err(EventError::NotAnEvent { .. })), "{broken:x?}");
        }
    }
}
