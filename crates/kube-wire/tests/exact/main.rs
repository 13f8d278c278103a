//! What is decoded has no room to spare: it takes as much memory as its copy, and a copy has none.
//!
//! Every byte that this process allocates is counted, so there is one test, and it has the process for itself.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/samples.rs"]
#[allow(dead_code, reason = "the other suite needs all of it")]
mod samples;

use std::collections::BTreeMap;

use k8s_openapi::api::{admissionregistration, apps, core, discovery, flowcontrol, networking, resource};
use kube_core::DynamicObject;
use kube_wire::{DecodeOptions, Encoding, Event, ProtoMessage, decode_event};
use peak_alloc::PeakAlloc;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use samples::Sample;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// A value, and how many bytes were allocated for it.
fn allocated<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = MEMORY.current_usage();
    let value = make();
    (value, MEMORY.current_usage() - before)
}

/// Decodes an object as an item and as an event, and compares it with its copy: how much room is to spare.
fn spare<K: DeserializeOwned + Clone + 'static>(encoding: Encoding, bytes: &[u8]) -> usize {
    let options = DecodeOptions::default().keep_managed_fields(true);
    let decode = || encoding.decode_object::<K>(bytes, options).unwrap();
    // What is made once and stays is there now.
    drop(decode());
    let (object, taken) = allocated(decode);
    let (_copy, needed) = allocated(|| object.clone());
    let mut most = taken.checked_sub(needed).expect("a copy takes no more");
    if matches!(encoding, Encoding::Json) {
        let frame = [br#"{"type":"ADDED","object":"#, bytes, b"}"].concat();
        let (event, taken) = allocated(|| decode_event::<K>(&frame, options).unwrap());
        let Event::Added(object) = event else { panic!("{}", String::from_utf8_lossy(&frame)) };
        let (_copy, needed) = allocated(|| object.clone());
        most = most.max(taken.checked_sub(needed).expect("a copy takes no more"));
    }
    most
}

/// What base64 pads a text with, at most, has room in the bytes that k8s-openapi makes of it.
const PADDING: usize = 2;

/// How many byte strings an object has.
fn byte_strings(json: &[u8]) -> usize {
    let object: Value = serde_json::from_slice(json).unwrap();
    object["binaryData"].as_object().map_or(0, serde_json::Map::len)
}

/// Decodes all samples of a kind from both forms.
fn check<K: DeserializeOwned + Clone + k8s_openapi::Resource + 'static>(samples: &[Sample]) {
    let mine =
        samples.iter().filter(|sample| (&*sample.api_version, &*sample.kind) == (K::API_VERSION, K::KIND));
    let mut seen = 0;
    for sample in mine {
        seen += 1;
        let kind = ProtoMessage::of(K::GROUP, K::VERSION, K::KIND).unwrap();
        assert_eq!(spare::<K>(Encoding::Protobuf(kind), &sample.protobuf), 0, "{sample} from protobuf");
        let room = spare::<K>(Encoding::Json, &sample.json);
        assert!(room <= PADDING * byte_strings(&sample.json), "{sample} from JSON: {room} bytes to spare");
    }
    assert!(seen >= 3, "{seen} of {}", K::KIND);
}

/// Decodes all samples from both forms as objects of any kind, the way of informers too, which have them in boxes.
fn check_any(samples: &[Sample]) {
    let mut objects = 0;
    for sample in samples {
        let (group, version) = sample.api_version.rsplit_once('/').unwrap_or(("", &sample.api_version));
        let kind = ProtoMessage::of(group, version, &sample.kind).unwrap();
        for (encoding, bytes) in
            [(Encoding::Json, &sample.json), (Encoding::Protobuf(kind), &sample.protobuf)]
        {
            assert_eq!(spare::<Value>(encoding, bytes), 0, "{sample} as no type");
            assert_eq!(spare::<Box<Value>>(encoding, bytes), 0, "{sample} as no type, in a box");
            // What has no metadata, or none of an object, is none.
            if encoding.decode_object::<DynamicObject>(bytes, DecodeOptions::default()).is_ok() {
                objects += 1;
                assert_eq!(spare::<DynamicObject>(encoding, bytes), 0, "{sample} as any kind");
                assert_eq!(spare::<Box<DynamicObject>>(encoding, bytes), 0, "{sample} as any kind, in a box");
            }
        }
    }
    assert!(objects > samples.len(), "most samples are objects: {objects} of {}", 2 * samples.len());
}

/// Lists wherever a type of somebody's own may have them.
#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Own {
    plain: Vec<u8>,
    rows: Vec<Vec<String>>,
    maybe: Option<Vec<(u8, Vec<u8>)>>,
    #[serde(default)]
    absent: Vec<u8>,
    by_name: BTreeMap<String, Vec<u8>>,
    by_number: BTreeMap<u32, Vec<u8>>,
    by_truth: BTreeMap<bool, Vec<u8>>,
    by_letter: BTreeMap<Letter, Vec<u8>>,
    choices: Vec<Choice>,
    tagged: Tagged,
    wrapped: Wrapped,
    open: Open,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Open {
    known: Vec<u8>,
    #[serde(flatten)]
    rest: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Letter {
    A,
    B,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
enum Choice {
    Nothing,
    One(Vec<u8>),
    Two(Vec<u8>, Vec<u8>),
    Named { list: Vec<u8> },
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "type")]
enum Tagged {
    Some { list: Vec<u8> },
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Wrapped(Vec<u8>);

const OWN: &str = r#"{
    "plain": [1, 2, 3, 4, 5, 6, 7, 8, 9],
    "rows": [["a", "b", "c"], [], ["d"], ["e", "f", "g", "h", "i"]],
    "maybe": [[1, [1, 2, 3]], [2, [1, 2, 3, 4, 5, 6, 7, 8, 9]]],
    "passed over": {"rows": [[[1, 2], [3]], {"a": [4]}]},
    "by_name": {"a]": [1, 2, 3], "b": []},
    "by_number": {"1": [1], "22": [1, 2, 3, 4, 5, 6, 7, 8, 9]},
    "by_truth": {"true": [1, 2, 3]},
    "by_letter": {"A": [1], "B": [1, 2, 3]},
    "choices": ["Nothing", {"One": [1, 2, 3]}, {"Two": [[1], [1, 2]]}, {"Named": {"list": [1, 2, 3]}}, "Nothing"],
    "tagged": {"list": [1, 2, 3], "type": "Some"},
    "wrapped": [1, 2, 3],
    "open": {"other": [1, 2, 3, 4, 5], "known": [1, 2, 3]}
}"#;

fn check_own() {
    let own = Encoding::Json.decode_object::<Own>(OWN.as_bytes(), DecodeOptions::default());
    assert_eq!(own.unwrap(), serde_json::from_str(OWN).unwrap());
    assert_eq!(spare::<Own>(Encoding::Json, OWN.as_bytes()), 0);
}

#[test]
fn what_is_decoded_has_no_room_to_spare() {
    let samples = samples::checked_in();
    check::<core::v1::Pod>(&samples);
    check::<core::v1::Node>(&samples);
    check::<core::v1::Service>(&samples);
    check::<core::v1::ConfigMap>(&samples);
    check::<core::v1::Event>(&samples);
    check::<core::v1::PersistentVolume>(&samples);
    check::<apps::v1::Deployment>(&samples);
    check::<discovery::v1::EndpointSlice>(&samples);
    check::<networking::v1::NetworkPolicy>(&samples);
    // These are decoded by the table, from protobuf.
    check::<flowcontrol::v1::FlowSchema>(&samples);
    check::<admissionregistration::v1::ValidatingAdmissionPolicy>(&samples);
    check::<resource::v1::ResourceSlice>(&samples);
    check_any(&samples);
    check_own();
}
