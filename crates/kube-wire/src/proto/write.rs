//! What a server sends: lists and watch events around the messages of objects.

use serde_json::{Value, json};

use super::encode::{EncodeError, encode_object_proto};
use super::envelope::ProtoEnvelope;
use super::table::ProtoMessage;
use super::wire::{field_len, put_bytes, put_head};

/// The number of a list's items, which is the same in all lists.
const ITEMS: u32 = 2;

/// The numbers of a watch event's fields, and that of the bytes in its object.
const EVENT_TYPE: u32 = 1;
const EVENT_OBJECT: u32 = 2;
const OBJECT_RAW: u32 = 1;

/// One frame of a watch: four bytes with its length, the type of the event, and the object in its envelope.
///
/// ```
/// use kube_wire::{ProtoEnvelope, ProtoFrames, encode_event_proto, split_event_proto};
///
/// let object = ProtoEnvelope { api_version: "v1", kind: "Pod", object: b"\x0a\x03\x0a\x01a" };
/// let mut frames = ProtoFrames::new(kube_wire::Limits::default());
/// frames.push(&encode_event_proto("ADDED", &object))?;
/// let frame = frames.next_frame()?.expect("a whole frame");
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
/// use kube_wire::{Encoding, Limits, ProtoListWriter, ProtoMessage};
/// use serde_json::json;
///
/// let items: [&[u8]; 2] = [b"\x0a\x03\x0a\x01a", b"\x0a\x03\x0a\x01b"];
/// let kind = ProtoMessage::of("", "v1", "ConfigMapList").expect("a built-in kind");
/// let list = ProtoListWriter { api_version: "v1", kind };
/// let mut bytes = list.begin(&json!({"resourceVersion": "5"}), items.iter().map(|item| item.len()))?;
/// for item in items {
///     list.item(item, &mut bytes);
/// }
/// list.end(&mut bytes);
///
/// let mut read = Encoding::best_for("", "v1", "ConfigMap").items(Limits::default());
/// read.push(&bytes)?;
/// assert_eq!(read.next_item()?.as_deref(), Some(items[0]));
/// assert_eq!(read.next_item()?.as_deref(), Some(items[1]));
/// assert_eq!(read.finish()?.resource_version, "5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ProtoListWriter<'a> {
    /// For example `apps/v1`.
    pub api_version: &'a str,
    /// For example that of `DeploymentList`.
    pub kind: ProtoMessage,
}

impl ProtoListWriter<'_> {
    /// Everything before the first item, from what the list says about itself and the lengths of its items.
    pub fn begin(
        &self,
        metadata: &Value,
        lengths: impl Iterator<Item = usize>,
    ) -> Result<Vec<u8>, EncodeError> {
        let metadata = encode_object_proto(&json!({"metadata": metadata}), self.kind)?;
        let items: usize = lengths.map(|length| field_len(ITEMS, length)).sum();
        let mut out = Vec::with_capacity(metadata.len() + 128);
        self.envelope().write_head(metadata.len() + items, &mut out);
        out.extend_from_slice(&metadata);
        Ok(out)
    }

    /// Writes an item: the message of an object.
    pub fn item(&self, item: &[u8], out: &mut Vec<u8>) {
        put_bytes(ITEMS, item, out);
    }

    /// Writes what comes after the last item.
    pub fn end(&self, out: &mut Vec<u8>) {
        ProtoEnvelope::write_tail(out);
    }

    fn envelope(&self) -> ProtoEnvelope<'_> {
        ProtoEnvelope { api_version: self.api_version, kind: self.kind.kind(), object: &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_pieces_is_the_list_at_once() {
        let kind = ProtoMessage::of("", "v1", "ConfigMapList").unwrap();
        let item = ProtoMessage::of("", "v1", "ConfigMap").unwrap();
        let list = ProtoListWriter { api_version: "v1", kind };
        for count in [0, 1, 200] {
            let objects: Vec<Value> = (0..count)
                .map(|at| json!({"metadata": {"name": "a".repeat(at)}, "data": {"k": "v"}}))
                .collect();
            let items: Vec<Vec<u8>> =
                objects.iter().map(|object| encode_object_proto(object, item).unwrap()).collect();
            let metadata = json!({"resourceVersion": "5", "remainingItemCount": 3});
            let mut bytes = list.begin(&metadata, items.iter().map(Vec::len)).unwrap();
            items.iter().for_each(|item| list.item(item, &mut bytes));
            list.end(&mut bytes);
            let whole = encode_object_proto(&json!({"metadata": metadata, "items": objects}), kind).unwrap();
            let whole = ProtoEnvelope { api_version: "v1", kind: "ConfigMapList", object: &whole };
            assert!(bytes == whole.to_bytes(), "{count}");
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
