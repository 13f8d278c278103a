//! From the bytes of a Kubernetes API server to objects, without I/O.
//!
//! A watch is a stream of frames, a list is a document with many items. Both are cut into pieces while the
//! bytes arrive ([`WatchFrames`], [`ListItems`]), so that nothing but the piece at hand is in memory, and each
//! piece is decoded by itself ([`decode_object`], [`decode_event`]): on the same task or on another one.
//!
//! ```
//! use kube_wire::{DecodeOptions, Event, Limits, Piece, WatchFrames, decode_event};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct ConfigMap {
//!     data: std::collections::BTreeMap<String, String>,
//! }
//!
//! let mut frames = WatchFrames::new(Limits::default());
//! // Bytes come in pieces of any size.
//! frames.push(br#"{"type":"ADDED","object":{"metadata":{"name":"a"},"da"#);
//! assert!(frames.next_frame()?.is_none());
//! frames.push(b"ta\":{\"k\":\"v\"}}}\n");
//! let frame = frames.next_frame()?.and_then(Piece::whole).expect("a whole frame");
//! let Event::Added(object) = decode_event::<ConfigMap>(&frame, DecodeOptions::default())? else { panic!() };
//! assert_eq!(object.data["k"], "v");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Built-in kinds also come as protobuf, which is a third of the work. An [`Encoding`] has the same steps for both, and
//! gives the same objects:
//!
//! ```
//! use kube_wire::{DecodeOptions, Encoding, ProtoMessage, encode_object_proto};
//! use serde_json::{Value, json};
//!
//! let kind = ProtoMessage::of("", "v1", "ConfigMap").expect("a built-in kind");
//! let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
//! let protobuf = encode_object_proto(&object, kind)?;
//! for (encoding, bytes) in [(Encoding::Json, object.to_string().into_bytes()), (Encoding::Protobuf(kind), protobuf)] {
//!     assert_eq!(encoding.decode_object::<Value>(&bytes, DecodeOptions::default())?, object);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Input is hostile until it is decoded: every piece, every response and every nesting has a [limit](Limits), and
//! what breaks one is an error value. One object that is too large is passed over, and named; what comes behind it is not
//! lost.

// What tests beside this crate call it, and some of them are used here too.
#[cfg(test)]
extern crate self as kube_wire;

#[macro_use]
mod codec;
mod built_in;
mod dynamic;
mod encoding;
mod event;
mod glimpse;
mod items;
mod json;
mod limits;
mod members;
mod meta;
mod object;
mod piece;
mod proto;
mod redact;
mod scan;
mod value;
mod watch;

pub use codec::{BuiltIn, Codec};
pub use encoding::{Encoding, Frames, Items};
pub use event::{Event, EventError, WatchStatus, decode_event};
pub use items::{ListItems, ListMeta};
pub use limits::{Limits, WireError};
pub use members::{split_event, strip_managed_fields};
pub use meta::{ObjectKey, peek_key};
pub use object::{DecodeError, DecodeOptions, decode_object};
pub use piece::{Piece, TooLarge};
pub use proto::{
    EncodeError, ProtoEnvelope, ProtoFrames, ProtoListItems, ProtoListWriter, ProtoMessage, ProtoMetadata,
    can_be_remade, check_object_proto, decode_event_proto, decode_object_proto, encode_event_proto,
    encode_known_proto, encode_object_proto, open_event_proto, peek_key_proto, split_event_proto,
    strip_managed_fields_proto,
};
pub use watch::WatchFrames;
