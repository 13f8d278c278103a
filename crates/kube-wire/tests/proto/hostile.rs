//! Bytes that nobody should send: error values, and nothing else.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_wire::{
    DecodeOptions, Encoding, Event, Limits, ProtoEnvelope, ProtoMessage, ProtoMetadata, decode_event_proto,
    decode_object_proto, strip_managed_fields_proto,
};
use serde_json::Value;

use crate::random::Random;
use crate::samples::{self, Sample};

fn decode_everything(sample: &Sample, bytes: &[u8]) {
    let options = DecodeOptions::default().keep_managed_fields(true);
    let decoded: Result<Value, _> = decode_object_proto(bytes, crate::message(sample), options);
    if let Err(error) = decoded {
        assert!(!error.why.is_empty());
    }
    let _ = strip_managed_fields_proto(bytes);
    if let Some(metadata) = ProtoMetadata::of(bytes) {
        let _ = (metadata.labels().count(), metadata.annotations().count());
    }
}

#[test]
fn changed_bytes_of_every_kind_are_survived() {
    let mut random = Random(1);
    for sample in samples::checked_in() {
        for _ in 0..20 {
            decode_everything(&sample, &random.mutate(&sample.protobuf));
        }
    }
}

#[test]
fn every_end_that_comes_too_early_is_survived() {
    for sample in samples::checked_in().iter().filter(|sample| sample.kind == "Pod") {
        for end in 0..sample.protobuf.len() {
            decode_everything(sample, &sample.protobuf[..end]);
        }
    }
}

#[test]
fn the_bytes_of_another_kind_are_survived() {
    let samples = samples::checked_in();
    for (one, other) in samples.iter().zip(samples.iter().rev()) {
        decode_everything(one, &other.protobuf);
    }
}

/// A list and a watch of pods, as bytes.
fn streams() -> (Vec<u8>, Vec<u8>) {
    let delimited = |tag: u8, bytes: &[u8]| {
        let mut out = vec![tag];
        let mut length = bytes.len();
        while length >= 0x80 {
            out.push(length as u8 | 0x80);
            length >>= 7;
        }
        out.push(length as u8);
        [out, bytes.to_vec()].concat()
    };
    let pods: Vec<Sample> = samples::checked_in().into_iter().filter(|sample| sample.kind == "Pod").collect();
    let mut list = delimited(0x0a, b"\x12\x017");
    let mut watch = Vec::new();
    for pod in &pods {
        list.extend(delimited(0x12, &pod.protobuf));
        let object = ProtoEnvelope { api_version: "v1", kind: "Pod", object: &pod.protobuf }.to_bytes();
        let event = [delimited(0x0a, b"ADDED"), delimited(0x12, &delimited(0x0a, &object))].concat();
        watch.extend((event.len() as u32).to_be_bytes());
        watch.extend(event);
    }
    (ProtoEnvelope { api_version: "v1", kind: "PodList", object: &list }.to_bytes(), watch)
}

/// Feeds bytes in pieces, and counts the pods that come out.
fn follow(list: &[u8], watch: &[u8], piece: usize) -> (usize, usize) {
    let encoding = Encoding::best_for("", "v1", "Pod");
    let limits = Limits::default();
    let options = DecodeOptions::default();
    let (mut listed, mut watched) = (0, 0);
    let mut items = encoding.items(limits);
    'list: for piece in list.chunks(piece) {
        if items.push(piece).is_err() {
            break;
        }
        loop {
            match items.next_item() {
                Ok(Some(item)) => {
                    let Some(item) = item.whole() else { continue };
                    listed += usize::from(encoding.decode_object::<Pod>(&item, options).is_ok());
                }
                Ok(None) => break,
                Err(_) => break 'list,
            }
        }
    }
    let _ = items.finish();
    let mut frames = encoding.frames(limits);
    'watch: for piece in watch.chunks(piece) {
        frames.push(piece);
        loop {
            match frames.next_frame() {
                Ok(Some(frame)) => {
                    let Some(frame) = frame.whole() else { continue };
                    let event = encoding.decode_event::<Pod>(&frame, options);
                    watched += usize::from(matches!(event, Ok(Event::Added(_))));
                }
                Ok(None) => break,
                Err(_) => break 'watch,
            }
        }
    }
    (listed, watched)
}

#[test]
fn changed_lists_and_watches_are_survived() {
    let (list, watch) = streams();
    let whole = follow(&list, &watch, 100);
    assert!(whole.0 >= 3 && whole.0 == whole.1, "{whole:?}");
    let mut random = Random(2);
    for _ in 0..300 {
        let (list, watch) = (random.mutate(&list), random.mutate(&watch));
        follow(&list, &watch, 1 + random.below(4000));
    }
}

#[test]
fn a_length_that_lies_is_an_error() {
    // A list of a billion containers, a name of a terabyte, and integers without an end.
    let message = ProtoMessage::of("", "v1", "Pod").unwrap();
    for bytes in [
        &b"\x12\x85\x80\x80\x80\x04\x12\xff\xff\xff\xff\x03"[..],
        b"\x0a\x08\x0a\xff\xff\xff\xff\xff\xff\x1f",
        b"\x12\x0b\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x0a\x02\x08\x01",
        b"\x0a\x03\x0a\x01\xff",
        b"\x0b",
    ] {
        let decoded: Result<Pod, _> = decode_object_proto(bytes, message, DecodeOptions::default());
        assert!(decoded.is_err(), "{bytes:x?}");
    }
}

#[test]
fn embedded_json_must_be_json() {
    let message = ProtoMessage::of("apps", "v1", "ControllerRevision").unwrap();
    let revision = |json: &[u8]| -> Result<Value, _> {
        let raw = [&[0x0a, json.len() as u8][..], json].concat();
        let object = [&[0x12, raw.len() as u8][..], &raw].concat();
        decode_object_proto(&object, message, DecodeOptions::default())
    };
    assert_eq!(revision(br#"{"a":[1]}"#).unwrap()["data"], serde_json::json!({"a": [1]}));
    assert!(revision(b"").unwrap()["data"].is_null());
    assert!(revision(b"{").unwrap_err().why.starts_with("json parse error: "));
    assert!(revision(b"{} x").unwrap_err().why.starts_with("json parse error: "));
    assert!(revision(b"\"\xff\"").unwrap_err().why.contains("UTF-8"));
}

#[test]
fn messages_nest_only_so_deep() {
    // A schema in the `not` of a schema, and so on.
    let message = ProtoMessage::of("apiextensions.k8s.io", "v1", "CustomResourceDefinition").unwrap();
    let definition = |depth: usize| {
        let delimited = |tag: &[u8], bytes: &[u8]| {
            let mut length = Vec::new();
            let mut rest = bytes.len();
            while rest >= 0x80 {
                length.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            length.push(rest as u8);
            [tag, &length, bytes].concat()
        };
        let mut schema = delimited(&[0x2a], b"object");
        for _ in 0..depth {
            schema = delimited(&[0xe2, 0x01], &schema);
        }
        let version = delimited(&[0x22], &delimited(&[0x0a], &schema));
        delimited(&[0x12], &delimited(&[0x3a], &version))
    };
    let typed = |depth| {
        decode_object_proto::<CustomResourceDefinition>(&definition(depth), message, DecodeOptions::default())
    };
    assert!(typed(90).is_ok());
    for depth in [100, 1_000, 20_000] {
        let error = typed(depth).unwrap_err();
        assert_eq!(error.why, "proto: messages nested more than 100 deep");
    }
    let error = decode_object_proto::<Value>(&definition(1_000), message, DecodeOptions::default());
    assert!(error.is_err());
}

#[test]
fn a_frame_that_is_cut_is_no_event() {
    let (_, watch) = streams();
    let message = ProtoMessage::of("", "v1", "Pod").unwrap();
    let length = u32::from_be_bytes([watch[0], watch[1], watch[2], watch[3]]) as usize;
    let frame = &watch[4..4 + length];
    for end in 0..frame.len() {
        let event: Result<Event<Pod>, _> =
            decode_event_proto(&frame[..end], message, DecodeOptions::default());
        assert!(event.is_err(), "ended at {end}");
    }
}
