//! The QoS class of a pod, computed from its CPU and memory requests and limits.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::quantity_in_nanos;

/// The resources that the class depends on.
const COMPUTE: [&str; 2] = ["cpu", "memory"];

/// Sums of quantities, by the name of the resource.
type Sums<'a> = BTreeMap<&'a str, i128>;

/// Computes the class of a pod spec. Guaranteed: every container limits CPU and memory and requests as much. Best effort: no
/// requests and no limits. If the pod itself has `resources`, even empty ones, only these count, and the containers are
/// ignored: Kubernetes 1.36 does not look into them first, as 1.37 does.
pub(super) fn class(spec: &Value) -> &'static str {
    let (mut requests, mut limits) = (Sums::new(), Sums::new());
    let mut all_limited = true;
    let whole = spec.get("resources").filter(|resources| !resources.is_null());
    let parts: Vec<&Value> = match whole {
        Some(resources) => vec![resources],
        None => ["containers", "initContainers"]
            .iter()
            .flat_map(|list| spec[*list].as_array().into_iter().flatten())
            .map(|container| &container["resources"])
            .collect(),
    };
    for resources in parts {
        add(&mut requests, &resources["requests"]);
        all_limited &= add(&mut limits, &resources["limits"]) == COMPUTE.len();
    }
    match (requests.is_empty() && limits.is_empty(), all_limited && requests == limits) {
        (true, _) => "BestEffort",
        (false, true) => "Guaranteed",
        (false, false) => "Burstable",
    }
}

/// Whether a pod as a whole can request and limit this resource, as it can CPU, memory and huge pages.
pub(super) fn is_pod_level(resource: &str) -> bool {
    COMPUTE.contains(&resource) || is_huge_pages(resource)
}

/// Whether this resource is huge pages, of any size.
pub(super) fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}

/// Adds positive quantities to their sums; returns how many there were.
fn add<'a>(sums: &mut Sums<'a>, quantities: &Value) -> usize {
    let mut count = 0;
    for name in COMPUTE {
        let nanos = quantities[name].as_str().map_or(0, quantity_in_nanos);
        if nanos > 0 {
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(nanos);
            count += 1;
        }
    }
    count
}
