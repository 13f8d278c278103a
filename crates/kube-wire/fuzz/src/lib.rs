//! What is done with bytes that nobody thought of. The fuzz targets call these functions, and so do the smoke tests of
//! kube-wire.
//!
//! Nothing may panic, and what can be done in two ways must come to the same.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::Pod;
use kube_core::DynamicObject;
use kube_wire::{
    DecodeOptions, Encoding, Event, Limits, Piece, ProtoEnvelope, ProtoMessage, WireError, encode_known_proto,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One object in JSON.
pub fn json_object(data: &[u8]) {
    object(Encoding::Json, data);
    same_as_serde_json::<Pod>(data, |_| true);
    // Of a type that is no text, or stands there twice, it makes no type, and leaves some of it among the data.
    same_as_serde_json::<DynamicObject>(data, |object| object.types.is_some());
    same_as_serde_json::<Value>(data, |_| true);
}

/// One object in protobuf; the first two bytes choose its kind.
pub fn proto_object(data: &[u8]) {
    let Some((choice, object_bytes)) = data.split_first_chunk::<2>() else { return };
    let kinds: Vec<ProtoMessage> = ProtoMessage::all().collect();
    let kind = kinds[usize::from(u16::from_be_bytes(*choice)) % kinds.len()];
    object(Encoding::Protobuf(kind), object_bytes);
    let _ = ProtoEnvelope::read(object_bytes);
}

/// A list in JSON; the first byte says in which pieces it comes.
pub fn json_list(data: &[u8]) {
    list(Encoding::Json, data);
}

/// A list in protobuf; the first byte says in which pieces it comes.
pub fn proto_list(data: &[u8]) {
    list(Encoding::best_for("", "v1", "Pod"), data);
}

/// A watch in JSON; the first byte says in which pieces it comes.
pub fn json_watch(data: &[u8]) {
    watch(Encoding::Json, data);
}

/// A watch in protobuf; the first byte says in which pieces it comes.
pub fn proto_watch(data: &[u8]) {
    watch(Encoding::best_for("", "v1", "Pod"), data);
}

/// Without managed fields.
fn lean() -> DecodeOptions {
    DecodeOptions::default()
}

/// With everything.
fn whole() -> DecodeOptions {
    DecodeOptions::default().keep_managed_fields(true)
}

/// Limits that bytes of a few kilobytes can break.
fn limits() -> Limits {
    let mut limits = Limits::default();
    (limits.frame_bytes, limits.item_bytes, limits.list_head_bytes) = (16 << 10, 16 << 10, 4 << 10);
    limits.list_bytes = 256 << 10;
    limits.depth = 32;
    limits
}

fn object(encoding: Encoding, bytes: &[u8]) {
    let without: Result<Value, _> = encoding.decode_object(bytes, lean());
    let with: Result<Value, _> = encoding.decode_object(bytes, whole());
    let key = encoding.peek_key(bytes);
    let stripped = encoding.strip_managed_fields(bytes);
    for error in [&without, &with].into_iter().filter_map(|decoded| decoded.as_ref().err()) {
        assert!(!error.why.is_empty(), "an error says what is wrong");
    }
    let pod: Result<Pod, _> = encoding.decode_object(bytes, lean());
    let made: Result<Pod, _> = encoding.decode_object_into(bytes, lean(), Some(used_pod()));
    assert_eq!(made, pod, "it is the same if it is made of another");
    let through: Result<Through, _> = encoding.decode_object(bytes, lean());
    assert_eq!(through.map(|Through(pod)| pod), pod, "it is the same if its type is not known");
    let checked = encoding.check_object(bytes, lean());
    if let Ok(Some(_)) = &checked {
        assert!(without.is_ok(), "what was checked can be decoded");
        assert!(pod.is_ok() || !is_pod(encoding), "by its type, too");
    }
    if !has_object_metadata(encoding) {
        return;
    }
    if let (Some(key), Ok(value)) = (&key, &with) {
        let text = |name: &str| value["metadata"][name].as_str().unwrap_or_default();
        assert_eq!(key.name, text("name"));
        assert_eq!(key.namespace, text("namespace"));
        assert_eq!(key.resource_version, text("resourceVersion"));
    }
    if let (Ok(Some(brief)), Ok(value)) = (&checked, &with) {
        let labels: serde_json::Map<String, Value> =
            brief.labels().map(|(label, value)| (label.to_owned(), value.into())).collect();
        assert_eq!(labels.len(), brief.labels().count(), "each is there once");
        let expected = value["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        assert_eq!(labels, expected, "labels are read without the rest");
    }
    if let (Ok(without), Ok(stripped)) = (&without, &stripped) {
        let again: Value = encoding.decode_object(stripped, lean()).expect("what is left can be decoded");
        assert_eq!(again, *without, "it is the same without managed fields");
    }
    if let (Encoding::Protobuf(kind), Ok(with)) = (encoding, &with)
        && let Ok(bytes) = encode_known_proto(with, kind)
    {
        let again: Value = encoding.decode_object(&bytes, whole()).expect("what was encoded can be decoded");
        // With the structs that Go always writes; from then on nothing changes.
        assert_eq!(encode_known_proto(&again, kind).as_deref(), Ok(&bytes[..]), "it is the same again");
    }
}

/// With managed fields, an object is what serde_json makes of its text, where that `is_usual`; or there is none.
fn same_as_serde_json<K>(data: &[u8], is_usual: fn(&K) -> bool)
where
    K: DeserializeOwned + PartialEq + Debug + 'static,
{
    let ours: Option<K> = Encoding::Json.decode_object(data, whole()).ok();
    let Ok(text) = str::from_utf8(data) else {
        assert_eq!(ours, None, "what is no text is no object");
        return;
    };
    // Its values have a key of their own for text that was not looked at; nobody else knows it.
    if text.contains("serde_json::private") {
        return;
    }
    let theirs: Option<K> = serde_json::from_str(text).ok();
    if theirs.as_ref().is_none_or(is_usual) {
        assert_eq!(ours, theirs, "it is what serde_json makes of it");
    } else {
        assert!(ours.is_some(), "it is an object, too");
    }
}

/// A pod that nobody needs any more, with something in many of its fields.
fn used_pod() -> Pod {
    let pod = serde_json::json!({
        "metadata": {
            "name": "used", "namespace": "a", "uid": "u", "resourceVersion": "7", "labels": {"a": "b", "c": "d"},
            "annotations": {"e": "f"}, "finalizers": ["g"], "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "w"}],
        },
        "spec": {
            "nodeName": "n", "nodeSelector": {"h": "i"}, "priority": 1,
            "containers": [
                {"name": "x", "image": "y", "args": ["z"], "env": [{"name": "k", "value": "v"}],
                 "resources": {"limits": {"cpu": "1"}}},
                {"name": "x2"},
            ],
            "volumes": [{"name": "l", "configMap": {"name": "m", "items": [{"key": "p", "path": "q"}]}}],
            "tolerations": [{"key": "r", "operator": "Exists"}],
        },
        "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    serde_json::from_value(pod).expect("a pod")
}

/// A pod of a type that nobody knows to be one: it is decoded in the way of all types.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Through(Pod);

fn is_pod(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Protobuf(kind) if (kind.api_version(), kind.kind()) == ("v1", "Pod"))
}

/// Whether the first field is the metadata of an object, which keys are read from.
fn has_object_metadata(encoding: Encoding) -> bool {
    const KINDS: [&str; 6] =
        ["ConfigMap", "CustomResourceDefinition", "Deployment", "Event", "Pod", "PartialObjectMetadata"];
    match encoding {
        Encoding::Json => true,
        Encoding::Protobuf(kind) => KINDS.contains(&kind.kind()),
    }
}

fn list(encoding: Encoding, data: &[u8]) {
    let Some((&size, bytes)) = data.split_first() else { return };
    let pieces = list_in_pieces(encoding, bytes, usize::from(size) + 1);
    let at_once = list_in_pieces(encoding, bytes, bytes.len().max(1));
    for item in at_once.0.iter().cloned().filter_map(Piece::whole) {
        object(encoding, &item);
    }
    same(&pieces, &at_once);
}

type Cut = (Vec<Piece>, Result<(), WireError>);

fn list_in_pieces(encoding: Encoding, bytes: &[u8], size: usize) -> Cut {
    let mut items = encoding.items(limits());
    let mut found = Vec::new();
    let mut cut = || {
        for piece in bytes.chunks(size) {
            items.push(piece)?;
            while let Some(item) = items.next_item()? {
                assert!(item.len() <= limits().item_bytes, "an item keeps to its limit");
                found.push(item);
            }
        }
        Ok(())
    };
    let outcome = cut();
    let outcome = outcome.and_then(|()| items.finish().map(|_| ()));
    (found, outcome)
}

fn watch(encoding: Encoding, data: &[u8]) {
    let Some((&size, bytes)) = data.split_first() else { return };
    let pieces = watch_in_pieces(encoding, bytes, usize::from(size) + 1);
    let at_once = watch_in_pieces(encoding, bytes, bytes.len().max(1));
    for frame in at_once.0.iter().cloned().filter_map(Piece::whole) {
        event(encoding, &frame);
    }
    same(&pieces, &at_once);
}

fn watch_in_pieces(encoding: Encoding, bytes: &[u8], size: usize) -> Cut {
    let mut frames = encoding.frames(limits());
    let mut found = Vec::new();
    let mut cut = || {
        for piece in bytes.chunks(size) {
            frames.push(piece);
            while let Some(frame) = frames.next_frame()? {
                assert!(frame.len() <= limits().frame_bytes, "a frame keeps to its limit");
                found.push(frame);
            }
            assert!(frames.pending() <= limits().frame_bytes + piece.len(), "so does what waits");
        }
        Ok(())
    };
    let outcome = cut();
    (found, outcome)
}

/// Cuts that went well are the same in pieces of any size. What breaks a limit may do so sooner at once.
fn same(pieces: &Cut, at_once: &Cut) {
    if at_once.1.is_ok() || pieces.1.is_ok() {
        assert_eq!(pieces, at_once, "the size of pieces does not matter");
    }
    for error in [&pieces.1, &at_once.1].into_iter().filter_map(|cut| cut.as_ref().err()) {
        assert!(!error.to_string().is_empty(), "an error says what is wrong");
    }
}

fn event(encoding: Encoding, frame: &[u8]) {
    let event = encoding.decode_event::<Value>(frame, whole());
    let _ = encoding.decode_event::<Pod>(frame, lean());
    let split = encoding.split_event(frame);
    let opened = encoding.open_event(frame);
    if let Some(Ok(Event::Added(object) | Event::Modified(object) | Event::Deleted(object))) = opened {
        assert_eq!(split.map(|(_, object)| object), Some(object), "what is opened is what is cut out");
    }
    let object = match event {
        Ok(Event::Added(object) | Event::Modified(object) | Event::Deleted(object)) => object,
        Ok(_) => return,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            return;
        }
    };
    let Some((_, bytes)) = split else { return };
    if matches!(encoding, Encoding::Json) {
        json_object(bytes);
    }
    let mut again: Value =
        encoding.decode_object(bytes, whole()).expect("an object of an event is an object");
    if let (Encoding::Protobuf(_), Some(again)) = (encoding, again.as_object_mut()) {
        // These stand in the envelope.
        for name in ["apiVersion", "kind"] {
            again.insert(name.to_owned(), object[name].clone());
        }
    }
    assert_eq!(again, object, "it is the same in its event and by itself");
}
