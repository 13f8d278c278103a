//! Kinds whose versions differ in shape, not only in name.
//!
//! Objects rest in one version. Most versions of a resource differ in what they call themselves, which
//! costs nothing; these two need more: `events.k8s.io/v1` (kept as core `v1`) and `autoscaling/v1`
//! (kept as `autoscaling/v2`).

mod autoscaler;

pub(crate) use autoscaler::{complete_behavior, has_other_metrics};

use serde_json::{Map, Value};

use crate::kinds::Resource;

type Object = Map<String, Value>;

/// Core name and `events.k8s.io` name of the fields that differ.
const EVENT_NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Whether this version differs in shape from the stored one.
pub(crate) fn is_needed(resource: &Resource) -> bool {
    matches!((&*resource.group, &*resource.version), ("events.k8s.io", _) | ("autoscaling", "v1"))
        && resource.custom.is_none()
}

/// Turns a stored object into the resource's version.
pub(crate) fn from_storage(resource: &Resource, object: &mut Object) {
    if !is_needed(resource) {
        return;
    }
    match &*resource.group {
        "events.k8s.io" => rename(object, EVENT_NAMES.iter().map(|(core, new)| (*core, *new))),
        _ => autoscaler::to_v1(object),
    }
}

/// Turns an object of the resource's version into the stored one.
pub(crate) fn to_storage(resource: &Resource, object: &mut Object) {
    if !is_needed(resource) {
        return;
    }
    match &*resource.group {
        "events.k8s.io" => rename(object, EVENT_NAMES.iter().map(|(core, new)| (*new, *core))),
        _ => autoscaler::from_v1(object),
    }
}

fn rename<'a>(object: &mut Object, names: impl Iterator<Item = (&'a str, &'a str)>) {
    for (from, to) in names {
        if let Some(value) = object.remove(from) {
            object.insert(to.to_owned(), value);
        }
    }
}
