//! What the fuzz targets do, with bytes that are known: real samples, changed a little, and the worst that comes to mind.
//!
//! Bounded and the same in every run. With `KUBE_WIRE_CORPUS` set to a folder, what is known is written there, for the
//! fuzz targets to begin with.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "it is a library elsewhere")]
mod drive;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/samples.rs"]
#[allow(dead_code, reason = "the other suite needs all of it")]
mod samples;
mod worst;

use kube_wire::{ProtoEnvelope, ProtoListWriter, ProtoMessage, encode_event_proto};
use random::Random;
use samples::Sample;
use serde_json::{Value, json};

/// What a fuzz target does with bytes.
type Drive = fn(&[u8]);

/// The fuzz targets.
const TARGETS: [(&str, Drive); 6] = [
    ("json_object", drive::json_object),
    ("json_list", drive::json_list),
    ("json_watch", drive::json_watch),
    ("proto_object", drive::proto_object),
    ("proto_list", drive::proto_list),
    ("proto_watch", drive::proto_watch),
];

/// Drives a target with what is known, and with changes of it.
fn smoke(target: &str, seeds: &[Vec<u8>], changes: usize) {
    let (_, drive) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let mut random = Random(7);
    for seed in seeds {
        drive(seed);
        for _ in 0..changes {
            drive(&random.mutate(seed));
            drive(&random.mutate_text(seed));
        }
    }
    keep(target, seeds);
}

/// Writes a corpus, if somebody wants one.
fn keep(target: &str, seeds: &[Vec<u8>]) {
    let Some(folder) = std::env::var_os("KUBE_WIRE_CORPUS") else { return };
    let folder = std::path::Path::new(&folder).join(target);
    std::fs::create_dir_all(&folder).unwrap();
    for (at, seed) in seeds.iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{at:04}")), seed).unwrap();
    }
}

fn pods() -> Vec<Sample> {
    samples::checked_in().into_iter().filter(|sample| sample.kind == "Pod").collect()
}

/// A byte before the bytes says in which pieces they come.
fn in_pieces(sizes: &[u8], bytes: &[u8]) -> Vec<Vec<u8>> {
    sizes.iter().map(|size| [&[*size], bytes].concat()).collect()
}

#[test]
fn changed_objects_in_json_are_survived() {
    let seeds: Vec<Vec<u8>> = samples::checked_in().into_iter().map(|sample| sample.json).collect();
    assert!(seeds.len() > 1_000);
    smoke("json_object", &seeds, 3);
}

#[test]
fn changed_objects_in_protobuf_are_survived() {
    let kinds: Vec<ProtoMessage> = ProtoMessage::all().collect();
    let seed = |sample: Sample| {
        let of_sample =
            |kind: &ProtoMessage| kind.kind() == sample.kind && kind.api_version() == sample.api_version;
        let at = kinds.iter().position(of_sample)? as u16;
        Some([&at.to_be_bytes()[..], &sample.protobuf].concat())
    };
    let seeds: Vec<Vec<u8>> = samples::checked_in().into_iter().filter_map(seed).collect();
    assert!(seeds.len() > 1_000, "{}", seeds.len());
    smoke("proto_object", &seeds, 3);
}

#[test]
fn changed_lists_are_survived() {
    let pods = pods();
    let items: Vec<Value> = pods.iter().map(Sample::json_value).collect();
    let metadata = json!({"resourceVersion": "7", "continue": "token", "remainingItemCount": 3});
    let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items});
    smoke("json_list", &in_pieces(&[0, 9, 255], list.to_string().as_bytes()), 50);

    let kind = ProtoMessage::of("", "v1", "PodList").unwrap();
    let writer = ProtoListWriter::new(kind, "v1", &metadata).unwrap();
    let mut bytes = Vec::new();
    writer.begin(pods.iter().map(|pod| pod.protobuf.len()), &mut bytes);
    pods.iter().for_each(|pod| writer.item(&pod.protobuf, &mut bytes));
    writer.end(&mut bytes);
    smoke("proto_list", &in_pieces(&[0, 9, 255], &bytes), 50);
}

#[test]
fn changed_watches_are_survived() {
    let (mut lines, mut frames) = (Vec::new(), Vec::new());
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "message": "old"});
    let bookmark = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "9",
        "annotations": {"k8s.io/initial-events-end": "true"}}});
    for (pod, event) in pods().iter().zip(["ADDED", "MODIFIED", "DELETED"].iter().cycle()) {
        let line = json!({"type": event, "object": serde_json::from_slice::<Value>(&pod.json).unwrap()});
        lines.extend(format!("{line}\n").into_bytes());
        let envelope = ProtoEnvelope { api_version: "v1", kind: "Pod", object: &pod.protobuf };
        frames.extend(encode_event_proto(event, &envelope));
    }
    for (event, kind, object) in [("BOOKMARK", "Pod", bookmark), ("ERROR", "Status", status)] {
        lines.extend(format!("{}\n", json!({"type": event, "object": object})).into_bytes());
        let message = ProtoMessage::of("", "v1", kind).unwrap();
        let object = kube_wire::encode_object_proto(&object, message).unwrap();
        frames.extend(encode_event_proto(event, &ProtoEnvelope { api_version: "v1", kind, object: &object }));
    }
    smoke("json_watch", &in_pieces(&[0, 9, 255], &lines), 50);
    smoke("proto_watch", &in_pieces(&[0, 9, 255], &frames), 50);
}
