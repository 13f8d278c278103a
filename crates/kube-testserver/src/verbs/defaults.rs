//! The defaults of built-in kinds that clients read back: workloads, pods, services and a few more.
//!
//! Kubernetes fills them in whenever it reads an object, so a client that compares what it wrote with what it
//! reads meets them everywhere. What admission plugins add (tolerations, priorities, addresses) is not here.

mod resources;

use serde_json::{Map, Value, json};

use crate::kinds::Resource;
use crate::represent::{complete_behavior, has_other_metrics};

type Object = Map<String, Value>;

/// Fills in what the client left out.
pub(crate) fn fill(resource: &Resource, object: &mut Value) {
    let Value::Object(object) = object else { return };
    match (&*resource.group, &*resource.plural) {
        ("", "pods") => {
            if let Some(spec) = child(object, "spec") {
                pod_spec(spec);
                set(spec, "enableServiceLinks", || json!(true));
                resources::requests(spec);
            }
        }
        ("", "podtemplates") => template(object),
        ("", "replicationcontrollers") | ("apps", "replicasets") => workload(object, |spec| {
            set(spec, "replicas", || json!(1));
        }),
        ("apps", "deployments") => workload(object, deployment),
        ("apps", "statefulsets") => workload(object, stateful_set),
        ("apps", "daemonsets") => workload(object, daemon_set),
        ("batch", "jobs") => workload(object, job),
        ("batch", "cronjobs") => cron_job(object),
        ("", "services") => service(object),
        ("", "persistentvolumeclaims") => {
            if let Some(spec) = child(object, "spec") {
                set(spec, "volumeMode", || json!("Filesystem"));
            }
        }
        ("", "persistentvolumes") => {
            if let Some(spec) = child(object, "spec") {
                set(spec, "persistentVolumeReclaimPolicy", || json!("Retain"));
                set(spec, "volumeMode", || json!("Filesystem"));
            }
        }
        ("storage.k8s.io", "storageclasses") => {
            set(object, "reclaimPolicy", || json!("Delete"));
            set(object, "volumeBindingMode", || json!("Immediate"));
        }
        ("autoscaling", "horizontalpodautoscalers") => {
            let is_measured = &*resource.version == "v1" && has_other_metrics(object);
            if let Some(spec) = child(object, "spec") {
                set(spec, "minReplicas", || json!(1));
                if !is_measured {
                    autoscaler_target(&resource.version, spec);
                }
                complete_behavior(spec);
            }
        }
        ("", "limitranges") => {
            if let Some(spec) = child(object, "spec") {
                elements(spec, "limits").for_each(limit_range);
            }
        }
        ("scheduling.k8s.io", "priorityclasses") => {
            set(object, "preemptionPolicy", || json!("PreemptLowerPriority"));
        }
        ("coordination.k8s.io", "leases") => set(object, "spec", || json!({})),
        _ => {}
    }
    status(resource, object);
}

/// Fills in the part of an empty status that Go always writes: the struct itself, and its counts.
pub(crate) fn status(resource: &Resource, object: &mut Object) {
    let empty = match (&*resource.group, &*resource.plural) {
        ("apps", "deployments")
        | ("batch", "jobs" | "cronjobs")
        | ("", "resourcequotas")
        | ("admissionregistration.k8s.io", "validatingadmissionpolicies")
        | ("apiregistration.k8s.io", "apiservices")
        | ("certificates.k8s.io", "certificatesigningrequests" | "podcertificaterequests")
        | ("flowcontrol.apiserver.k8s.io", _)
        | ("networking.k8s.io", "servicecidrs")
        | ("resource.k8s.io", "resourceclaims") => json!({}),
        ("", "replicationcontrollers") | ("apps", "replicasets") => json!({"replicas": 0}),
        ("apps", "statefulsets") => json!({"availableReplicas": 0, "replicas": 0}),
        ("apps", "daemonsets") => json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
        }),
        ("", "services") | ("networking.k8s.io", "ingresses") => json!({"loadBalancer": {}}),
        ("policy", "poddisruptionbudgets") => json!({
            "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0,
        }),
        ("autoscaling", "horizontalpodautoscalers") => json!({"desiredReplicas": 0}),
        ("storage.k8s.io", "volumeattachments") => json!({"attached": false}),
        _ => return,
    };
    let Value::Object(empty) = empty else { return };
    let status = ensure(object, "status");
    for (field, value) in empty {
        set(status, &field, || value);
    }
}

/// Fills in the default metric of an autoscaler: a CPU utilization of 80%.
fn autoscaler_target(version: &str, spec: &mut Object) {
    const PERCENT: i64 = 80;
    if version == "v1" {
        set(spec, "targetCPUUtilizationPercentage", || json!(PERCENT));
    } else if spec.get("metrics").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        let target = json!({"type": "Utilization", "averageUtilization": PERCENT});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        spec.insert("metrics".to_owned(), json!([metric]));
    }
}

/// Fills in default limits from `max`, and default requests from these, then from `min`. Only containers have defaults.
fn limit_range(limit: &mut Object) {
    if limit.get("type").is_none_or(|kind| kind != "Container") {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        fill_from(limit, from, to);
    }
}

/// Copies the entries of one map whose names another map lacks.
fn fill_from(object: &mut Object, from: &str, to: &str) {
    let Some(entries) = child(object, from).filter(|entries| !entries.is_empty()).cloned() else { return };
    let target = ensure(object, to);
    for (name, value) in entries {
        set(target, &name, || value);
    }
}

/// A kind with a pod template in its spec.
fn workload(object: &mut Object, own: impl FnOnce(&mut Object)) {
    let Some(spec) = child(object, "spec") else { return };
    own(spec);
    template(spec);
}

fn deployment(spec: &mut Object) {
    set(spec, "replicas", || json!(1));
    set(spec, "revisionHistoryLimit", || json!(10));
    set(spec, "progressDeadlineSeconds", || json!(600));
    let strategy = ensure(spec, "strategy");
    set(strategy, "type", || json!("RollingUpdate"));
    if strategy["type"] == "RollingUpdate" {
        let rolling = ensure(strategy, "rollingUpdate");
        set(rolling, "maxUnavailable", || json!("25%"));
        set(rolling, "maxSurge", || json!("25%"));
    }
}

fn stateful_set(spec: &mut Object) {
    set(spec, "replicas", || json!(1));
    set(spec, "podManagementPolicy", || json!("OrderedReady"));
    set(spec, "revisionHistoryLimit", || json!(10));
    set(
        spec,
        "persistentVolumeClaimRetentionPolicy",
        || json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
    );
    let strategy = ensure(spec, "updateStrategy");
    set(strategy, "type", || json!("RollingUpdate"));
    if strategy["type"] == "RollingUpdate" {
        set(ensure(strategy, "rollingUpdate"), "partition", || json!(0));
    }
}

fn daemon_set(spec: &mut Object) {
    set(spec, "revisionHistoryLimit", || json!(10));
    let strategy = ensure(spec, "updateStrategy");
    set(strategy, "type", || json!("RollingUpdate"));
    if strategy["type"] == "RollingUpdate" {
        let rolling = ensure(strategy, "rollingUpdate");
        set(rolling, "maxUnavailable", || json!(1));
        set(rolling, "maxSurge", || json!(0));
    }
}

fn job(spec: &mut Object) {
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        set(spec, "completions", || json!(1));
    }
    set(spec, "parallelism", || json!(1));
    set(spec, "backoffLimit", || json!(6));
    set(spec, "completionMode", || json!("NonIndexed"));
    set(spec, "suspend", || json!(false));
    set(spec, "manualSelector", || json!(false));
    set(spec, "podReplacementPolicy", || json!("TerminatingOrFailed"));
}

fn cron_job(object: &mut Object) {
    let Some(spec) = child(object, "spec") else { return };
    set(spec, "concurrencyPolicy", || json!("Allow"));
    set(spec, "suspend", || json!(false));
    set(spec, "successfulJobsHistoryLimit", || json!(3));
    set(spec, "failedJobsHistoryLimit", || json!(1));
    if let Some(job_spec) = child(spec, "jobTemplate").and_then(|template| child(template, "spec")) {
        template(job_spec);
    }
}

fn service(object: &mut Object) {
    let Some(spec) = child(object, "spec") else { return };
    set(spec, "type", || json!("ClusterIP"));
    set(spec, "sessionAffinity", || json!("None"));
    if spec["type"] != "ExternalName" {
        set(spec, "internalTrafficPolicy", || json!("Cluster"));
    }
    for port in elements(spec, "ports") {
        set(port, "protocol", || json!("TCP"));
        if let Some(number) = port.get("port").cloned() {
            set(port, "targetPort", || number);
        }
    }
}

/// The pod template in a spec.
fn template(spec: &mut Object) {
    if let Some(pod) = child(spec, "template").and_then(|template| child(template, "spec")) {
        pod_spec(pod);
    }
}

fn pod_spec(spec: &mut Object) {
    set(spec, "restartPolicy", || json!("Always"));
    set(spec, "terminationGracePeriodSeconds", || json!(30));
    set(spec, "dnsPolicy", || json!("ClusterFirst"));
    set(spec, "securityContext", || json!({}));
    set(spec, "schedulerName", || json!("default-scheduler"));
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for one in elements(spec, list) {
            container(one);
        }
    }
    for volume in elements(spec, "volumes") {
        for source in ["configMap", "secret", "projected", "downwardAPI"] {
            if let Some(source) = child(volume, source) {
                set(source, "defaultMode", || json!(0o644));
            }
        }
        if let Some(host_path) = child(volume, "hostPath") {
            set(host_path, "type", || json!(""));
        }
    }
}

fn container(container: &mut Object) {
    set(container, "resources", || json!({}));
    set(container, "terminationMessagePath", || json!("/dev/termination-log"));
    set(container, "terminationMessagePolicy", || json!("File"));
    let image = container.get("image").and_then(Value::as_str).unwrap_or("");
    let policy = if floats(image) { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", || json!(policy));
    for port in elements(container, "ports") {
        set(port, "protocol", || json!("TCP"));
    }
    for variable in elements(container, "env") {
        if let Some(field) = child(variable, "valueFrom").and_then(|source| child(source, "fieldRef")) {
            set(field, "apiVersion", || json!("v1"));
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = child(container, name) {
            set(probe, "timeoutSeconds", || json!(1));
            set(probe, "periodSeconds", || json!(10));
            set(probe, "successThreshold", || json!(1));
            set(probe, "failureThreshold", || json!(3));
            if let Some(get) = child(probe, "httpGet") {
                set(get, "scheme", || json!("HTTP"));
            }
        }
    }
}

/// Whether an image's name may mean another image tomorrow: no tag, or `latest`.
fn floats(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn set(object: &mut Object, field: &str, default: impl FnOnce() -> Value) {
    if !object.contains_key(field) {
        object.insert(field.to_owned(), default());
    }
}

fn child<'a>(object: &'a mut Object, field: &str) -> Option<&'a mut Object> {
    object.get_mut(field)?.as_object_mut()
}

/// The object in a field, made if absent. What is there has the right type: it was checked before.
fn ensure<'a>(object: &'a mut Object, field: &str) -> &'a mut Object {
    let value = object.entry(field).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(object) => object,
        // It was made one above.
        _ => unreachable!("an object"),
    }
}

fn elements<'a>(object: &'a mut Object, field: &str) -> impl Iterator<Item = &'a mut Object> {
    let list = object.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::builtin_resources;
    use crate::storage::{HistoryLimits, Store};

    pub(super) fn filled(group: &str, plural: &str, mut object: Value) -> Value {
        let store = Store::new(HistoryLimits { changes: 1, bytes: 1 });
        let resources = builtin_resources(&store);
        let resource = resources.iter().find(|resource| resource.is(group, plural)).expect(plural);
        fill(resource, &mut object);
        object
    }

    #[test]
    fn a_deployment_gets_what_kubernetes_gives_it() {
        let small =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx"}]}}}});
        let expected = json!({"status": {}, "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            "template": {"spec": {
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "dnsPolicy": "ClusterFirst",
                "securityContext": {},
                "schedulerName": "default-scheduler",
                "containers": [{
                    "name": "c",
                    "image": "nginx",
                    "imagePullPolicy": "Always",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }],
            }},
        }});
        assert_eq!(filled("apps", "deployments", small), expected);
        assert_eq!(filled("apps", "deployments", expected.clone()), expected, "once is enough");
    }

    #[test]
    fn what_the_client_said_stays() {
        let said = json!({"spec": {"replicas": 0, "strategy": {"type": "Recreate"}}});
        let got = filled("apps", "deployments", said);
        assert_eq!(got["spec"]["replicas"], 0);
        assert_eq!(got["spec"]["strategy"], json!({"type": "Recreate"}));
        let service = filled(
            "",
            "services",
            json!({"spec": {"type": "ExternalName", "ports": [{"port": 80, "targetPort": "http"}]}}),
        );
        assert_eq!(service["spec"]["ports"][0], json!({"port": 80, "targetPort": "http", "protocol": "TCP"}));
    }

    #[test]
    fn images_that_may_change_are_always_pulled() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("registry:5000/nginx", "Always"),
            ("nginx:1.2", "IfNotPresent"),
            ("registry:5000/a/nginx:1.2", "IfNotPresent"),
            ("nginx@sha256:abc", "IfNotPresent"),
        ] {
            let pod = filled("", "pods", json!({"spec": {"containers": [{"image": image}]}}));
            assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], policy, "{image}");
        }
    }
}
