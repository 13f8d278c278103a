//! Kubernetes protobuf: bytes to objects and back, by one table of facts about the built-in types.
//!
//! The [table](table) says which number is which field, and a [deserializer](value) walks the bytes with it and drives
//! the `Deserialize` that types have for JSON. So whatever can be decoded from JSON can be decoded from protobuf: the types
//! of every k8s-openapi version, structs with only the fields that somebody wants, untyped values. The kinds that clusters
//! have many of take a [shorter way](typed): no table, and no names.
//!
//! The two forms differ in more than notation, and types see JSON's:
//!
//! - Protobuf has the zero value of every field that is not behind a pointer in Go; JSON leaves most of them out.
//! - Structs that are inlined in Go are messages of their own in protobuf, and flat in JSON.
//! - Times, quantities, ports that may be names, and embedded JSON are messages; in JSON they are text or numbers.

mod check;
mod encode;
mod envelope;
mod error;
mod event;
mod fields;
mod frames;
mod glimpse;
mod items;
mod meta;
mod object;
mod order;
mod runs;
mod special;
mod table;
mod time;
mod typed;
mod value;
mod wanted;
mod wire;
mod write;

pub use check::{check_object_proto, open_event_proto};
pub use encode::{EncodeError, encode_known_proto, encode_object_proto};
pub use envelope::ProtoEnvelope;
pub(crate) use error::ProtoError;
pub(crate) use event::decode_event_proto_into;
pub use event::{decode_event_proto, split_event_proto};
pub(crate) use fields::Fields;
pub use frames::ProtoFrames;
pub use items::ProtoListItems;
pub use meta::{ProtoMetadata, peek_key_proto, strip_managed_fields_proto};
pub use object::decode_object_proto;
pub(crate) use object::{Object, ObjectFields, decode_typed};
pub(crate) use runs::{Elements, Entries};
pub use table::ProtoMessage;
pub use typed::can_be_remade;
pub(crate) use value::{JsonForm, Slot};
pub use write::{ProtoListWriter, encode_event_proto};

/// How deep messages may nest. A deep CustomResourceDefinition has three messages for each level of its schema;
/// nothing else comes near.
const MAX_DEPTH: u32 = 100;
