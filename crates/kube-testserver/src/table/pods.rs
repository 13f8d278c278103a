//! The table of pods. STATUS is not a field: it is the most telling thing that a pod or one of its
//! containers says.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::cell::{
    NONE, at, condition, condition_is_true, is_deleted, list, number, or, text, text_or, time,
};
use super::column::{AGE, Column, NAME, string};

pub(super) const PODS: &[Column] = &[
    NAME,
    string("Ready", "How many of the pod's containers are ready.", |pod, now| {
        json!(Summary::of(pod, now).ready)
    }),
    string("Status", "What the pod is doing, or why it is not.", |pod, now| {
        json!(Summary::of(pod, now).status)
    }),
    string("Restarts", "How often containers were restarted, and when the last time was.", |pod, now| {
        json!(Summary::of(pod, now).restarts)
    }),
    AGE,
    string("IP", "The address of the pod.", |pod, _| {
        json!(or(text(pod, "/status/podIPs/0/ip"), text_or(pod, "/status/podIP", NONE)))
    })
    .wide(),
    string("Node", "The node that runs the pod.", |pod, _| json!(text_or(pod, "/spec/nodeName", NONE)))
        .wide(),
    string("Nominated Node", "The node on which room is being made for the pod.", |pod, _| {
        json!(text_or(pod, "/status/nominatedNodeName", NONE))
    })
    .wide(),
    string("Readiness Gates", "How many of the extra conditions for readiness hold.", |pod, _| {
        json!(readiness_gates(pod))
    })
    .wide(),
];

/// What a row says of a pod that has ended; kubectl leaves such pods out on request.
pub(super) fn row_conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match text(pod, "/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

/// The three cells that are worked out together.
struct Summary {
    ready: String,
    status: String,
    restarts: String,
}

/// Restarts so far, and when the last one was.
#[derive(Clone, Copy, Default)]
struct Restarts {
    number: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.number += number(container, "/restartCount");
        self.last = self.last.max(time(container, "/lastState/terminated/finishedAt"));
    }
}

impl Summary {
    fn of(pod: &Value, now: Timestamp) -> Self {
        let phase = text_or(pod, "/status/phase", "Pending");
        let mut status = text_or(pod, "/status/reason", phase).to_owned();
        if condition(pod, "PodScheduled").is_some_and(|one| one["reason"] == "SchedulingGated") {
            "SchedulingGated".clone_into(&mut status);
        }
        let sidecars = list(pod, "/spec/initContainers").iter().filter(|one| is_sidecar(one)).count();
        let total = list(pod, "/spec/containers").len() + sidecars;

        let init = Init::of(pod);
        let mut ready = init.ready_sidecars;
        let mut restarts = init.restarts;
        let initializing = init.status.is_some();
        if let Some(init_status) = init.status {
            status = init_status;
        }
        if !initializing || condition_is_true(pod, "Initialized") {
            restarts = init.sidecar_restarts;
            ready += running(pod, &mut status, &mut restarts);
        }

        if is_deleted(pod) && text(pod, "/status/reason") == "NodeLost" {
            "Unknown".clone_into(&mut status);
        } else if is_deleted(pod) && !matches!(phase, "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut status);
        }
        let restarts = match restarts {
            Restarts { number: number @ 1.., last: Some(last) } => {
                format!("{number} ({} ago)", age(now, Some(last)))
            }
            Restarts { number, .. } => number.to_string(),
        };
        Self { ready: format!("{ready}/{total}"), status, restarts }
    }
}

/// What the init containers say.
#[derive(Default)]
struct Init {
    /// What the first one that is not done is doing; none if all are done.
    status: Option<String>,
    restarts: Restarts,
    /// Of those that keep running beside the others.
    sidecar_restarts: Restarts,
    ready_sidecars: usize,
}

impl Init {
    fn of(pod: &Value) -> Self {
        let mut init = Self::default();
        let containers = list(pod, "/spec/initContainers");
        for (position, container) in list(pod, "/status/initContainerStatuses").iter().enumerate() {
            init.restarts.add(container);
            let sidecar = containers.iter().any(|one| one["name"] == container["name"] && is_sidecar(one));
            if sidecar {
                init.sidecar_restarts.add(container);
            }
            let terminated = at(container, "/state/terminated");
            let waiting = text(container, "/state/waiting/reason");
            if terminated.is_object() && number(terminated, "/exitCode") == 0 {
                continue;
            }
            if sidecar && container["started"] == json!(true) {
                init.ready_sidecars += usize::from(container["ready"] == json!(true));
                continue;
            }
            init.status = Some(if terminated.is_object() {
                format!("Init:{}", ending(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{position}/{}", containers.len())
            });
            break;
        }
        init
    }
}

/// Reads the containers, last one first, and returns how many are ready. The first one has the last word.
fn running(pod: &Value, status: &mut String, restarts: &mut Restarts) -> usize {
    let mut ready = 0;
    let mut failure = String::new();
    for container in list(pod, "/status/containerStatuses").iter().rev() {
        restarts.add(container);
        let waiting = text(container, "/state/waiting/reason");
        let terminated = at(container, "/state/terminated");
        if !waiting.is_empty() {
            waiting.clone_into(status);
        } else if terminated.is_object() {
            *status = ending(terminated);
            if number(terminated, "/exitCode") != 0 {
                failure.clone_from(status);
            }
        } else if container["ready"] == json!(true) && at(container, "/state/running").is_object() {
            ready += 1;
        }
    }
    // A container that is done is not the whole story while others are at work or have failed.
    if status == "Completed" {
        if ready > 0 && condition_is_true(pod, "Ready") {
            "Running".clone_into(status);
        } else if !failure.is_empty() {
            *status = failure;
        } else if ready > 0 {
            "NotReady".clone_into(status);
        }
    }
    ready
}

/// How a container ended.
fn ending(terminated: &Value) -> String {
    match (text(terminated, "/reason"), number(terminated, "/signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// An init container that keeps running.
fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let holding = gates.iter().filter(|gate| condition_is_true(pod, text(gate, "/conditionType"))).count();
    format!("{holding}/{}", gates.len())
}

#[cfg(test)]
mod tests {
    use super::super::columns_for;
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

    fn row(pod: &Value) -> Vec<Value> {
        columns_for("", "pods", None).cells(pod, NOW)
    }

    #[track_caller]
    fn check(pod: &Value, expected: [&str; 3]) {
        let row = row(pod);
        assert_eq!(row[1..4], expected.map(Value::from));
    }

    #[test]
    fn a_running_pod_with_a_restart() {
        let pod = json!({
            "metadata": {"name": "a", "creationTimestamp": "2023-11-14T20:13:20Z"},
            "spec": {"nodeName": "n1", "containers": [{"name": "c"}, {"name": "d"}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
                "containerStatuses": [
                    {"name": "c", "ready": true, "restartCount": 2, "state": {"running": {}},
                        "lastState": {"terminated": {"finishedAt": "2023-11-14T22:08:20Z"}}},
                    {"name": "d", "ready": false, "restartCount": 0, "state": {"running": {}}}]},
        });
        assert_eq!(
            row(&pod),
            [
                json!("a"),
                json!("1/2"),
                json!("Running"),
                json!("2 (5m ago)"),
                json!("120m"),
                json!("10.0.0.1"),
                json!("n1"),
                json!("<none>"),
                json!("<none>"),
            ]
        );
    }

    #[test]
    fn the_status_is_what_a_container_says() {
        let pod = |state: Value| {
            json!({"spec": {"containers": [{}]}, "status": {"phase": "Running", "containerStatuses": [
                {"state": state, "restartCount": 1}]}})
        };
        check(&pod(json!({"waiting": {"reason": "CrashLoopBackOff"}})), ["0/1", "CrashLoopBackOff", "1"]);
        check(&pod(json!({"terminated": {"exitCode": 3}})), ["0/1", "ExitCode:3", "1"]);
        check(&pod(json!({"terminated": {"exitCode": 137, "signal": 9}})), ["0/1", "Signal:9", "1"]);
        check(&pod(json!({"terminated": {"exitCode": 0, "reason": "Completed"}})), ["0/1", "Completed", "1"]);
    }

    #[test]
    fn init_containers_come_first() {
        let pod = |status: Value| {
            json!({"spec": {"containers": [{}], "initContainers": [{"name": "i"}, {"name": "j"}]},
                "status": {"phase": "Pending", "initContainerStatuses": status}})
        };
        let done = json!({"name": "i", "state": {"terminated": {"exitCode": 0}}});
        check(&pod(json!([done, {"name": "j", "state": {"running": {}}}])), ["0/1", "Init:1/2", "0"]);
        check(
            &pod(json!([{"name": "i", "state": {"waiting": {"reason": "ImagePullBackOff"}}}])),
            ["0/1", "Init:ImagePullBackOff", "0"],
        );
        check(
            &pod(json!([{"name": "i", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}])),
            ["0/1", "Init:Error", "0"],
        );
    }

    #[test]
    fn sidecars_count_as_containers() {
        let pod = json!({"spec": {"containers": [{}], "initContainers": [{"name": "s", "restartPolicy": "Always"}]},
            "status": {"phase": "Running",
                "initContainerStatuses": [{"name": "s", "started": true, "ready": true, "restartCount": 1,
                    "state": {"running": {}}}],
                "containerStatuses": [{"ready": true, "restartCount": 1, "state": {"running": {}}}]}});
        check(&pod, ["2/2", "Running", "2"]);
    }

    #[test]
    fn deletion_and_gates_show() {
        check(
            &json!({"metadata": {"deletionTimestamp": "2023-11-14T22:13:20Z"}, "status": {"phase": "Running"}}),
            ["0/0", "Terminating", "0"],
        );
        check(
            &json!({"status": {"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}}),
            ["0/0", "SchedulingGated", "0"],
        );
        let gated = json!({"spec": {"readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]},
            "status": {"conditions": [{"type": "x", "status": "True"}]}});
        assert_eq!(row(&gated)[8], "1/2");
    }

    #[test]
    fn a_pod_that_has_ended_says_so_beside_its_cells() {
        let columns = columns_for("", "pods", None);
        let ended = columns.conditions(&json!({"status": {"phase": "Succeeded"}})).unwrap();
        assert_eq!(ended[0]["type"], "Completed");
        assert!(columns.conditions(&json!({"status": {"phase": "Running"}})).is_none());
    }
}
