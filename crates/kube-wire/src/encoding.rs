//! JSON or protobuf: the same steps for both, so that whoever asks a server can take what it answers.

use serde::de::DeserializeOwned;

use crate::event::{Event, EventError, decode_event};
use crate::items::{ListItems, ListMeta};
use crate::limits::{Limits, WireError};
use crate::members::{split_event, strip_managed_fields};
use crate::meta::{ObjectKey, peek_key};
use crate::object::{DecodeError, DecodeOptions, decode_object};
use crate::piece::Piece;
use crate::proto::{
    ProtoFrames, ProtoListItems, ProtoMessage, ProtoMetadata, check_object_proto, decode_event_proto_into,
    decode_typed, open_event_proto, peek_key_proto, split_event_proto, strip_managed_fields_proto,
};
use crate::watch::WatchFrames;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// How the objects of one kind are written.
///
/// Ask for the [best](Self::best_for) encoding of a kind with [`accept`](Self::accept), and go on with the one that the
/// [answer](Self::of_answer) has: servers may answer in JSON whoever takes both.
///
/// ```
/// use kube_wire::Encoding;
///
/// let encoding = Encoding::best_for("apps", "v1", "Deployment");
/// assert_eq!(encoding.accept(), "application/vnd.kubernetes.protobuf, application/json");
/// assert_eq!(encoding.of_answer("application/json"), Encoding::Json);
/// assert_eq!(encoding.of_answer("application/vnd.kubernetes.protobuf;stream=watch"), encoding);
///
/// // Custom resources are only to be had as JSON.
/// assert_eq!(Encoding::best_for("example.com", "v1", "Widget"), Encoding::Json);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Text, for every kind.
    Json,
    /// Bytes, for the built-in kind that this is about.
    Protobuf(ProtoMessage),
}

impl Encoding {
    /// Protobuf for built-in kinds, JSON for all others.
    pub fn best_for(group: &str, version: &str, kind: &str) -> Self {
        ProtoMessage::of(group, version, kind).map_or(Self::Json, Self::Protobuf)
    }

    /// What to ask for in the `Accept` header of a get, list or watch.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Protobuf(_) => "application/vnd.kubernetes.protobuf, application/json",
        }
    }

    /// What an answer with this content type is written in.
    pub fn of_answer(self, content_type: &str) -> Self {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        match self {
            Self::Protobuf(_) if media_type.eq_ignore_ascii_case(PROTOBUF) => self,
            // What is neither is JSON at best; if not, the error says so.
            _ => Self::Json,
        }
    }

    /// Cuts a watch into frames.
    pub fn frames(self, limits: Limits) -> Frames {
        match self {
            Self::Json => Frames::Json(WatchFrames::new(limits)),
            Self::Protobuf(_) => Frames::Protobuf(ProtoFrames::new(limits)),
        }
    }

    /// Cuts a list into items.
    pub fn items(self, limits: Limits) -> Items {
        match self {
            Self::Json => Items::Json(ListItems::new(limits)),
            Self::Protobuf(message) => Items::Protobuf(ProtoListItems::new(limits, message)),
        }
    }

    /// Decodes one frame of a watch.
    pub fn decode_event<K: DeserializeOwned + 'static>(
        self,
        frame: &[u8],
        options: DecodeOptions,
    ) -> Result<Event<K>, EventError> {
        self.decode_event_into(frame, options, None)
    }

    /// The same, into the memory of a `spare` object that nobody needs any more: texts and lists that are about as long as
    /// those in it need not be allocated anew, and nothing of what it said is left. `K` may be a box around the type. Where
    /// it cannot be done, as with JSON and with types for which [`can_be_remade`](crate::can_be_remade) says no, the spare
    /// object goes.
    pub fn decode_event_into<K: DeserializeOwned + 'static>(
        self,
        frame: &[u8],
        options: DecodeOptions,
        spare: Option<K>,
    ) -> Result<Event<K>, EventError> {
        match self {
            Self::Json => {
                drop(spare);
                decode_event(frame, options)
            }
            Self::Protobuf(message) => decode_event_proto_into(frame, message, options, spare),
        }
    }

    /// The type of an event and its object, without decoding it; none if the frame is not a whole event.
    pub fn split_event(self, frame: &[u8]) -> Option<(&str, &[u8])> {
        match self {
            Self::Json => split_event(frame),
            Self::Protobuf(_) => split_event_proto(frame),
        }
    }

    /// Decodes one item of a list, or what was kept of one.
    pub fn decode_object<K: DeserializeOwned + 'static>(
        self,
        object: &[u8],
        options: DecodeOptions,
    ) -> Result<K, DecodeError> {
        self.decode_object_into(object, options, None)
    }

    /// The same, into the memory of a `spare` object, as [`decode_event_into`](Self::decode_event_into) does.
    pub fn decode_object_into<K: DeserializeOwned + 'static>(
        self,
        object: &[u8],
        options: DecodeOptions,
        spare: Option<K>,
    ) -> Result<K, DecodeError> {
        match self {
            Self::Json => {
                drop(spare);
                decode_object(object, options)
            }
            Self::Protobuf(message) => decode_typed(object, message, None, options, spare),
        }
    }

    /// Opens one frame of a watch, without looking into its object. None if that cannot be: whether JSON is right is
    /// known when it is decoded.
    pub fn open_event(self, frame: &[u8]) -> Option<Result<Event<&[u8]>, EventError>> {
        match self {
            Self::Json => None,
            Self::Protobuf(message) => Some(open_event_proto(frame, message)),
        }
    }

    /// Whether items can be known to be right without decoding them, for a type that has all that the kind has.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Protobuf(message) if message.is_plain())
    }

    /// What an item is, if it can be known to be right without decoding it; see
    /// [`check_object_proto`](crate::check_object_proto). None if it has to be decoded.
    pub fn check_object(
        self,
        object: &[u8],
        options: DecodeOptions,
    ) -> Result<Option<ProtoMetadata<'_>>, DecodeError> {
        let Self::Protobuf(message) = self else { return Ok(None) };
        let right = check_object_proto(object, message, options)?;
        Ok(ProtoMetadata::of(object).filter(|_| right))
    }

    /// Reads the key of an item without decoding the rest.
    pub fn peek_key(self, object: &[u8]) -> Option<ObjectKey> {
        match self {
            Self::Json => peek_key(object),
            Self::Protobuf(_) => peek_key_proto(object),
        }
    }

    /// The same item without `metadata.managedFields`, to be kept as bytes.
    pub fn strip_managed_fields(self, object: &[u8]) -> Result<Vec<u8>, DecodeError> {
        match self {
            Self::Json => Ok(strip_managed_fields(object)),
            Self::Protobuf(_) => strip_managed_fields_proto(object),
        }
    }
}

/// The bytes of a watch, cut into frames.
///
/// Bytes go in with [`push`](Self::push), in pieces of any size; frames come out with
/// [`next_frame`](Self::next_frame) until there is none.
#[derive(Debug)]
pub enum Frames {
    /// One document a line.
    Json(WatchFrames),
    /// A length before each frame.
    Protobuf(ProtoFrames),
}

impl Frames {
    /// Takes in bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Json(frames) => frames.push(bytes),
            Self::Protobuf(frames) => frames.push(bytes),
        }
    }

    /// The next whole frame; none if more bytes are needed. After an error the stream is of no use any more.
    pub fn next_frame(&mut self) -> Result<Option<Piece>, WireError> {
        match self {
            Self::Json(frames) => frames.next_frame(),
            Self::Protobuf(frames) => frames.next_frame(),
        }
    }

    /// How many bytes wait for the rest of their frame.
    pub fn pending(&self) -> usize {
        match self {
            Self::Json(frames) => frames.pending(),
            Self::Protobuf(frames) => frames.pending(),
        }
    }
}

/// The bytes of a list, cut into items while they arrive.
///
/// Bytes go in with [`push`](Self::push); items come out with [`next_item`](Self::next_item) until there is none;
/// what the list says about itself comes at the end, from [`finish`](Self::finish).
#[derive(Debug)]
pub enum Items {
    /// A document with many items.
    Json(ListItems),
    /// A message with many items in an envelope.
    Protobuf(ProtoListItems),
}

impl Items {
    /// Takes in bytes. Fails if there have been more than a list may have.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        match self {
            Self::Json(items) => items.push(bytes),
            Self::Protobuf(items) => items.push(bytes),
        }
    }

    /// The next whole item; none if more bytes are needed or the list is at its end.
    pub fn next_item(&mut self) -> Result<Option<Piece>, WireError> {
        match self {
            Self::Json(items) => items.next_item(),
            Self::Protobuf(items) => items.next_item(),
        }
    }

    /// What the list said about itself; an error if it is not whole.
    pub fn finish(self) -> Result<ListMeta, WireError> {
        match self {
            Self::Json(items) => items.finish(),
            Self::Protobuf(items) => items.finish(),
        }
    }
}
