use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::super::coerce;
use super::*;

const GOLDEN: &str = include_str!("golden.txt");

fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A length-delimited field.
fn bytes(field: usize, value: &[u8]) -> Vec<u8> {
    [number(field << 3 | 2), number(value.len()), value.to_vec()].concat()
}

/// A field with an integer.
fn varint(field: usize, value: usize) -> Vec<u8> {
    [number(field << 3), number(value)].concat()
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), bytes(1, &meta), bytes(2, raw), bytes(3, b""), bytes(4, b"")].concat()
}

fn read(api_version: &str, kind: &str, raw: &[u8]) -> Result<Value, String> {
    decode(&envelope(api_version, kind, raw), ("", "")).map_err(|error| error.to_string())
}

/// The fields of a config map.
fn config_map(raw: &[u8]) -> Result<Value, String> {
    read("v1", "ConfigMap", raw)
}

#[test]
fn objects_are_what_go_writes_as_json() {
    let mut seen = 0;
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')) {
        let (protobuf, json) = line.split_once(' ').expect("two columns");
        let protobuf = STANDARD.decode(protobuf).expect("base64");
        let mut json: Value = serde_json::from_str(json).expect("JSON");
        let name = |field: &str| json[field].as_str().expect("a string");
        let ty = builtin().root(name("apiVersion"), name("kind")).expect("a known kind");
        // Drops the `null` of lists that were never set.
        assert_eq!(coerce(&mut json, ty), Ok(vec![]));
        assert_eq!(decode(&protobuf, ("", "")).as_ref(), Ok(&json));
        seen += 1;
    }
    assert_eq!(seen, 11);
}

#[test]
fn every_end_that_comes_too_early_and_every_changed_byte_is_survived() {
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')) {
        let whole = STANDARD.decode(line.split(' ').next().expect("a column")).expect("base64");
        for at in 0..whole.len() {
            // An envelope that ends after its object is whole is fine; nothing may panic.
            let _ = decode(&whole[..at], ("v1", "Pod"));
            for flip in [0x01, 0x02, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= flip;
                let _ = decode(&changed, ("v1", "Pod"));
            }
        }
    }
}

#[test]
fn zero_is_dropped_unless_it_means_something() {
    let lease = [varint(2, 0), bytes(1, b"")].concat();
    let lease = read("coordination.k8s.io/v1", "Lease", &bytes(2, &lease));
    assert_eq!(lease.expect("a lease")["spec"], json!({"holderIdentity": "", "leaseDurationSeconds": 0}));
    // `hostNetwork` is no pointer and left out; `name` of a container is no pointer and never left out.
    let pod = [bytes(2, &bytes(1, b"")), varint(11, 0)].concat();
    let pod = read("v1", "Pod", &bytes(2, &pod)).expect("a pod");
    assert_eq!(pod["spec"], json!({"containers": [{"name": ""}]}));
    // A zero takes back what came before it.
    let pod = read("v1", "Pod", &bytes(2, &[varint(11, 1), varint(11, 0)].concat()));
    assert_eq!(pod.expect("a pod")["spec"], json!({}));
}

#[test]
fn fields_that_come_twice_are_merged() {
    let meta = |field, text: &[u8]| bytes(1, &bytes(field, text));
    let object = config_map(&[meta(1, b"a"), meta(3, b"ns"), meta(1, b"b")].concat()).expect("an object");
    assert_eq!(object["metadata"], json!({"name": "b", "namespace": "ns"}));
}

#[test]
fn integers_may_be_packed() {
    let groups = |list: &[u8]| {
        let context = bytes(14, list);
        read("v1", "Pod", &bytes(2, &context)).expect("a pod")["spec"]["securityContext"]["supplementalGroups"]
            .clone()
    };
    assert_eq!(groups(&[varint(4, 1), varint(4, 2)].concat()), json!([1, 2]));
    assert_eq!(groups(&bytes(4, &[1, 0x96, 0x01])), json!([1, 150]));
}

#[test]
fn maps_may_leave_out_what_is_zero() {
    let data = bytes(2, &[]);
    assert_eq!(config_map(&data).expect("an object")["data"], json!({"": ""}));
}

#[test]
fn unknown_numbers_are_passed_over() {
    let raw = [varint(15, 1), bytes(14, b"x"), vec![0x6d, 1, 2, 3, 4]].concat();
    assert_eq!(config_map(&raw), Ok(json!({"apiVersion": "v1", "kind": "ConfigMap"})));
}

#[test]
fn an_object_without_a_kind_is_of_the_expected_one() {
    let object = decode(&envelope("", "", &[]), ("v1", "ConfigMap"));
    assert_eq!(object, Ok(json!({"apiVersion": "v1", "kind": "ConfigMap"})));
}

#[test]
fn what_is_no_envelope_is_an_error() {
    let message = |bytes: &[u8]| {
        let error = decode(bytes, ("v1", "ConfigMap")).expect_err("no object");
        assert_eq!(error.object, None);
        error.to_string()
    };
    assert_eq!(message(b""), "empty data");
    assert_eq!(message(b"k8s\0"), "empty body");
    let no_prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    assert_eq!(message(b"{}"), no_prefix);
    assert_eq!(message(b"k8s"), no_prefix);
    assert_eq!(message(b"k8s\0\x0a\x50a"), "unexpected EOF");
    assert_eq!(message(b"k8s\0\x00\x00"), "proto: illegal tag 0 (wire type 0)");
}

#[test]
fn errors_say_what_is_wrong() {
    let unknown =
        "no kind \"Foo\" is registered for version \"a/v1\" in scheme \"pkg/runtime/scheme.go:111\"";
    assert_eq!(read("a/v1", "Foo", &[]), Err(unknown.to_owned()));
    let cases: [(Vec<u8>, &str); 7] = [
        (vec![0x0a, 0x55, b'a'], "unexpected EOF"),
        (vec![0xff; 20], "proto: integer overflow"),
        ([vec![0x0a], vec![0xff; 9], vec![1]].concat(), "proto: negative length found during unmarshaling"),
        (varint(1, 1), "proto: wrong wireType = 0 for field metadata"),
        (bytes(1, &varint(1, 1)), "proto: wrong wireType = 0 for field name"),
        (bytes(1, &bytes(1, b"\xff")), "proto: invalid UTF-8 in a string"),
        (bytes(2, &bytes(1, b"\xff")), "proto: invalid UTF-8 in a string"),
    ];
    for (raw, expected) in cases {
        assert_eq!(config_map(&raw), Err(expected.to_owned()));
    }
}

#[test]
fn embedded_json_must_be_json() {
    let revision = |json: &[u8]| read("apps/v1", "ControllerRevision", &bytes(2, &bytes(1, json)));
    assert_eq!(revision(br#"{"a":[1]}"#).expect("JSON")["data"], json!({"a": [1]}));
    assert!(revision(b"").expect("nothing")["data"].is_null());
    assert!(revision(b"{").expect_err("no JSON").starts_with("json parse error: "));
    assert!(revision(&[b'['; 10_000]).expect_err("too deep").starts_with("json parse error: "));
}

#[test]
fn messages_nest_only_so_deep() {
    // A schema in the `not` of a schema, and so on; the first is four messages below the object.
    let definition = |depth: usize| {
        let mut schema = bytes(5, b"object");
        for _ in 0..depth {
            schema = bytes(28, &schema);
        }
        let version = bytes(4, &bytes(1, &schema));
        read("apiextensions.k8s.io/v1", "CustomResourceDefinition", &bytes(2, &bytes(7, &version)))
    };
    assert!(definition(96).is_ok());
    let error = definition(97).expect_err("too deep");
    assert_eq!(error, "proto: messages nested more than 100 deep");
    assert!(definition(20_000).is_err());
}
