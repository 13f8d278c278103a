//! The default requests and limits of pods: those of a pod follow from those of its containers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::qos;
use super::{Object, child, elements, fill_from, set};
use crate::schema::{quantity_in_nanos, quantity_sum};

/// Fills in missing requests from limits. A pod with limits of its own requests as much CPU and memory as its containers do
/// together, and as much as its limits for what they do not request.
pub(super) fn requests(spec: &mut Object) {
    for list in ["containers", "initContainers"] {
        for resources in elements(spec, list).filter_map(|container| child(container, "resources")) {
            fill_from(resources, "limits", "requests");
        }
    }
    huge_page_limits(spec);
    let Some(resources) = spec.get("resources").and_then(Value::as_object) else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object) else { return };
    if limits.is_empty() {
        return;
    }
    let mut requests = resources.get("requests").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, requested) in most(spec, "requests", |name| matches!(name, "cpu" | "memory")) {
        set(&mut requests, name, || json!(requested));
    }
    for (name, limit) in limits.iter().filter(|(name, _)| qos::is_pod_level(name)) {
        set(&mut requests, name, || limit.clone());
    }
    if !requests.is_empty()
        && let Some(resources) = child(spec, "resources")
    {
        resources.insert("requests".to_owned(), Value::Object(requests));
    }
}

/// Fills in the pod's limits of huge pages from those of its containers, if the pod limits or requests anything itself. It
/// fills in no limit of huge pages that the pod requests.
fn huge_page_limits(spec: &mut Object) {
    let Some(resources) = spec.get("resources").and_then(Value::as_object) else { return };
    let list = |name: &str| resources.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let (mut limits, requests) = (list("limits"), list("requests"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    for (name, limit) in most(spec, "limits", qos::is_huge_pages) {
        if !requests.contains_key(name) {
            set(&mut limits, name, || json!(limit));
        }
    }
    if !limits.is_empty()
        && let Some(resources) = child(spec, "resources")
    {
        resources.insert("limits".to_owned(), Value::Object(limits));
    }
}

/// Amounts by the name of the resource.
type Amounts<'a> = BTreeMap<&'a str, String>;

/// The most of each resource that the containers of a pod request (or limit, as `list` says) at the same time. It lacks the
/// resources that no container requests. Init containers run one by one, each beside the sidecars listed before it.
fn most<'a>(spec: &'a Object, list: &str, counts: impl Fn(&str) -> bool) -> Amounts<'a> {
    let containers = |field: &str| spec.get(field).and_then(Value::as_array).into_iter().flatten();
    let amounts = |container: &'a Value| {
        let all = container["resources"][list].as_object().into_iter().flatten();
        all.filter_map(|(name, amount)| Some((name.as_str(), amount.as_str()?)))
            .filter(|(name, _)| counts(name))
    };
    let (mut running, mut sidecars, mut init) = (Amounts::new(), Amounts::new(), Amounts::new());
    for (name, amount) in containers("containers").flat_map(&amounts) {
        add(&mut running, name, amount);
    }
    for container in containers("initContainers") {
        let is_sidecar = container["restartPolicy"] == "Always";
        for (name, amount) in amounts(container) {
            if is_sidecar {
                add(&mut running, name, amount);
                add(&mut sidecars, name, amount);
            } else {
                let beside = sidecars.get(name);
                raise(
                    &mut init,
                    name,
                    beside.map_or(amount.to_owned(), |beside| quantity_sum(amount, beside)),
                );
            }
        }
    }
    for (name, amount) in init {
        raise(&mut running, name, amount);
    }
    running
}

fn add<'a>(amounts: &mut Amounts<'a>, name: &'a str, more: &str) {
    let sum = amounts.get(name).map_or(more.to_owned(), |sum| quantity_sum(sum, more));
    amounts.insert(name, sum);
}

/// Replaces an amount by a larger one.
fn raise<'a>(amounts: &mut Amounts<'a>, name: &'a str, amount: String) {
    if amounts.get(name).is_none_or(|most| quantity_in_nanos(&amount) > quantity_in_nanos(most)) {
        amounts.insert(name, amount);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::filled;
    use super::*;

    #[test]
    fn a_pod_with_limits_requests_what_its_containers_request() {
        let requests = |resources: Value, containers: Value, init: Value| {
            let spec = json!({"resources": resources, "containers": containers, "initContainers": init});
            filled("", "pods", json!({"spec": spec}))["spec"]["resources"]["requests"].clone()
        };
        let cpu = |cpu: &str| json!({"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}});
        let sidecar = |cpu: &str| json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}});
        let limits = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
        for (containers, init, expected) in [
            (json!([cpu("100m")]), json!([]), json!({"cpu": "100m", "memory": "1Gi"})),
            (json!([cpu("100m"), cpu("200m")]), json!([]), json!({"cpu": "300m", "memory": "1Gi"})),
            (
                json!([cpu("100m")]),
                json!([cpu("400m"), cpu("500m")]),
                json!({"cpu": "500m", "memory": "1Gi"}),
            ),
            (
                json!([cpu("100m")]),
                json!([sidecar("50m"), cpu("90m")]),
                json!({"cpu": "150m", "memory": "1Gi"}),
            ),
            (
                json!([cpu("100m")]),
                json!([sidecar("50m"), cpu("190m")]),
                json!({"cpu": "240m", "memory": "1Gi"}),
            ),
            (json!([{"name": "c"}]), json!([]), json!({"cpu": "1", "memory": "1Gi"})),
        ] {
            assert_eq!(requests(limits.clone(), containers, init), expected);
        }
        // CPU is requested though it has no limit; what a pod cannot have as a whole is not.
        let other = json!({"limits": {"hugepages-2Mi": "4Mi", "example.com/gpu": "1"}, "requests": {"memory": "1Gi"}});
        let expected = json!({"cpu": "100m", "memory": "1Gi", "hugepages-2Mi": "4Mi"});
        assert_eq!(requests(other, json!([cpu("100m")]), json!([])), expected);
        assert_eq!(requests(json!({"limits": {}}), json!([cpu("100m")]), json!([])), Value::Null);
    }

    #[test]
    fn a_pod_with_resources_limits_the_huge_pages_that_its_containers_limit() {
        let resources = |resources: Value, containers: Value, init: Value| {
            let spec = json!({"resources": resources, "containers": containers, "initContainers": init});
            filled("", "pods", json!({"spec": spec}))["spec"]["resources"].clone()
        };
        let pages = |pages: &str| {
            let limits = json!({"hugepages-2Mi": pages, "memory": "1Gi", "cpu": "1"});
            json!({"name": "c", "image": "i:1", "resources": {"limits": limits}})
        };
        for (given, containers, init, limits, requests) in [
            (
                json!({"limits": {"cpu": "3"}}),
                json!([pages("4Mi"), pages("2Mi")]),
                json!([pages("8Mi")]),
                json!({"cpu": "3", "hugepages-2Mi": "8Mi"}),
                json!({"cpu": "2", "memory": "2Gi", "hugepages-2Mi": "8Mi"}),
            ),
            (
                json!({"requests": {"cpu": "3"}}),
                json!([pages("4Mi"), pages("2Mi")]),
                json!([]),
                json!({"hugepages-2Mi": "6Mi"}),
                json!({"cpu": "3", "memory": "2Gi", "hugepages-2Mi": "6Mi"}),
            ),
            (
                json!({"limits": {"hugepages-2Mi": "10Mi"}}),
                json!([pages("4Mi")]),
                json!([]),
                json!({"hugepages-2Mi": "10Mi"}),
                json!({"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "10Mi"}),
            ),
            // The pages that a pod requests get no limit.
            (
                json!({"requests": {"hugepages-2Mi": "4Mi"}}),
                json!([pages("4Mi")]),
                json!([]),
                Value::Null,
                json!({"hugepages-2Mi": "4Mi"}),
            ),
            (json!({}), json!([pages("4Mi")]), json!([]), Value::Null, Value::Null),
        ] {
            let got = resources(given.clone(), containers, init);
            assert_eq!((&got["limits"], &got["requests"]), (&limits, &requests), "{given}");
        }
    }
}
