//! Pods.

use serde_json::{Value, json};

use super::metadata::{Workload, annotate, manage, owner, touch};
use super::random::{Random, time};

/// Makes the versions of a pod: the specification stays, the status is drawn for each.
pub(super) fn pods(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let base = pod(random, &workload);
    let host = random.address();
    let images: Vec<String> = (0..8).map(|_| random.hex(64)).collect();
    let mut history = History { restarts: 0, now: workload.created + random.range(2, 60) };
    let mut versions_made = Vec::with_capacity(versions);
    for _ in 0..versions {
        let mut object = base.clone();
        touch(random, &mut object["metadata"]);
        object["status"] = status(random, &object["spec"], &workload, &host, &images, &mut history);
        manage(&mut object, "kube-controller-manager", workload.created, Some(("kubelet", history.now)));
        // The scheduler's binding and defaults of admission have no field manager.
        if let Some(owned) = object["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].as_object_mut() {
            for name in ["f:nodeName", "f:priority", "f:preemptionPolicy", "f:tolerations"] {
                owned.remove(name);
            }
        }
        versions_made.push(object);
    }
    versions_made
}

fn pod(random: &mut Random, workload: &Workload) -> Value {
    const REPLICA_SET: (&str, &str) = ("apps/v1", "ReplicaSet");
    let app = &workload.app;
    let kinds = [REPLICA_SET, REPLICA_SET, ("apps/v1", "StatefulSet"), ("batch/v1", "Job")];
    let (api, kind) = random.pick(&kinds);
    let hash = random.suffix(10);
    let controller = if kind == "StatefulSet" { app.clone() } else { format!("{app}-{hash}") };
    let stem = format!("{controller}-");
    let mut metadata = workload.metadata(random, &stem);
    metadata["generateName"] = json!(stem);
    metadata["generation"] = json!(1);
    metadata["ownerReferences"] = owner(random, api, kind, &controller);
    let label = match kind {
        "StatefulSet" => "controller-revision-hash",
        "Job" => "batch.kubernetes.io/job-name",
        _ => "pod-template-hash",
    };
    metadata["labels"][label] = json!(if kind == "ReplicaSet" { &hash } else { &controller });
    let annotations = random.pick(&[0, 0, 1, 2, 3, 8]);
    annotate(random, &mut metadata, annotations);

    let volumes = volumes(random, app);
    let names = [app.as_str(), "istio-proxy", "log-shipper", "metrics-exporter", "cloud-sql-proxy"];
    let at_most = random.pick(&[1, 1, 1, 1, 1, 1, 2, 5]);
    let count = random.range(1, at_most) as usize;
    let containers: Value =
        names[..count].iter().map(|name| container(random, workload, name, &volumes, false)).collect();
    let mut spec = json!({
        "containers": containers, "volumes": volumes, "nodeName": "node-~NODE",
        "restartPolicy": if kind == "Job" { "OnFailure" } else { "Always" },
        "terminationGracePeriodSeconds": random.pick(&[10, 30, 30, 60, 300]),
        "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
        "serviceAccountName": app, "serviceAccount": app,
        "securityContext": {}, "priority": 0, "enableServiceLinks": true,
        "preemptionPolicy": "PreemptLowerPriority",
    });
    let mut tolerations: Vec<Value> = ["not-ready", "unreachable"]
        .map(|reason| {
            let key = format!("node.kubernetes.io/{reason}");
            json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 })
        })
        .into();
    if random.chance(25) {
        let pool = random.pick(&["batch", "gpu", "spot"]);
        tolerations
            .push(json!({ "key": "dedicated", "operator": "Equal", "value": pool, "effect": "NoSchedule" }));
        spec["nodeSelector"] = json!({ "karpenter.sh/nodepool": pool, "kubernetes.io/os": "linux" });
    }
    spec["tolerations"] = Value::Array(tolerations);
    if random.chance(10) {
        spec["initContainers"] = json!([container(random, workload, "migrate", &volumes, true)]);
    }
    if random.chance(50) {
        spec["securityContext"] =
            json!({ "fsGroup": 1_000, "runAsUser": random.range(1_000, 65_535), "runAsNonRoot": true });
        spec["securityContext"]["seccompProfile"] = json!({ "type": "RuntimeDefault" });
    }
    let selector = json!({ "matchLabels": { "app.kubernetes.io/name": app } });
    if random.chance(30) {
        let term = json!({ "labelSelector": selector, "topologyKey": "kubernetes.io/hostname" });
        spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
            json!([{ "weight": random.range(1, 100), "podAffinityTerm": term }]);
    }
    if random.chance(15) {
        let (key, zones) = ("topology.kubernetes.io/zone", ["eu-west-1a", "eu-west-1b"]);
        let zones = json!({ "key": key, "operator": "In", "values": zones });
        spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({ "nodeSelectorTerms": [{ "matchExpressions": [zones] }] });
    }
    if random.chance(15) {
        spec["topologySpreadConstraints"] = json!([{
            "maxSkew": random.range(1, 3), "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": random.pick(&["ScheduleAnyway", "DoNotSchedule"]), "labelSelector": selector,
        }]);
    }
    if random.chance(20) {
        spec["imagePullSecrets"] = json!([{ "name": "registry-credentials" }]);
        spec["priorityClassName"] = json!(format!("{}-critical", workload.team));
    }
    if kind == "StatefulSet" {
        spec["hostname"] = json!(format!("{stem}~NUMBER"));
        spec["subdomain"] = json!(app);
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
}

/// Draws volumes. The last is the token of the service account, as admission adds it.
fn volumes(random: &mut Random, app: &str) -> Vec<Value> {
    let mut volumes = Vec::new();
    for at in 0..random.pick(&[0, 0, 0, 0, 1, 4]) {
        let mut volume = match random.range(0, 6) {
            0 | 1 => json!({ "configMap": { "name": format!("{app}-config"), "defaultMode": 420 } }),
            2 => json!({ "secret": { "secretName": format!("{app}-tls"), "optional": random.chance(20) } }),
            3 if random.chance(50) => json!({ "emptyDir": { "sizeLimit": "64Mi", "medium": "Memory" } }),
            3 => json!({ "emptyDir": {} }),
            4 => json!({ "persistentVolumeClaim": { "claimName": format!("data-{app}-{at}") } }),
            5 => json!({ "hostPath": { "path": "/var/log/pods", "type": "Directory" } }),
            _ => json!({ "downwardAPI": { "items": [field("labels"), field("annotations")] } }),
        };
        volume["name"] =
            json!(format!("{}-{at}", random.pick(&["config", "data", "shared", "certificates"])));
        volumes.push(volume);
    }
    volumes.push(json!({
        "name": format!("kube-api-access-{}", random.suffix(5)),
        "projected": { "defaultMode": 420, "sources": [
            { "serviceAccountToken": { "expirationSeconds": 3_607, "path": "token" } },
            { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            { "downwardAPI": { "items": [field("namespace")] } },
        ] },
    }));
    volumes
}

fn field(name: &str) -> Value {
    json!({ "path": name, "fieldRef": { "apiVersion": "v1", "fieldPath": format!("metadata.{name}") } })
}

fn container(random: &mut Random, workload: &Workload, name: &str, volumes: &[Value], init: bool) -> Value {
    let mut container = json!({
        "name": name, "image": format!("registry.example.com/{}/{name}:{}", workload.team, workload.tag),
        "resources": {}, "imagePullPolicy": random.pick(&["IfNotPresent", "IfNotPresent", "Always"]),
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    });
    if random.chance(90) {
        let (cpu, memory) =
            (random.pick(&["10m", "100m", "250m", "1"]), random.pick(&["64Mi", "256Mi", "1Gi", "3Gi"]));
        container["resources"]["requests"] = json!({ "cpu": cpu, "memory": memory });
        container["resources"]["limits"] = json!({ "memory": memory });
        if random.chance(40) {
            container["resources"]["limits"]["cpu"] = json!(random.pick(&["1", "2", "1500m"]));
        }
    }
    let env = if random.chance(50) { 0 } else { random.log(1, 30) };
    if env > 0 {
        let start = random.range(0, 95);
        container["env"] = (0..env).map(|at| variable(random, workload, start + at * 7)).collect();
    }
    if random.chance(15) {
        container["envFrom"] = json!([{ "configMapRef": { "name": format!("{}-env", workload.app) } }]);
    }
    let mut mounts = Vec::new();
    for (at, volume) in volumes.iter().enumerate() {
        let token = at + 1 == volumes.len();
        if token || random.chance(70) {
            let volume = &volume["name"];
            let path = format!("/etc/{}", volume.as_str().unwrap_or_default());
            let path = if token { "/var/run/secrets/kubernetes.io/serviceaccount" } else { path.as_str() };
            let mut mount = json!({ "name": volume, "mountPath": path });
            if token || random.chance(40) {
                mount["readOnly"] = json!(true);
            }
            mounts.push(mount);
        }
    }
    container["volumeMounts"] = Value::Array(mounts);
    if random.chance(60) {
        let level = random.pick(&["info", "debug", "warn"]);
        container["args"] =
            json!(["--listen=:8080", format!("--log-level={level}"), format!("--{}", random.word())]);
    }
    if init {
        container["command"] = json!(["/bin/sh", "-c", "until nc -z db 5432; do sleep 1; done"]);
        return container;
    }
    let port = random.range(1_024, 9_000);
    container["ports"] = json!([{ "name": "http", "containerPort": port, "protocol": "TCP" }]);
    if random.chance(40) {
        let metrics = json!({ "name": "metrics", "containerPort": port + 1, "protocol": "TCP" });
        container["ports"] = json!([container["ports"][0], metrics]);
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if random.chance(if probe == "startupProbe" { 15 } else { 65 }) {
            container[probe] = match random.range(0, 5) {
                0 => json!({ "exec": { "command": ["/bin/check", "--quiet"] } }),
                1 => json!({ "tcpSocket": { "port": port } }),
                2 => json!({ "grpc": { "port": port, "service": "" } }),
                _ => json!({ "httpGet": { "path": "/healthz", "port": "http", "scheme": "HTTP" } }),
            };
            for (name, value) in [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1)] {
                container[probe][name] = json!(value);
            }
            container[probe]["failureThreshold"] = json!(random.range(3, 30));
        }
    }
    if random.chance(40) {
        container["securityContext"] = json!({
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": random.chance(50),
            "capabilities": { "drop": ["ALL"] },
        });
    }
    if random.chance(15) {
        container["lifecycle"] = json!({ "preStop": { "exec": { "command": ["/bin/sleep", "15"] } } });
    }
    container
}

/// Makes a variable. Numbers that differ modulo 96 give different names.
fn variable(random: &mut Random, workload: &Workload, number: u64) -> Value {
    const SUBJECTS: [&str; 12] = [
        "DB", "CACHE", "KAFKA", "AUTH", "POD", "HTTP", "GRPC", "OTEL", "FEATURE", "PAYMENT", "SEARCH",
        "QUEUE",
    ];
    const MATTERS: [&str; 8] =
        ["HOST", "PORT", "URL", "PASSWORD", "TIMEOUT_MS", "POOL_SIZE", "REGION", "ENABLED"];
    let (subject, matter) = (SUBJECTS[number as usize / 8 % 12], MATTERS[number as usize % 8]);
    let mut variable = json!({ "name": format!("{subject}_{matter}") });
    let app = &workload.app;
    let key = matter.to_lowercase();
    match (matter, random.range(0, 9)) {
        ("PASSWORD", _) => {
            variable["valueFrom"] =
                json!({ "secretKeyRef": { "name": format!("{app}-secrets"), "key": key } });
        }
        ("HOST", 0..=3) => {
            let path = random.pick(&["status.podIP", "metadata.name", "spec.nodeName", "metadata.namespace"]);
            variable["valueFrom"] = json!({ "fieldRef": { "apiVersion": "v1", "fieldPath": path } });
        }
        (_, 0) => {
            let from = json!({ "name": format!("{app}-config"), "key": key });
            variable["valueFrom"] = json!({ "configMapKeyRef": from });
        }
        ("HOST" | "URL", _) => {
            variable["value"] =
                json!(format!("https://{}.{}.svc.cluster.local:8443", subject.to_lowercase(), workload.team));
        }
        (_, 1) => {
            let length = random.log(4, 200);
            variable["value"] = json!(random.lines(length));
        }
        _ => variable["value"] = json!(random.range(0, 60_000).to_string()),
    }
    variable
}

/// What goes on from one version to the next.
struct History {
    restarts: u64,
    now: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Creating,
    Running,
    NotReady,
    Crashing,
    Finished,
}

fn status(
    random: &mut Random,
    spec: &Value,
    workload: &Workload,
    host: &str,
    images: &[String],
    history: &mut History,
) -> Value {
    use Phase::{Crashing, Creating, Finished, NotReady, Running};
    let before = history.now;
    history.now += random.log(1, 100_000);
    let phase = random.pick(&[
        Creating, Running, Running, Running, Running, Running, NotReady, Crashing, Crashing, Finished,
    ]);
    if phase == Crashing {
        history.restarts += random.range(1, 5);
    }
    let statuses = |random: &mut Random, list: &str, init: bool| -> Value {
        let containers = spec[list].as_array().map_or(&[][..], |all| all);
        let each = containers.iter().zip(images).enumerate();
        each.map(|(at, (container, image))| {
            let phase = if init && phase != Creating { Finished } else { phase };
            // Of several containers only the first is in trouble.
            let phase = if at > 0 && matches!(phase, Crashing | NotReady) { Running } else { phase };
            let restarts = if at == 0 { history.restarts } else { 0 };
            container_status(random, container, image, phase, (before, history.now), restarts)
        })
        .collect()
    };
    let name = match phase {
        Creating => "Pending",
        Finished => "Succeeded",
        _ => "Running",
    };
    let mut status = json!({
        "phase": name, "hostIP": host, "hostIPs": [{ "ip": host }], "startTime": time(workload.created + 1),
        "qosClass": random.pick(&["Burstable", "Burstable", "BestEffort", "Guaranteed"]),
        "observedGeneration": 1,
        "containerStatuses": statuses(random, "containers", false),
    });
    if spec.get("initContainers").is_some() {
        status["initContainerStatuses"] = statuses(random, "initContainers", true);
    }
    if phase != Creating {
        status["podIP"] = json!("10.~AA.~BB.~CC");
        status["podIPs"] = json!([{ "ip": "10.~AA.~BB.~CC" }]);
    }
    status["conditions"] = conditions(random, spec, phase, workload.created, history.now);
    status
}

fn conditions(random: &mut Random, spec: &Value, phase: Phase, created: u64, now: u64) -> Value {
    let mut conditions = Vec::new();
    let mut add = |kind: &str, holds: bool, at: u64, why: Option<(&str, String)>| {
        let status = if holds { "True" } else { "False" };
        let mut condition = json!({
            "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": time(at),
        });
        if let Some((reason, message)) = why {
            condition["reason"] = json!(reason);
            // An empty one is not written.
            if !message.is_empty() {
                condition["message"] = json!(message);
            }
        }
        conditions.push(condition);
    };
    let (ready, done) = (phase == Phase::Running, phase == Phase::Finished);
    let name = spec["containers"][0]["name"].as_str().unwrap_or_default();
    let why = match phase {
        Phase::Running => None,
        Phase::Finished => Some(("PodCompleted", String::new())),
        _ => Some(("ContainersNotReady", format!("containers with unready status: [{name}]"))),
    };
    if random.chance(85) {
        add("PodReadyToStartContainers", phase != Phase::Creating && !done, created + 2, None);
    }
    add("Initialized", true, created, if done { why.clone() } else { None });
    add("Ready", ready, now, why.clone());
    add("ContainersReady", ready, now, why);
    add("PodScheduled", true, created, None);
    if random.chance(5) {
        let why = ("EvictionByEvictionAPI", "Eviction API: evicting".to_owned());
        add("DisruptionTarget", true, now, Some(why));
    }
    Value::Array(conditions)
}

fn container_status(
    random: &mut Random,
    container: &Value,
    image: &str,
    phase: Phase,
    (before, now): (u64, u64),
    restarts: u64,
) -> Value {
    let id = format!("containerd://{}~CID~~~~~~~~", random.hex(52));
    let name = container["name"].as_str().unwrap_or_default();
    let repository =
        container["image"].as_str().and_then(|image| image.rsplit_once(':')).unwrap_or_default().0;
    let ended = |code: u64, reason: &str| {
        json!({ "terminated": {
            "exitCode": code, "reason": reason, "startedAt": time(before), "finishedAt": time(now),
            "containerID": id,
        } })
    };
    let (state, started) = match phase {
        Phase::Creating => (json!({ "waiting": { "reason": "ContainerCreating" } }), false),
        Phase::Running | Phase::NotReady => (json!({ "running": { "startedAt": time(now) } }), true),
        Phase::Crashing => {
            let message = format!("back-off 5m0s restarting failed container={name} pod={}", random.uid());
            (json!({ "waiting": { "reason": "CrashLoopBackOff", "message": message } }), false)
        }
        Phase::Finished => (ended(0, "Completed"), false),
    };
    let failed = random.pick(&[(137, "OOMKilled"), (1, "Error"), (2, "Error")]);
    let mut status = json!({
        "name": name, "image": container["image"], "imageID": "", "ready": phase == Phase::Running,
        "restartCount": restarts, "started": started, "state": state,
        "lastState": if restarts > 0 { ended(failed.0, failed.1) } else { json!({}) },
    });
    if phase != Phase::Creating {
        status["imageID"] = json!(format!("{repository}@sha256:{image}"));
        status["containerID"] = json!(id);
        if random.chance(20) {
            status["resources"] = container["resources"].clone();
        }
    }
    status
}
