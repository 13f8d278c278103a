//! What a server sends: lists and watch events around the messages of objects.

use serde_json::{Value, json};

use super::encode::{EncodeError, encode_object_proto};
use super::envelope::ProtoEnvelope;
use super::table::{METADATA, ProtoMessage, Table};
use super::wire::{field_len, put_bytes, put_head};

/// The numbers of a watch event's fields, and that of the bytes in its object.
pub(super) const EVENT_TYPE: u32 = 1;
pub(super) const EVENT_OBJECT: u32 = 2;
pub(super) const OBJECT_RAW: u32 = 1;

/// One frame of a watch: four bytes with its length, the type of the event, and the object in its envelope.
///
/// ```
/// use kube_wire::{Piece, ProtoEnvelope, ProtoFrames, encode_event_proto, split_event_proto};
///
/// let object = ProtoEnvelope { api_version: "v1", kind: "Pod", object: b"\x0a\x03\x0a\x01a" };
/// let mut frames = ProtoFrames::new(kube_wire::Limits::default());
/// frames.push(&encode_event_proto("ADDED", &object));
/// let frame = frames.next_frame()?.and_then(Piece::whole).expect("a whole frame");
/// assert_eq!(split_event_proto(&frame), Some(("ADDED", object.object)));
/// # Ok::<(), kube_wire::WireError>(())
/// ```
pub fn encode_event_proto(event: &str, object: &ProtoEnvelope<'_>) -> Vec<u8> {
    let raw = object.len();
    let object_len = field_len(OBJECT_RAW, raw);
    let len = field_len(EVENT_TYPE, event.len()) + field_len(EVENT_OBJECT, object_len);
    let mut out = Vec::with_capacity(len + 4);
    // A frame is bounded by the memory it is made in; a reader refuses it long before it gets here.
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes());
    put_bytes(EVENT_TYPE, event.as_bytes(), &mut out);
    put_head(EVENT_OBJECT, object_len, &mut out);
    put_head(OBJECT_RAW, raw, &mut out);
    object.write(&mut out);
    out
}

/// Writes a list piece by piece. A list says first how long it is, so the lengths of its items must be known, but not
/// the items.
///
/// ```
/// use kube_wire::{Encoding, Limits, Piece, ProtoListWriter, ProtoMessage};
/// use serde_json::json;
///
/// let items: [&[u8]; 2] = [b"\x0a\x03\x0a\x01a", b"\x0a\x03\x0a\x01b"];
/// let kind = ProtoMessage::of("", "v1", "ConfigMapList").expect("a built-in kind");
/// let list = ProtoListWriter::new(kind, "v1", &json!({"resourceVersion": "5"}))?;
/// let mut bytes = Vec::new();
/// list.begin(items.iter().map(|item| item.len()), &mut bytes);
/// for item in items {
///     list.item(item, &mut bytes);
/// }
/// list.end(&mut bytes);
///
/// let mut read = Encoding::best_for("", "v1", "ConfigMap").items(Limits::default());
/// read.push(&bytes)?;
/// for item in items {
///     assert_eq!(read.next_item()?.and_then(Piece::whole).as_deref(), Some(item));
/// }
/// assert_eq!(read.next_item()?, None);
/// assert_eq!(read.finish()?.resource_version, "5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProtoListWriter {
    api_version: String,
    kind: ProtoMessage,
    /// The number of the items.
    items: u32,
    /// What the list says about itself, as it stands in the message.
    metadata: Vec<u8>,
    /// It stands behind the items; before them in almost all lists.
    metadata_last: bool,
}

impl ProtoListWriter {
    /// A list of this kind, `ConfigMapList` for example, and what it says about itself.
    pub fn new(kind: ProtoMessage, api_version: &str, metadata: &Value) -> Result<Self, EncodeError> {
        let fields = Table::get().fields(kind.message());
        let number = |name: &str| {
            let no_list =
                || EncodeError { path: name.to_owned(), why: "not a field of this kind".to_owned() };
            fields.iter().find(|field| field.name == name).map(|field| field.tag.number()).ok_or_else(no_list)
        };
        let (items, own) = (number("items")?, number(METADATA)?);
        Ok(Self {
            api_version: api_version.to_owned(),
            kind,
            items,
            metadata: encode_object_proto(&json!({METADATA: metadata}), kind)?,
            metadata_last: own > items,
        })
    }

    /// Writes everything before the first item, from the lengths of all items.
    pub fn begin(&self, lengths: impl Iterator<Item = usize>, out: &mut Vec<u8>) {
        let items: usize = lengths.map(|length| field_len(self.items, length)).sum();
        let envelope = ProtoEnvelope { api_version: &self.api_version, kind: self.kind.kind(), object: &[] };
        envelope.write_head(self.metadata.len() + items, out);
        if !self.metadata_last {
            out.extend_from_slice(&self.metadata);
        }
    }

    /// Writes an item: the message of an object.
    pub fn item(&self, item: &[u8], out: &mut Vec<u8>) {
        put_bytes(self.items, item, out);
    }

    /// Writes what comes after the last item.
    pub fn end(&self, out: &mut Vec<u8>) {
        if self.metadata_last {
            out.extend_from_slice(&self.metadata);
        }
        ProtoEnvelope::write_tail(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_pieces_is_the_list_at_once() {
        let mut lists = 0;
        for kind in ProtoMessage::all() {
            let Ok(list) = ProtoListWriter::new(kind, kind.api_version(), &json!({"resourceVersion": "5"}))
            else {
                continue;
            };
            lists += 1;
            let items: Vec<Vec<u8>> = [0, 1, 200].map(|length| vec![b'a'; length]).to_vec();
            let (mut bytes, mut whole) = (Vec::new(), Vec::new());
            list.begin(items.iter().map(Vec::len), &mut bytes);
            items.iter().for_each(|item| list.item(item, &mut bytes));
            list.end(&mut bytes);
            items.iter().for_each(|item| put_bytes(list.items, item, &mut whole));
            let at = if list.metadata_last { whole.len() } else { 0 };
            whole.splice(at..at, list.metadata.iter().copied());
            let whole = ProtoEnvelope { api_version: kind.api_version(), kind: kind.kind(), object: &whole };
            assert!(bytes == whole.to_bytes(), "{kind:?}");
        }
        assert!(lists > 100, "{lists}");
        let no_list = ProtoMessage::of("", "v1", "Pod").unwrap();
        assert_eq!(ProtoListWriter::new(no_list, "v1", &json!({})).unwrap_err().path, "items");
    }

    #[test]
    fn a_list_is_what_the_encoder_makes_of_it() {
        for (group, version) in [("meta.k8s.io", "v1"), ("meta.k8s.io", "v1beta1")] {
            let kind = ProtoMessage::of(group, version, "PartialObjectMetadataList").unwrap();
            let item = ProtoMessage::of(group, version, "PartialObjectMetadata").unwrap();
            let metadata = json!({"resourceVersion": "5", "remainingItemCount": 3});
            let object = json!({"metadata": {"name": "a"}});
            let whole = json!({"metadata": metadata, "items": [object, object]});
            let whole = encode_object_proto(&whole, kind).unwrap();
            let item = encode_object_proto(&object, item).unwrap();
            let list = ProtoListWriter::new(kind, kind.api_version(), &metadata).unwrap();
            let mut bytes = Vec::new();
            list.begin([item.len(), item.len()].into_iter(), &mut bytes);
            list.item(&item, &mut bytes);
            list.item(&item, &mut bytes);
            list.end(&mut bytes);
            assert_eq!(ProtoEnvelope::read(&bytes).unwrap().object, whole, "{version}");
        }
    }

    #[test]
    fn a_frame_says_how_long_it_is() {
        for size in [0, 1, 100, 127, 128, 20_000] {
            let object = vec![7; size];
            let envelope = ProtoEnvelope { api_version: "v1", kind: "Pod", object: &object };
            let frame = encode_event_proto("MODIFIED", &envelope);
            let (length, event) = frame.split_first_chunk().unwrap();
            assert_eq!(u32::from_be_bytes(*length) as usize, event.len(), "{size}");
            assert_eq!(envelope.len(), envelope.to_bytes().len(), "{size}");
            assert!(event.ends_with(&envelope.to_bytes()), "{size}");
        }
    }
}
