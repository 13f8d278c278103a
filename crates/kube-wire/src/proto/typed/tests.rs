//! What is filled in place is what serde makes of the same bytes.

use k8s_openapi::Resource;
use serde::de::DeserializeOwned;

use super::super::wire::{Tag, put_bytes, put_varint};
use super::places::COMPARED;
use super::*;

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../../../tests/support/samples.rs"]
mod samples;

/// A kind, and what is found when its bytes are decoded in both ways. The second bytes are those of an object that another
/// one is made of, which must be the same as one that is made of nothing.
pub(super) struct Compared {
    api_version: &'static str,
    kind: &'static str,
    compare: fn(&[u8], &[u8], ProtoMessage, DecodeOptions) -> Found,
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// Both ways, and the same.
    Same,
    /// Both ways, and not the same.
    Other,
    /// Only serde has made something of it.
    OnlySerde,
    /// Only what is filled in place.
    OnlyInPlace,
    Neither,
}

pub(super) const fn compared<T>() -> Compared
where
    T: Fill + Resource + DeserializeOwned + PartialEq + 'static,
{
    Compared { api_version: T::API_VERSION, kind: T::KIND, compare: compare::<T> }
}

fn compare<T: DeserializeOwned + PartialEq + 'static>(
    object: &[u8],
    spare: &[u8],
    message: ProtoMessage,
    options: DecodeOptions,
) -> Found {
    /// A type that is not one of those that are filled in place.
    #[derive(serde::Deserialize)]
    #[serde(transparent, bound = "T: DeserializeOwned")]
    struct Through<T>(T);

    let in_place: Option<T> = decode(object, message, None, options, None);
    // With everything, also where the new one is to have less.
    let spare = decode(spare, message, None, DecodeOptions::default().keep_managed_fields(true), None);
    if in_place != decode(object, message, None, options, spare) {
        return Found::Other;
    }
    let through: Option<Through<T>> = crate::decode_object_proto(object, message, options).ok();
    match (in_place, through) {
        (Some(one), Some(Through(other))) if one == other => Found::Same,
        (Some(_), Some(_)) => Found::Other,
        (None, Some(_)) => Found::OnlySerde,
        (Some(_), None) => Found::OnlyInPlace,
        (None, None) => Found::Neither,
    }
}

fn message(kind: &Compared) -> ProtoMessage {
    let (group, version) = kind.api_version.split_once('/').unwrap_or(("", kind.api_version));
    ProtoMessage::of(group, version, kind.kind).unwrap()
}

/// The samples of a kind.
fn of<'a>(kind: &Compared, samples: &'a [samples::Sample]) -> Vec<&'a samples::Sample> {
    let is_it =
        |sample: &&samples::Sample| (&*sample.api_version, &*sample.kind) == (kind.api_version, kind.kind);
    samples.iter().filter(is_it).collect()
}

#[test]
fn every_kind_is_filled_in_place_with_what_serde_makes_of_it() {
    let samples = samples::checked_in();
    for kind in COMPARED {
        let mut seen = 0;
        for sample in of(kind, &samples) {
            for keep in [false, true] {
                let options = DecodeOptions::default().keep_managed_fields(keep);
                match (kind.compare)(&sample.protobuf, b"", message(kind), options) {
                    Found::Same => seen += 1,
                    // The type insists on something that the sample does not have.
                    Found::Neither => {}
                    found => panic!("{sample}: {found:?}"),
                }
            }
        }
        assert!(seen >= 4, "{} {}: only {seen} samples", kind.api_version, kind.kind);
    }
}

#[test]
fn an_object_that_is_made_of_another_has_nothing_of_it() {
    let samples = samples::checked_in();
    for kind in COMPARED {
        let objects = of(kind, &samples);
        let mut same = 0;
        for (first, then) in objects.iter().flat_map(|first| objects.iter().map(move |then| (first, then))) {
            for keep in [false, true] {
                let options = DecodeOptions::default().keep_managed_fields(keep);
                match (kind.compare)(&then.protobuf, &first.protobuf, message(kind), options) {
                    Found::Same => same += 1,
                    // The type insists on something that the sample does not have.
                    Found::Neither => {}
                    found => panic!("{then}, made of {first}: {found:?}"),
                }
            }
        }
        assert!(same >= 18, "{} {}: only {same} pairs", kind.api_version, kind.kind);
    }
}

#[test]
fn an_object_that_is_made_of_another_is_in_its_memory_and_has_no_more_than_it_needs() {
    use k8s_openapi::api::core::v1::Pod;
    let message = ProtoMessage::of("", "v1", "Pod").unwrap();
    let encoded = |name: usize, finalizers: usize| {
        let finalizers: Vec<String> = (0..finalizers).map(|length| "f".repeat(length)).collect();
        let metadata = serde_json::json!({"name": "n".repeat(name), "finalizers": finalizers});
        crate::encode_object_proto(&serde_json::json!({"metadata": metadata}), message).unwrap()
    };
    let decode = |bytes: &[u8], spare: Option<Box<Pod>>| {
        decode(bytes, message, None, DecodeOptions::default(), spare).unwrap()
    };
    let places = |pod: &Pod| {
        let (name, finalizers) = (pod.metadata.name.as_ref(), pod.metadata.finalizers.as_ref());
        (name.map(|name| name.as_str().as_ptr()), finalizers.map(Vec::as_ptr))
    };
    let steps = |text: &String| (text.capacity().div_ceil(16), text.len().div_ceil(16));
    let sizes = [(40, 5), (33, 5), (20, 3), (100, 9), (1, 1), (64, 0)];
    for (first, then) in sizes.iter().flat_map(|first| sizes.iter().map(move |then| (first, then))) {
        let spare = decode(&encoded(first.0, first.1), None);
        let before = places(&spare);
        let object = decode(&encoded(then.0, then.1), Some(spare));
        assert_eq!(
            places(&object).0 == before.0,
            first.0.div_ceil(16) == then.0.div_ceil(16) && first.0 >= then.0
        );
        assert_eq!(places(&object).1 == before.1, first.1 == then.1, "{first:?} {then:?}");
        let metadata = object.metadata;
        let finalizers = metadata.finalizers.unwrap_or_default();
        assert_eq!(finalizers.capacity(), finalizers.len());
        for text in finalizers.iter().chain(&metadata.name) {
            assert_eq!(steps(text).0, steps(text).1, "{first:?} {then:?}");
        }
    }
}

#[test]
fn bytes_that_are_cut_or_changed_are_never_taken_for_something_else() {
    let samples = samples::checked_in();
    let (mut same, mut refused) = (0, 0);
    for kind in COMPARED {
        for sample in of(kind, &samples).into_iter().take(2) {
            let step = sample.protobuf.len() / 40 + 1;
            let (whole, mut changes) = (&sample.protobuf, Vec::new());
            for at in (0..whole.len()).step_by(step) {
                changes.push((at, whole[..at].to_vec()));
                // Other values, other wire types, and numbers that go on.
                for mask in [0x15, 0x01, 0x02, 0x80] {
                    let mut changed = whole.clone();
                    changed[at] ^= mask;
                    changes.push((at, changed));
                }
            }
            // Zeros in more bytes than encoders write.
            for at in (0..whole.len()).filter(|at| whole[*at] == 0) {
                changes.push((at, [&whole[..at], &[0x80], &whole[at..]].concat()));
            }
            for (at, bytes) in &changes {
                match (kind.compare)(bytes, whole, message(kind), DecodeOptions::default()) {
                    Found::Same => same += 1,
                    // Out of order, or at the ends of time.
                    Found::OnlySerde | Found::Neither => refused += 1,
                    found => panic!("{sample}, at {at}: {found:?}"),
                }
            }
        }
    }
    assert!(same > 100 && refused > 100, "{same}, {refused}");
}

/// A pod with a volume of these bytes.
fn with_volume(volume: &[u8]) -> Vec<u8> {
    let (mut spec, mut pod) = (Vec::new(), Vec::new());
    put_bytes(1, volume, &mut spec);
    put_bytes(2, &spec, &mut pod);
    pod
}

#[test]
fn a_zero_in_more_bytes_than_one_is_zero() {
    let pod = COMPARED.iter().find(|kind| kind.kind == "Pod").unwrap();
    // An empty name, the generation 0, and a host network that is not used: none of them is there.
    for bytes in [&b"\x0a\x03\x0a\x80\x00"[..], b"\x0a\x03\x38\x80\x00", b"\x12\x03\x58\x80\x00"] {
        let found = (pod.compare)(bytes, b"", message(pod), DecodeOptions::default());
        assert_eq!(found, Found::OnlySerde, "{bytes:x?}");
    }
}

#[test]
fn numbers_that_no_field_has_are_not_taken_for_those_of_inlined_messages() {
    let pod = COMPARED.iter().find(|kind| kind.kind == "Pod").unwrap();
    let found = |volume: &[u8]| {
        let bytes = with_volume(volume);
        (pod.compare)(&bytes, b"", message(pod), DecodeOptions::default())
    };
    let numbered = |number: u32, wire: u32, value: &[u8]| {
        let mut volume = Vec::new();
        put_bytes(1, b"name", &mut volume);
        put_varint(Tag::new(number, wire).bits(), &mut volume);
        volume.extend_from_slice(value);
        volume
    };
    assert_eq!(found(&numbered(2, BYTES, b"\x04\x12\x02\x0a\x00")), Found::Same, "a directory, inlined");
    assert_eq!(found(&numbered(2002, BYTES, b"\x02\x0a\x00")), Found::OnlySerde, "nobody knows 2002");
    assert_eq!(found(&numbered(77, BYTES, b"\x02\x0a\x00")), Found::Same, "nor 77, which is like no other");
    assert_eq!(found(&numbered(2, BYTES, b"\x05\xea\x04\x02\x0a\x00")), Found::OnlySerde, "nor 77 inlined");
    assert_eq!(found(&numbered(2, VARINT, b"\x01")), Found::Neither, "an inlined message that is none");
    assert_eq!(found(&numbered(2, BYTES, b"\x05\x12\x02\x0a\x00")), Found::Neither, "cut");
}

#[test]
fn another_kind_than_the_types_own_is_not_filled_in_place() {
    use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
    let deployment = ProtoMessage::of("apps", "v1", "Deployment").unwrap();
    let options = DecodeOptions::default();
    assert!(decode::<Deployment>(b"", deployment, None, options, None).is_some());
    assert!(decode::<Deployment>(b"", deployment, Some(("apps/v1", "Deployment")), options, None).is_some());
    assert!(decode::<Deployment>(b"", deployment, Some(("apps/v1", "DaemonSet")), options, None).is_none());
    assert!(decode::<DaemonSet>(b"", deployment, None, options, None).is_none());
    assert!(decode::<serde_json::Value>(b"", deployment, None, options, None).is_none());
}
