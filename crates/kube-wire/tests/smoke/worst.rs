//! The worst that comes to mind: lengths that lie, numbers without an end, nesting without a floor, text that is none.

use kube_wire::{DecodeOptions, Encoding, Limits};
use serde_json::Value;

use crate::TARGETS;

/// How much more memory all of this may take. Lengths here promise terabytes.
const MAX_GROWTH_KIB: u64 = 256 << 10;

fn worst() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    // Nesting: objects, lists and messages in one another, closed and not closed.
    for depth in [10, 127, 128, 129, 1_000, 100_000] {
        all.push(b"[".repeat(depth));
        all.push([b"[".repeat(depth), b"]".repeat(depth)].concat());
        all.push([&br#"{"a":"#.repeat(depth)[..], b"1", &b"}".repeat(depth)].concat());
        all.push([&br#"{"items":["#.repeat(depth)[..], &b"]}".repeat(depth)].concat());
        all.push(nested_messages(depth.min(20_000)));
    }
    // Lengths that lie.
    for length in
        [&b"\xff\xff\xff\xff\x07"[..], b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x10"]
    {
        for tag in [0x0a_u8, 0x12, 0x1a, 0x22] {
            all.push([&[tag], length].concat());
            all.push([b"k8s\0", &[tag][..], length, b"abc"].concat());
            all.push([&[0, 0, 0, 40, tag], length, &[0; 40]].concat());
        }
    }
    for frame in [[0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0, 0x10, 0, 0]] {
        all.push([&frame[..], &[0x0a; 100]].concat());
    }
    // Numbers without an end, or too large for anything.
    all.push(vec![0xff; 10_000]);
    all.push(vec![0x80; 10_000]);
    all.push([br#"{"metadata":{"generation":"#, &b"9".repeat(10_000)[..], b"}}"].concat());
    all.push(br#"{"spec":{"priority":1e999,"x":-1e-999,"y":0x10,"z":01,"n":NaN}}"#.to_vec());
    // Text that is none.
    for text in [
        &b"\xff\xfe\xfd"[..],
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        br"\ud800",
        br"\udc00\ud800",
        br"\u00",
        br"\x",
        b"\0",
        b"\x1f",
        b"\\",
    ] {
        all.push([br#"{"metadata":{"name":""#, text, br#""},"data":{"k":"v"}}"#].concat());
        all.push([br#"{"type":"ADDED","object":{"metadata":{"name":""#, text, b"\"}}}\n"].concat());
        all.push([&[0x0a, text.len() as u8 + 2, 0x0a, text.len() as u8], text].concat());
    }
    // Strings without an end, members without a value, values without a comma, the same member twice.
    for text in [
        &br#"{"metadata":{"name":"a"#[..],
        br#"{"metadata"}"#,
        br#"{"metadata":}"#,
        br#"{"metadata":{} "kind":""}"#,
        br#"{"metadata":{"name":"a","name":"b"},"metadata":{"name":"c"}}"#,
        br#"{"metadata":{"managedFields":[],"managedFields":[{}]}}"#,
        br#"{"metadata":{"managedFields":[,]}}"#,
        br#"{"metadata":[{"managedFields":[]}]}"#,
        br#"{"items":[{}],"items":[{}]}"#,
        br#"{"items":{}}"#,
        br#"{"items":[1,2"#,
        br#"{"type":"ADDED","type":"DELETED","object":{},"object":{}}"#,
        b"\xef\xbb\xbf{}",
        b"null",
        b"\n\n\n",
        b"",
    ] {
        all.push(text.to_vec());
    }
    all
}

/// A definition whose schema has a schema in it, and so on.
fn nested_messages(depth: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for _ in 0..depth {
        // Backwards, so that no length has to be written again.
        let mut length = bytes.len();
        let mut head = vec![0x12];
        while length >= 0x80 {
            head.push(length as u8 | 0x80);
            length >>= 7;
        }
        head.push(length as u8);
        if bytes.len() > 1 << 16 {
            break;
        }
        bytes = [head, bytes].concat();
    }
    bytes
}

/// The most memory that this process has had.
fn most_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn the_worst_is_an_error_and_costs_nothing() {
    let before = most_memory_kib();
    for bytes in worst() {
        for (name, drive) in TARGETS {
            // What comes first is a choice: of pieces, or of a kind.
            for choice in [&b""[..], b"\0", b"\x05", b"\x01\x10", b"\x02\x99"] {
                let data = [choice, &bytes].concat();
                let outcome = std::panic::catch_unwind(|| drive(&data));
                assert!(outcome.is_ok(), "{name}: {}", data[..data.len().min(200)].escape_ascii());
            }
        }
    }
    if let (Some(before), Some(after)) = (before, most_memory_kib()) {
        assert!(after - before < MAX_GROWTH_KIB, "{before} KiB before, {after} KiB after");
    }
}

#[test]
fn json_that_nests_too_deep_is_an_error() {
    let nested = |depth: usize| {
        let bytes = [&br#"{"a":"#.repeat(depth)[..], b"1", &b"}".repeat(depth)].concat();
        Encoding::Json.decode_object::<Value>(&bytes, DecodeOptions::default())
    };
    assert!(nested(100).is_ok());
    assert!(nested(1_000).is_err_and(|error| error.why.contains("recursion limit")));
}

#[test]
fn text_that_is_none_is_an_error_in_both_encodings() {
    let pod = Encoding::best_for("", "v1", "Pod");
    let (json, protobuf) = (&b"{\"metadata\":{\"name\":\"\xff\"}}"[..], &b"\x0a\x03\x0a\x01\xff"[..]);
    for (encoding, bytes) in [(Encoding::Json, json), (pod, protobuf)] {
        let decoded: Result<Value, _> = encoding.decode_object(bytes, DecodeOptions::default());
        assert!(decoded.is_err(), "{encoding:?}");
        assert_eq!(encoding.peek_key(bytes), None, "{encoding:?}");
    }
}

#[test]
fn a_frame_that_promises_too_much_is_an_error_before_it_is_there() {
    let mut limits = Limits::default();
    (limits.frame_bytes, limits.passed_over_bytes) = (1_000, 5_000);
    let mut frames = Encoding::best_for("", "v1", "Pod").frames(limits);
    frames.push(&[0xff, 0xff, 0xff, 0xff]);
    assert!(frames.next_frame().is_err());
    let mut lines = Encoding::Json.frames(limits);
    let outcome = (0..100).try_for_each(|_| {
        lines.push(&[b'x'; 100]);
        assert!(lines.pending() <= 1_100, "{}", lines.pending());
        lines.next_frame().map(|frame| assert_eq!(frame, None))
    });
    assert!(outcome.is_err(), "a line without an end");
}
