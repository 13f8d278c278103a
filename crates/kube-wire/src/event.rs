//! One watch event from its frame.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use crate::json::{self, Decoder, Members};
use crate::members::split_event;
use crate::meta::{ObjectKey, peek_key};
use crate::object::{DecodeError, DecodeOptions, text};
use crate::value::Error;

/// What a watch says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<K> {
    /// The object is new to this watch.
    Added(K),
    /// The object has changed.
    Modified(K),
    /// The object is gone; this is its last state.
    Deleted(K),
    /// Everything up to a version has been sent.
    Bookmark {
        /// The version.
        resource_version: String,
        /// The objects that were there when the watch began have all been sent.
        initial_events_end: bool,
    },
    /// The server ends the watch with an error.
    Error(WatchStatus),
    /// A type of event that this version does not know.
    Unknown(String),
}

/// The error of a watch, as the server says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchStatus {
    /// The HTTP code it would have been: 410, 429, 500, …; 0 if the server sent none.
    pub code: u16,
    /// `Expired`, `TooManyRequests`, …
    pub reason: String,
    /// For people.
    pub message: String,
    /// How long the server asks to wait, in seconds.
    pub retry_after_seconds: Option<u64>,
}

impl<'de> Deserialize<'de> for WatchStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An error is not the place to be strict: whatever is readable of it is taken.
        let raw = serde_json::Value::deserialize(deserializer)?;
        let text =
            |field: &str| raw.get(field).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        let number = |pointer: &str| raw.pointer(pointer).and_then(serde_json::Value::as_u64);
        Ok(Self {
            code: number("/code").and_then(|code| u16::try_from(code).ok()).unwrap_or_default(),
            reason: text("reason"),
            message: text("message"),
            retry_after_seconds: number("/details/retryAfterSeconds"),
        })
    }
}

/// The annotation of the bookmark behind the initial events.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A frame that is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The event is whole, but its object is not what its type says.
    #[error("a {event} event: {error}")]
    Object {
        /// `ADDED`, `MODIFIED` or `DELETED`.
        event: String,
        /// Which object, and why.
        error: DecodeError,
    },
    /// The frame is not JSON or not an event.
    #[error("a watch frame is not an event: {why}")]
    NotAnEvent {
        /// What is wrong.
        why: String,
    },
}

impl EventError {
    /// The object that could not be decoded, if that much is known.
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Object { error, .. } => error.key.as_deref(),
            Self::NotAnEvent { .. } => None,
        }
    }
}

/// Decodes one frame of a watch.
///
/// Servers send the type first, and then the object is decoded straight into `K`. Should it come first, it is
/// decoded from its text once the type is known.
pub fn decode_event<K: DeserializeOwned + 'static>(
    frame: &[u8],
    options: DecodeOptions,
) -> Result<Event<K>, EventError> {
    let text = text(frame).map_err(|why| not_text(frame, why))?;
    let decoded = json::all_of(text, |json| json.members(|members| read_event(members, options)));
    decoded.unwrap_or_else(|error| Err(explain(text, &error)))
}

/// What is wrong with a frame that is not text: only its object, if it is about one.
fn not_text(frame: &[u8], why: String) -> EventError {
    match split_event(frame) {
        Some((event, object)) if is_about_object(event) => EventError::Object {
            event: event.to_owned(),
            error: DecodeError::new(peek_key(object).map(Box::new), why),
        },
        _ => EventError::NotAnEvent { why },
    }
}

/// Finds out whether the frame or only its object is at fault.
fn explain(frame: &str, error: &Error) -> EventError {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(rename = "type")]
        event: String,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    match serde_json::from_str::<Envelope<'_>>(frame) {
        Ok(Envelope { event, object }) if is_about_object(&event) => EventError::Object {
            event,
            error: DecodeError::new(peek_key(object.get().as_bytes()).map(Box::new), error.to_string()),
        },
        _ => EventError::NotAnEvent { why: error.to_string() },
    }
}

fn is_about_object(event: &str) -> bool {
    matches!(event, "ADDED" | "MODIFIED" | "DELETED")
}

/// Reads what is in an event.
fn read_event<K: DeserializeOwned + 'static>(
    members: &mut Members<'_, '_>,
    options: DecodeOptions,
) -> Result<Result<Event<K>, EventError>, Error> {
    let mut kind: Option<String> = None;
    let mut early = None;
    let mut event = None;
    while let Some(name) = members.name()? {
        match (&*name, &kind) {
            ("type", _) => kind = Some(members.value()?.value()?),
            ("object", Some(kind)) => event = Some(read_object(members.value()?, kind, options)?),
            ("object", None) => early = Some(members.raw_value()?),
            _ => members.pass()?,
        }
    }
    let Some(kind) = kind else { return Err(de::Error::missing_field("type")) };
    match (event, early) {
        (Some(event), _) => Ok(Ok(event)),
        (None, Some(object)) => Ok(decode_late(kind, object, options)),
        (None, None) => Err(de::Error::missing_field("object")),
    }
}

/// Decodes the object of an event whose type is known.
fn read_object<K: DeserializeOwned + 'static>(
    json: &mut Decoder<'_>,
    kind: &str,
    options: DecodeOptions,
) -> Result<Event<K>, Error> {
    Ok(match kind {
        "ADDED" => Event::Added(json.object(options)?),
        "MODIFIED" => Event::Modified(json.object(options)?),
        "DELETED" => Event::Deleted(json.object(options)?),
        "BOOKMARK" => json.value::<Bookmark>()?.into_event(),
        "ERROR" => Event::Error(json.value()?),
        other => {
            json.pass_value()?;
            Event::Unknown(other.to_owned())
        }
    })
}

/// Decodes an object that came before its event's type.
fn decode_late<K: DeserializeOwned + 'static>(
    kind: String,
    object: &str,
    options: DecodeOptions,
) -> Result<Event<K>, EventError> {
    json::all_of(object, |json| read_object(json, &kind, options)).map_err(|error| {
        let why = error.to_string();
        if is_about_object(&kind) {
            let key = peek_key(object.as_bytes()).map(Box::new);
            EventError::Object { event: kind, error: DecodeError::new(key, why) }
        } else {
            EventError::NotAnEvent { why }
        }
    })
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
    #[serde(default)]
    annotations: Option<BookmarkAnnotations>,
}

#[derive(Deserialize)]
struct BookmarkAnnotations {
    // INITIAL_EVENTS_END, which an attribute cannot name.
    #[serde(rename = "k8s.io/initial-events-end", default)]
    initial_events_end: Option<String>,
}

impl Bookmark {
    fn into_event<K>(self) -> Event<K> {
        let end = self.metadata.annotations.and_then(|annotations| annotations.initial_events_end);
        Event::Bookmark {
            resource_version: self.metadata.resource_version,
            initial_events_end: end.as_deref() == Some("true"),
        }
    }
}

#[cfg(test)]
mod tests {
    use kube_core::DynamicObject;
    use serde_json::{Value, json};

    use super::*;

    fn event(text: &str) -> Result<Event<Value>, EventError> {
        decode_event(text.as_bytes(), DecodeOptions::default())
    }

    #[test]
    fn every_type_of_event_is_decoded_in_either_order() {
        let object = json!({"metadata": {"name": "a"}});
        for (kind, expected) in [
            ("ADDED", Event::Added(object.clone())),
            ("MODIFIED", Event::Modified(object.clone())),
            ("DELETED", Event::Deleted(object)),
            ("NEWS", Event::Unknown("NEWS".to_owned())),
        ] {
            let object = r#"{"metadata":{"name":"a","managedFields":[{}]}}"#;
            assert_eq!(event(&format!(r#"{{"type":"{kind}","object":{object}}}"#)).unwrap(), expected);
            assert_eq!(event(&format!(r#"{{"object":{object},"type":"{kind}"}}"#)).unwrap(), expected);
        }
    }

    #[test]
    fn objects_of_any_kind_have_no_managed_fields_in_either_order() {
        let object =
            r#"{"metadata":{"name":"a","managedFields":[{}],"uid":"u"},"spec":{"managedFields":[1]}}"#;
        for frame in [
            format!(r#"{{"type":"ADDED","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"ADDED"}}"#),
        ] {
            let decoded = decode_event::<Box<DynamicObject>>(frame.as_bytes(), DecodeOptions::default());
            let Ok(Event::Added(object)) = decoded else { panic!("{decoded:?}") };
            assert_eq!(
                (object.metadata.name.as_deref(), object.metadata.uid.as_deref()),
                (Some("a"), Some("u"))
            );
            assert_eq!(object.metadata.managed_fields, None);
            assert_eq!(object.data, json!({"spec": {"managedFields": [1]}}));
        }
    }

    #[test]
    fn text_that_is_none_is_the_trouble_of_one_object() {
        for rest in [&b"},\"data\":\"\xff\""[..], b",\"managedFields\":[\"\xff\"]}"] {
            let object = [b"{\"metadata\":{\"name\":\"a\"", rest, b"}"].concat();
            let frame = [b"{\"type\":\"ADDED\",\"object\":", &object[..], b"}"].concat();
            let error = decode_event::<Value>(&frame, DecodeOptions::default()).unwrap_err();
            assert!(matches!(&error, EventError::Object { event, .. } if event == "ADDED"), "{error}");
            assert!(error.to_string().contains("UTF-8"), "{error}");
            assert_eq!(error.key().map(|key| key.name.as_str()), Some("a"), "and it is named");
        }
        let error = decode_event::<Value>(b"{\"type\":\"\xff\"}", DecodeOptions::default()).unwrap_err();
        assert!(matches!(error, EventError::NotAnEvent { .. }), "{error}");
    }

    #[test]
    fn bookmarks_say_their_version_and_the_end_of_the_initial_events() {
        let plain = r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"5","annotations":{"x":"y"}}}}"#;
        let bookmark = |end| Event::Bookmark { resource_version: "5".to_owned(), initial_events_end: end };
        assert_eq!(event(plain).unwrap(), bookmark(false));
        assert_eq!(
            event(&plain.replace(r#""x":"y""#, r#""k8s.io/initial-events-end":"true""#)).unwrap(),
            bookmark(true)
        );
        assert_eq!(
            event(&plain.replace(r#""x":"y""#, r#""k8s.io/initial-events-end":"no""#)).unwrap(),
            bookmark(false)
        );
    }

    #[test]
    fn errors_carry_the_servers_status() {
        let text = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;
        let Event::Error(status) = event(text).unwrap() else { panic!() };
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
        let odd = r#"{"type":"ERROR","object":{"code":99999999,"reason":null,"message":7,"details":{"retryAfterSeconds":3}}}"#;
        let Event::Error(status) = event(odd).unwrap() else { panic!() };
        assert_eq!((status.code, status.retry_after_seconds), (0, Some(3)));
    }

    #[test]
    fn a_bookmark_that_cannot_be_read_is_no_object() {
        for text in [r#"{"type":"BOOKMARK","object":{"metadata":{}}}"#, r#"{"object":{},"type":"BOOKMARK"}"#]
        {
            assert!(matches!(event(text), Err(EventError::NotAnEvent { .. })), "{text}");
        }
    }

    #[test]
    fn an_object_of_another_type_is_told_from_a_broken_frame() {
        let text = br#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"b"},"spec":"x"}}"#;
        #[derive(Deserialize, Debug)]
        struct Typed {
            #[expect(dead_code)]
            spec: u32,
        }
        let error = decode_event::<Typed>(text, DecodeOptions::default()).unwrap_err();
        assert_eq!(error.key().map(|key| key.name.as_str()), Some("a"));
        for broken in [
            "",
            "{",
            "[]",
            r#"{"type":"ADDED"}"#,
            r#"{"object":{}}"#,
            r#"{"type":"ADDED","object":{}} x"#,
            "\u{0}garbage",
        ] {
            let error = event(broken).unwrap_err();
            assert!(matches!(error, EventError::NotAnEvent { .. }), "{broken}: {error}");
        }
    }
}
