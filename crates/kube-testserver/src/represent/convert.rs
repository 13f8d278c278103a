//! Kinds whose versions differ in shape, not only in name.
//!
//! Objects rest in one version. Most versions of a resource differ in what they call themselves, which
//! costs nothing; these two need more: `events.k8s.io/v1` (kept as core `v1`) and `autoscaling/v1`
//! (kept as `autoscaling/v2`).

use serde_json::{Map, Value, json};

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
        _ => autoscaler_to_v1(object),
    }
}

/// Turns an object of the resource's version into the stored one.
pub(crate) fn to_storage(resource: &Resource, object: &mut Object) {
    if !is_needed(resource) {
        return;
    }
    match &*resource.group {
        "events.k8s.io" => rename(object, EVENT_NAMES.iter().map(|(core, new)| (*new, *core))),
        _ => autoscaler_from_v1(object),
    }
}

fn rename<'a>(object: &mut Object, names: impl Iterator<Item = (&'a str, &'a str)>) {
    for (from, to) in names {
        if let Some(value) = object.remove(from) {
            object.insert(to.to_owned(), value);
        }
    }
}

/// The one metric that `autoscaling/v1` has; other metrics are not shown in it.
fn autoscaler_to_v1(object: &mut Object) {
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        let metrics = spec.remove("metrics");
        spec.remove("behavior");
        if let Some(target) =
            metrics.as_ref().and_then(|metrics| cpu(metrics, "/resource/target/averageUtilization"))
        {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), target);
        }
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        let metrics = status.remove("currentMetrics");
        status.remove("conditions");
        status.entry("currentReplicas").or_insert_with(|| json!(0));
        if let Some(current) =
            metrics.as_ref().and_then(|metrics| cpu(metrics, "/resource/current/averageUtilization"))
        {
            status.insert("currentCPUUtilizationPercentage".to_owned(), current);
        }
    }
}

fn autoscaler_from_v1(object: &mut Object) {
    if let Some(Value::Object(spec)) = object.get_mut("spec")
        && let Some(target) = spec.remove("targetCPUUtilizationPercentage")
    {
        let metric = json!({
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}},
        });
        spec.insert("metrics".to_owned(), json!([metric]));
    }
    if let Some(Value::Object(status)) = object.get_mut("status")
        && status.get("currentReplicas").is_some_and(|replicas| replicas == 0)
    {
        // v2 leaves it out.
        status.remove("currentReplicas");
    }
    if let Some(Value::Object(status)) = object.get_mut("status")
        && let Some(current) = status.remove("currentCPUUtilizationPercentage")
    {
        let metric = json!({
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": current}},
        });
        status.insert("currentMetrics".to_owned(), json!([metric]));
    }
}

fn cpu(metrics: &Value, pointer: &str) -> Option<Value> {
    let of_cpu = |metric: &&Value| metric.pointer("/resource/name").is_some_and(|name| name == "cpu");
    metrics.as_array()?.iter().find(of_cpu)?.pointer(pointer).cloned()
}
