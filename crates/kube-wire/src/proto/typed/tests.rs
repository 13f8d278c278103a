//! What is filled in place is what serde makes of the same bytes.

use k8s_openapi::Resource;
use serde::de::DeserializeOwned;

use super::places::COMPARED;
use super::*;

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../../../tests/support/samples.rs"]
mod samples;

/// A kind, and what is found when its bytes are decoded in both ways.
pub(super) struct Compared {
    api_version: &'static str,
    kind: &'static str,
    compare: fn(&[u8], ProtoMessage, DecodeOptions) -> Found,
    /// Whether an object is the same if it is made of another, and whether its memory is what it would be.
    remake: fn(&[&[u8]], ProtoMessage) -> usize,
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
    Compared { api_version: T::API_VERSION, kind: T::KIND, compare: compare::<T>, remake: remake::<T> }
}

fn compare<T: DeserializeOwned + PartialEq + 'static>(
    object: &[u8],
    message: ProtoMessage,
    options: DecodeOptions,
) -> Found {
    /// A type that is not one of those that are filled in place.
    #[derive(serde::Deserialize)]
    #[serde(transparent, bound = "T: DeserializeOwned")]
    struct Through<T>(T);

    let in_place: Option<T> = decode(object, message, None, options, None);
    let through: Option<Through<T>> = crate::decode_object_proto(object, message, options).ok();
    match (in_place, through) {
        (Some(one), Some(Through(other))) if one == other => Found::Same,
        (Some(_), Some(_)) => Found::Other,
        (None, Some(_)) => Found::OnlySerde,
        (Some(_), None) => Found::OnlyInPlace,
        (None, None) => Found::Neither,
    }
}

/// Makes each object of each other one; returns how many are what they are if they are made of nothing.
fn remake<T: DeserializeOwned + PartialEq + 'static>(objects: &[&[u8]], message: ProtoMessage) -> usize {
    let decode =
        |object: &[u8], spare: Option<Box<T>>| decode(object, message, None, DecodeOptions::default(), spare);
    let usual: Vec<&[u8]> = objects.iter().copied().filter(|object| decode(object, None).is_some()).collect();
    let pairs = usual.iter().flat_map(|first| usual.iter().map(move |then| (first, then)));
    let same = pairs.filter(|(first, then)| decode(then, decode(first, None)) == decode(then, None));
    same.count()
}

fn message(kind: &Compared) -> ProtoMessage {
    let (group, version) = kind.api_version.split_once('/').unwrap_or(("", kind.api_version));
    ProtoMessage::of(group, version, kind.kind).unwrap()
}

#[test]
fn every_kind_is_filled_in_place_with_what_serde_makes_of_it() {
    let samples = samples::checked_in();
    for kind in COMPARED {
        let mut seen = 0;
        for sample in &samples {
            if (sample.api_version.as_str(), sample.kind.as_str()) != (kind.api_version, kind.kind) {
                continue;
            }
            for keep in [false, true] {
                let options = DecodeOptions::default().keep_managed_fields(keep);
                match (kind.compare)(&sample.protobuf, message(kind), options) {
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
        let is_it = |sample: &&samples::Sample| {
            (&*sample.api_version, &*sample.kind) == (kind.api_version, kind.kind)
        };
        let objects: Vec<&[u8]> =
            samples.iter().filter(is_it).map(|sample| sample.protobuf.as_slice()).chain([&b""[..]]).collect();
        let usual = objects.iter().filter(|object| (kind.remake)(&[object], message(kind)) == 1).count();
        assert!(usual >= 3, "{} {}: only {usual} samples", kind.api_version, kind.kind);
        assert_eq!(
            (kind.remake)(&objects, message(kind)),
            usual * usual,
            "{} {}",
            kind.api_version,
            kind.kind
        );
    }
}

#[test]
fn bytes_that_are_cut_or_changed_are_never_taken_for_something_else() {
    let samples = samples::checked_in();
    let (mut same, mut refused) = (0, 0);
    for kind in COMPARED {
        let is_it = |sample: &&samples::Sample| {
            (&*sample.api_version, &*sample.kind) == (kind.api_version, kind.kind)
        };
        for sample in samples.iter().filter(is_it).take(2) {
            let step = sample.protobuf.len() / 40 + 1;
            for at in (0..sample.protobuf.len()).step_by(step) {
                let mut changed = sample.protobuf.clone();
                changed[at] ^= 0x15;
                for bytes in [&sample.protobuf[..at], &changed] {
                    match (kind.compare)(bytes, message(kind), DecodeOptions::default()) {
                        Found::Same => same += 1,
                        // Out of order, or at the ends of time.
                        Found::OnlySerde | Found::Neither => refused += 1,
                        found => panic!("{sample}, at {at}: {found:?}"),
                    }
                }
            }
        }
    }
    assert!(same > 100 && refused > 100, "{same}, {refused}");
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
