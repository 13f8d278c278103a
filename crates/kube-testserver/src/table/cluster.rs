//! Tables of nodes, namespaces, events and other things that many people look at.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::cell::{NONE, UNKNOWN, at, condition, count, flag, join, list, number, or, text, text_or, time};
use super::column::{AGE, Column, NAME, string};

pub(super) const NODES: &[Column] = &[
    NAME,
    string("Status", "Whether the node is ready, and whether it takes pods.", |node, _| {
        json!(node_status(node))
    }),
    string("Roles", "What the node is for, from its labels.", |node, _| json!(or(&node_roles(node), NONE))),
    AGE,
    string("Version", "The version of the kubelet.", |node, _| {
        json!(text(node, "/status/nodeInfo/kubeletVersion"))
    }),
    string("Internal-IP", "The address inside the cluster.", |node, _| {
        json!(node_address(node, "InternalIP"))
    })
    .wide(),
    string("External-IP", "The address outside the cluster.", |node, _| {
        json!(node_address(node, "ExternalIP"))
    })
    .wide(),
    string("OS-Image", "The operating system.", |node, _| {
        json!(text_or(node, "/status/nodeInfo/osImage", UNKNOWN))
    })
    .wide(),
    string("Kernel-Version", "The kernel and the architecture.", |node, _| {
        let kernel = text_or(node, "/status/nodeInfo/kernelVersion", UNKNOWN);
        json!(match text(node, "/status/nodeInfo/architecture") {
            "" => kernel.to_owned(),
            architecture => format!("{kernel} ({architecture})"),
        })
    })
    .wide(),
    string("Container-Runtime", "What runs the containers.", |node, _| {
        json!(text_or(node, "/status/nodeInfo/containerRuntimeVersion", UNKNOWN))
    })
    .wide(),
];

fn node_status(node: &Value) -> String {
    let ready = match condition(node, "Ready") {
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if flag(node, "/spec/unschedulable") { format!("{ready},SchedulingDisabled") } else { ready.to_owned() }
}

fn node_roles(node: &Value) -> String {
    let labels = at(node, "/metadata/labels").as_object().into_iter().flatten();
    let mut roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    roles.join(",")
}

fn node_address<'v>(node: &'v Value, ty: &str) -> &'v str {
    let address = list(node, "/status/addresses").iter().find(|address| address["type"] == ty);
    address.map_or(NONE, |address| text(address, "/address"))
}

pub(super) const NAMESPACES: &[Column] = &[
    NAME,
    string("Status", "Whether the namespace is in use or going away.", |namespace, _| {
        json!(text_or(namespace, "/status/phase", "Active"))
    }),
    AGE,
];

pub(super) const CONFIG_MAPS: &[Column] = &[
    NAME,
    string("Data", "How many entries there are.", |object, _| {
        json!(count(object, "/data") + count(object, "/binaryData"))
    }),
    AGE,
];

pub(super) const SECRETS: &[Column] = &[
    NAME,
    string("Type", "What the secret is for.", |object, _| json!(text_or(object, "/type", "Opaque"))),
    string("Data", "How many entries there are.", |object, _| json!(count(object, "/data"))),
    AGE,
];

pub(super) const EVENTS: &[Column] = &[
    string("Last Seen", "The time since it last happened.", |event, now| json!(last_seen(event, now))),
    string("Type", "Whether this is normal or a warning.", |event, _| json!(text(event, "/type"))),
    string("Reason", "Why it happened, in one word.", |event, _| json!(text(event, "/reason"))),
    string("Object", "What it happened to.", |event, _| {
        let object = either(event, "/involvedObject", "/regarding");
        let parts = [text(object, "/kind").to_lowercase(), text(object, "/name").to_owned()];
        json!(join(
            parts.iter().enumerate().filter(|(at, part)| *at == 0 || !part.is_empty()).map(|(_, part)| part),
            "/"
        ))
    }),
    string("Subobject", "The part of the object, for example a container.", |event, _| {
        json!(text(either(event, "/involvedObject", "/regarding"), "/fieldPath"))
    })
    .wide(),
    string("Source", "Who says so.", |event, _| json!(source(event))).wide(),
    string("Message", "What happened.", |event, _| {
        json!(either(event, "/message", "/note").as_str().unwrap_or_default().trim())
    }),
    string("First Seen", "The time since it first happened.", |event, now| json!(first_seen(event, now)))
        .wide(),
    string("Count", "How often it happened.", |event, _| {
        let once = either(event, "/count", "/deprecatedCount").as_i64().unwrap_or(0).max(1);
        json!(if at(event, "/series").is_null() { once } else { number(event, "/series/count") })
    })
    .wide(),
    NAME.wide(),
];

/// Events have two versions that name some fields differently.
fn either<'v>(event: &'v Value, one: &str, other: &str) -> &'v Value {
    match at(event, one) {
        Value::Null => at(event, other),
        value => value,
    }
}

fn first_seen(event: &Value, now: Timestamp) -> String {
    let first = time(event, "/firstTimestamp").or_else(|| time(event, "/deprecatedFirstTimestamp"));
    age(now, first.or_else(|| time(event, "/eventTime")))
}

fn last_seen(event: &Value, now: Timestamp) -> String {
    if !at(event, "/series").is_null() {
        return age(now, time(event, "/series/lastObservedTime"));
    }
    match time(event, "/lastTimestamp").or_else(|| time(event, "/deprecatedLastTimestamp")) {
        Some(last) => age(now, Some(last)),
        None => first_seen(event, now),
    }
}

fn source(event: &Value) -> String {
    let source = either(event, "/source", "/deprecatedSource");
    let reporter = either(event, "/reportingComponent", "/reportingController").as_str().unwrap_or_default();
    let component = text_or(source, "/component", reporter);
    match text_or(source, "/host", text(event, "/reportingInstance")) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}

pub(super) const LEASES: &[Column] = &[
    NAME,
    string("Holder", "Who has the lease.", |lease, _| json!(text(lease, "/spec/holderIdentity"))),
    AGE,
];

pub(super) const LEASE_CANDIDATES: &[Column] = &[
    NAME,
    string("LeaseName", "The lease that is wanted.", |object, _| json!(text(object, "/spec/leaseName"))),
    string("BinaryVersion", "The version of the candidate.", |object, _| {
        json!(text(object, "/spec/binaryVersion"))
    }),
    string("EmulationVersion", "The version that the candidate acts as.", |object, _| {
        json!(text(object, "/spec/emulationVersion"))
    }),
    AGE,
];

pub(super) const RUNTIME_CLASSES: &[Column] = &[
    NAME,
    string("Handler", "The name of the runtime on nodes.", |class, _| json!(text(class, "/handler"))),
    AGE,
];

#[cfg(test)]
mod tests {
    use super::super::columns_for;
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

    #[test]
    fn nodes_show_their_roles_and_readiness() {
        let node = json!({
            "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": "",
                "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "extra"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "False"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1.37.0", "osImage": "Linux", "kernelVersion": "6.1",
                    "architecture": "amd64", "containerRuntimeVersion": "containerd://2"}}});
        assert_eq!(
            json!(columns_for("", "nodes", None).cells(&node, NOW)),
            json!([
                "n",
                "NotReady,SchedulingDisabled",
                "control-plane,extra,worker",
                "<unknown>",
                "v1.37.0",
                "10.0.0.1",
                "<none>",
                "Linux",
                "6.1 (amd64)",
                "containerd://2"
            ])
        );
    }

    #[test]
    fn both_versions_of_an_event_look_the_same() {
        let core = json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "Started", "message": " hi\n",
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "x"}, "count": 3,
            "source": {"component": "kubelet", "host": "n"},
            "firstTimestamp": "2023-11-14T22:12:20Z", "lastTimestamp": "2023-11-14T22:13:10Z"});
        let newer = json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "Started", "note": " hi\n",
            "regarding": {"kind": "Pod", "name": "p", "fieldPath": "x"}, "deprecatedCount": 3,
            "deprecatedSource": {"component": "kubelet", "host": "n"},
            "deprecatedFirstTimestamp": "2023-11-14T22:12:20Z", "deprecatedLastTimestamp": "2023-11-14T22:13:10Z"});
        let expected = json!(["10s", "Normal", "Started", "pod/p", "x", "kubelet, n", "hi", "60s", 3, "e"]);
        assert_eq!(json!(columns_for("", "events", None).cells(&core, NOW)), expected);
        assert_eq!(json!(columns_for("events.k8s.io", "events", None).cells(&newer, NOW)), expected);
    }
}
