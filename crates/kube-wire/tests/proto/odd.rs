//! Bytes that mean the same as those of Go's encoder, but that it would not write.

use kube_wire::{DecodeOptions, ProtoMessage, decode_object_proto};
use serde_json::{Value, json};

use crate::{all, untyped};

/// The fields of a message: the number of each, and all of its bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let start = message;
        let tag = varint(&mut message);
        match tag & 7 {
            0 => _ = varint(&mut message),
            1 => message = &message[8..],
            2 => {
                let length = varint(&mut message) as usize;
                message = &message[length..];
            }
            wire => panic!("wire type {wire}"),
        }
        found.push((tag >> 3, start[..start.len() - message.len()].to_vec()));
    }
    found
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            break;
        }
    }
    value
}

fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn bytes(field: usize, value: &[u8]) -> Vec<u8> {
    [number(field << 3 | 2), number(value.len()), value.to_vec()].concat()
}

fn integer(field: usize, value: usize) -> Vec<u8> {
    [number(field << 3), number(value)].concat()
}

fn decode(kind: &str, object: &[u8]) -> Value {
    let message = ProtoMessage::of("", "v1", kind).unwrap();
    decode_object_proto(object, message, DecodeOptions::default()).unwrap()
}

#[test]
fn fields_may_come_in_any_order() {
    for sample in all() {
        let expected = untyped(&sample.protobuf, &sample);
        let fields = fields(&sample.protobuf);
        // The first of each number, then the second of each, and so on, the highest numbers first.
        let mut mixed: Vec<_> = fields
            .iter()
            .enumerate()
            .map(|(at, (number, bytes))| {
                let before = fields[..at].iter().filter(|(other, _)| other == number).count();
                (before, u64::MAX - number, bytes)
            })
            .collect();
        mixed.sort();
        let mixed: Vec<u8> = mixed.into_iter().flat_map(|(_, _, bytes)| bytes).copied().collect();
        assert_eq!(untyped(&mixed, &sample), expected, "{sample}");
    }
}

#[test]
fn a_message_in_two_parts_is_one() {
    for sample in all() {
        let mut halves = Vec::new();
        for (at, (number, field)) in fields(&sample.protobuf).into_iter().enumerate() {
            let mut body = &field[..];
            let tag = varint(&mut body);
            if at == 0 && number == 1 && tag & 7 == 2 && sample.has_object_metadata() {
                varint(&mut body);
                let parts = fields(body);
                let (left, right) = parts.split_at(parts.len() / 2);
                for half in [left, right] {
                    let half: Vec<u8> = half.iter().flat_map(|(_, bytes)| bytes).copied().collect();
                    halves.extend(bytes(1, &half));
                }
            } else {
                halves.extend(field);
            }
        }
        assert_eq!(untyped(&halves, &sample), untyped(&sample.protobuf, &sample), "{sample}");
    }
}

#[test]
fn what_comes_last_counts() {
    let meta = |field, text: &[u8]| bytes(1, &bytes(field, text));
    let object = decode("ConfigMap", &[meta(1, b"a"), meta(3, b"ns"), meta(1, b"b")].concat());
    assert_eq!(object, json!({"metadata": {"name": "b", "namespace": "ns"}}));
    // A zero takes back what came before it.
    let pod = decode("Pod", &bytes(2, &[integer(11, 1), integer(11, 0)].concat()));
    assert_eq!(pod, json!({"spec": {}}));
}

#[test]
fn integers_may_be_packed() {
    let groups = |list: &[u8]| {
        let pod = decode("Pod", &bytes(2, &bytes(14, list)));
        pod["spec"]["securityContext"]["supplementalGroups"].clone()
    };
    assert_eq!(groups(&[integer(4, 1), integer(4, 2)].concat()), json!([1, 2]));
    assert_eq!(groups(&bytes(4, &[1, 0x96, 0x01])), json!([1, 150]));
    assert_eq!(groups(&[bytes(4, &[1]), bytes(4, &[2, 3])].concat()), json!([1, 2, 3]));
    assert_eq!(groups(&[bytes(4, &[1]), integer(4, 2), bytes(4, &[3])].concat()), json!([1, 2, 3]));
    assert_eq!(groups(&bytes(4, &[])), json!([]));
}

#[test]
fn maps_may_leave_out_what_is_zero_and_say_things_twice() {
    assert_eq!(decode("ConfigMap", &bytes(2, &[])), json!({"data": {"": ""}}));
    assert_eq!(decode("ConfigMap", &bytes(2, &bytes(2, b"v"))), json!({"data": {"": "v"}}));
    let turned = [bytes(2, b"v"), bytes(1, b"k"), integer(9, 1)].concat();
    assert_eq!(decode("ConfigMap", &bytes(2, &turned)), json!({"data": {"k": "v"}}));
    let twice = [bytes(1, b"x"), bytes(2, b"v"), bytes(1, b"k")].concat();
    assert_eq!(decode("ConfigMap", &bytes(2, &twice)), json!({"data": {"k": "v"}}));
    let entry = |value| bytes(2, &[bytes(1, b"k"), bytes(2, value)].concat());
    assert_eq!(decode("ConfigMap", &[entry(b"a"), entry(b"b")].concat()), json!({"data": {"k": "b"}}));
}

#[test]
fn unknown_numbers_are_passed_over_wherever_they_are() {
    let unknown =
        [integer(99, 1), bytes(99, b"x"), number(99 << 3 | 1), vec![0; 8], number(99 << 3 | 5), vec![0; 4]];
    let unknown = unknown.concat();
    let object =
        [unknown.clone(), bytes(1, &[unknown.clone(), bytes(1, b"a"), unknown.clone()].concat()), unknown];
    assert_eq!(decode("ConfigMap", &object.concat()), json!({"metadata": {"name": "a"}}));
}

#[test]
fn zero_is_dropped_unless_it_means_something() {
    let message = ProtoMessage::of("coordination.k8s.io", "v1", "Lease").unwrap();
    let lease = bytes(2, &[bytes(1, b""), integer(2, 0)].concat());
    let lease: Value = decode_object_proto(&lease, message, DecodeOptions::default()).unwrap();
    assert_eq!(lease["spec"], json!({"holderIdentity": "", "leaseDurationSeconds": 0}));
    // `hostNetwork` is no pointer and left out; `name` of a container is no pointer and never left out.
    let pod = decode("Pod", &bytes(2, &[bytes(2, &bytes(1, b"")), integer(11, 0)].concat()));
    assert_eq!(pod["spec"], json!({"containers": [{"name": ""}]}));
}
