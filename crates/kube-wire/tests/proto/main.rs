//! What Go encodes, decoded: every built-in kind of every version, with everything, nothing and anything set.
//!
//! `samples.gz` was made with Go by `cargo xtask schema` and is read always. Where the Kubernetes API module is in Go's
//! module cache, its golden files are read too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod hostile;
mod kinds;
mod odd;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/samples.rs"]
mod samples;
mod whole;

use std::collections::BTreeSet;

use kube_wire::{
    DecodeOptions, ProtoMessage, decode_object, decode_object_proto, encode_object_proto, peek_key,
    peek_key_proto, strip_managed_fields, strip_managed_fields_proto,
};
use serde_json::Value;

use random::Random;
use samples::{Sample, without_nulls};

/// Everything there is to be decoded.
fn all() -> Vec<Sample> {
    let mut all = samples::checked_in();
    assert!(all.len() > 1_000, "{}", all.len());
    all.append(&mut samples::fresh());
    all.append(&mut samples::golden());
    all
}

fn message(sample: &Sample) -> ProtoMessage {
    let (group, version) = sample.api_version.split_once('/').unwrap_or(("", &sample.api_version));
    ProtoMessage::of(group, version, &sample.kind).unwrap_or_else(|| panic!("{sample} is not in the table"))
}

fn untyped(protobuf: &[u8], sample: &Sample) -> Value {
    let options = DecodeOptions::default().keep_managed_fields(true);
    let decoded = decode_object_proto(protobuf, message(sample), options);
    without_nulls(decoded.unwrap_or_else(|error| panic!("{sample}: {error}")))
}

#[test]
fn every_kind_is_decoded_to_what_its_json_says() {
    for sample in all() {
        assert_eq!(untyped(&sample.protobuf, &sample), without_nulls(sample.json_value()), "{sample}");
    }
}

#[test]
fn the_types_of_k8s_openapi_are_the_same_from_protobuf_and_json() {
    let kinds = kinds::all();
    let (mut seen, mut refused) = (0, Vec::new());
    for sample in all() {
        if let Some((check, _)) = kinds.get(&(sample.api_version.as_str(), sample.kind.as_str())) {
            seen += 1;
            if !check(&sample) {
                refused.push(sample.kind);
            }
        }
    }
    assert!(kinds.len() > 100 && seen >= kinds.len() * 3, "{seen} samples of {} kinds", kinds.len());
    // Golden files of those have a time that is null, where the type has no place for that.
    refused.dedup();
    assert!(refused.iter().all(|kind| kind == "PodDisruptionBudget"), "{refused:?}");
}

#[test]
fn what_is_right_without_being_decoded_can_be_decoded() {
    let kinds = kinds::all();
    let mut random = Random(7);
    let (mut plain, mut right, mut wrong) = (BTreeSet::new(), 0, 0);
    for sample in all() {
        let Some((_, is_right)) = kinds.get(&(sample.api_version.as_str(), sample.kind.as_str())) else {
            continue;
        };
        if !message(&sample).is_plain() {
            continue;
        }
        plain.insert((sample.api_version.clone(), sample.kind.clone()));
        assert_eq!(is_right(&sample, &sample.protobuf), (Some(true), true), "{sample}");
        for _ in 0..40 {
            let bytes = random.mutate(&sample.protobuf);
            match is_right(&sample, &bytes) {
                (Some(true), taken) => {
                    assert!(taken, "{sample}, of {} bytes", bytes.len());
                    right += 1;
                }
                // Nobody says that it can be decoded. A type may not have the field that is wrong.
                (Some(false), _) => {}
                (None, _) => wrong += 1,
            }
        }
    }
    assert!(plain.len() > kinds.len() / 2, "{} of {} kinds", plain.len(), kinds.len());
    for kind in ["Pod", "Secret", "ConfigMap", "Node"] {
        assert!(plain.contains(&("v1".to_owned(), kind.to_owned())), "{kind} is not plain");
    }
    assert!(right > 500 && wrong > 1_000, "{right} right, {wrong} wrong");
}

#[test]
fn every_kind_is_encoded_as_go_encodes_it() {
    for sample in all() {
        let Some(expected) = &sample.encoded else { continue };
        let encoded = encode_object_proto(&sample.json_value(), message(&sample))
            .unwrap_or_else(|error| panic!("{sample}: {error}"));
        assert!(encoded == *expected, "{sample}: {}", encoded.escape_ascii());
    }
}

#[test]
fn managed_fields_are_left_out_of_every_kind() {
    for sample in all() {
        let options = DecodeOptions::default();
        let decoded: Value = decode_object_proto(&sample.protobuf, message(&sample), options).unwrap();
        let mut expected = untyped(&sample.protobuf, &sample);
        if let Some(Value::Object(metadata)) = expected.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        assert_eq!(without_nulls(decoded), expected, "{sample}");
        if sample.has_object_metadata() {
            let stripped = strip_managed_fields_proto(&sample.protobuf).unwrap();
            assert_eq!(untyped(&stripped, &sample), expected, "{sample}");
            let stripped = strip_managed_fields(&sample.json);
            let from_json: Value = decode_object(&sample.json, options).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&stripped).unwrap(), from_json, "{sample}");
        }
    }
}

#[test]
fn the_key_is_the_same_from_protobuf_and_json() {
    let mut seen = 0;
    for sample in all().iter().filter(|sample| sample.has_object_metadata()) {
        assert_eq!(peek_key_proto(&sample.protobuf), peek_key(&sample.json), "{sample}");
        seen += usize::from(peek_key(&sample.json).is_some());
    }
    assert!(seen > 100, "{seen}");
}
