//! What controllers want to know of pods.

use std::cmp::Reverse;

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// The annotation that says how bad it is to lose a pod.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The pod works, will work, or may: it is neither done nor told to end.
pub fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && pod.metadata.deletion_timestamp.is_none()
}

/// The pod has done its work, or failed to.
pub fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// `Pending`, `Running`, …; empty if it is not said.
pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Which node the pod is on; none if it has not been decided.
pub fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

/// The pod can be sent work.
pub fn is_ready(pod: &Pod) -> bool {
    ready_condition(pod).is_some()
}

/// The pod has been ready for so long.
pub fn is_available(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> bool {
    if min_ready_seconds == 0 {
        return is_ready(pod);
    }
    let since = ready_since(pod);
    since
        .is_some_and(|since| now.duration_since(since) >= SignedDuration::from_secs(min_ready_seconds.into()))
}

fn ready_condition(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn ready_since(pod: &Pod) -> Option<Timestamp> {
    Some(ready_condition(pod)?.last_transition_time.as_ref()?.0)
}

/// A pod as a template says, looked after by an owner. The server finds the name.
pub fn from_template(template: &PodTemplateSpec, owner: OwnerReference, namespace: &str) -> Pod {
    let meta = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", owner.name)),
            namespace: Some(namespace.to_owned()),
            labels: meta.labels,
            annotations: meta.annotations,
            finalizers: meta.finalizers,
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// What decides which pod goes first: the smallest does. `beside` says how many related pods are on the node.
pub fn worth(pod: &Pod, beside: usize) -> impl Ord + use<> {
    let cost = pod.metadata.annotations.as_ref().and_then(|all| all.get(DELETION_COST));
    let restarts = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let phase = match phase(pod) {
        "Pending" => 0,
        "Running" => 2,
        _ => 1,
    };
    (
        (node(pod).is_some(), phase, is_ready(pod)),
        cost.and_then(|cost| cost.parse::<i32>().ok()).unwrap_or(0),
        Reverse(beside),
        Reverse(ready_since(pod)),
        Reverse(restarts.map(|container| container.restart_count).max().unwrap_or(0)),
        Reverse(pod.metadata.creation_timestamp.as_ref().map(|time| time.0)),
        // So that the same pods always go in the same order.
        pod.metadata.name.clone(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, change: &Value) -> Pod {
        let mut pod = json!({
            "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"containers": [], "nodeName": "n"},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            ]},
        });
        for (pointer, value) in change.as_object().unwrap() {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            pod.pointer_mut(parent).unwrap()[field] = value.clone();
        }
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn the_pod_goes_first_that_is_missed_least() {
        let waiting = json!([{"type": "Ready", "status": "False"}]);
        let newer =
            json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-02-01T00:00:00Z"}]);
        let restarted = json!([{"name": "c", "image": "", "imageID": "", "ready": true, "restartCount": 3}]);
        let from_least_to_most = [
            (pod("unassigned", &json!({"/spec/nodeName": ""})), 0),
            (pod("pending", &json!({"/status/phase": "Pending"})), 0),
            (pod("unknown", &json!({"/status/phase": "Unknown"})), 0),
            (pod("unready", &json!({"/status/conditions": waiting})), 0),
            (pod("cheap", &json!({"/metadata/annotations": {DELETION_COST: "-5"}})), 0),
            (pod("crowded", &json!({})), 2),
            (pod("lately-ready", &json!({"/status/conditions": newer})), 0),
            (pod("restarted", &json!({"/status/containerStatuses": restarted})), 0),
            (pod("young", &json!({"/metadata/creationTimestamp": "2026-02-01T00:00:00Z"})), 0),
            (pod("old", &json!({})), 0),
            (pod("precious", &json!({"/metadata/annotations": {DELETION_COST: "5"}})), 0),
        ];
        for pair in from_least_to_most.windows(2) {
            let [(one, beside_one), (two, beside_two)] = pair else { unreachable!() };
            let (less, more) = (worth(one, *beside_one), worth(two, *beside_two));
            assert!(less < more, "{:?} before {:?}", one.metadata.name, two.metadata.name);
        }
    }

    #[test]
    fn a_pod_is_available_when_it_has_been_ready_long_enough() {
        let pod = pod("web", &json!({}));
        let at = |second: i64| Timestamp::new(1_767_225_600 + second, 0).unwrap();
        assert!(is_available(&pod, 0, at(0)));
        assert!(!is_available(&pod, 10, at(9)));
        assert!(is_available(&pod, 10, at(10)));
    }
}
