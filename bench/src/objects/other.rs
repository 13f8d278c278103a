//! The simpler kinds: endpoint slices, config maps, secrets, leases, events, custom kinds.

use serde_json::{Value, json};

use super::metadata::{Workload, annotate, manage, owner, touch};
use super::random::{Random, base64, micro_time, time};

pub(super) fn endpoint_slices(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let app = &workload.app;
    let mut metadata = workload.metadata(random, &format!("{app}-"));
    metadata["generateName"] = json!(format!("{app}-"));
    metadata["labels"]["kubernetes.io/service-name"] = json!(app);
    metadata["labels"]["endpointslice.kubernetes.io/managed-by"] = json!("endpointslice-controller.k8s.io");
    metadata["ownerReferences"] = owner(random, "v1", "Service", app);
    let endpoints: Vec<Value> = (0..random.log(1, 100))
        .map(|at| {
            let address = if at == 0 { "10.~AA.~BB.~CC".to_owned() } else { random.address() };
            json!({
                "addresses": [address], "nodeName": format!("node-{:05}", random.range(0, 9_999)),
                "zone": random.pick(&["eu-west-1a", "eu-west-1b", "eu-west-1c"]),
                "conditions": { "ready": true, "serving": true, "terminating": false },
                "targetRef": {
                    "kind": "Pod", "namespace": "team-~NS", "name": format!("{app}-{}", random.suffix(5)),
                    "uid": random.uid(),
                },
            })
        })
        .collect();
    let ports: Value = [("http", 8_080), ("metrics", 9_090), ("grpc", 9_000)][..random.pick(&[1, 1, 2, 3])]
        .iter()
        .map(|(name, port)| json!({ "name": name, "port": port, "protocol": "TCP" }))
        .collect();
    versions_of(random, versions, |random, version| {
        let mut metadata = metadata.clone();
        metadata["generation"] = json!(version + 1);
        let changed = time(workload.created + version * 30);
        metadata["annotations"]["endpoints.kubernetes.io/last-change-trigger-time"] = json!(changed);
        let mut endpoints = endpoints.clone();
        for endpoint in &mut endpoints {
            if random.chance(10) {
                endpoint["conditions"] =
                    json!({ "ready": false, "serving": false, "terminating": random.chance(50) });
            }
        }
        if endpoints.len() > 1 && random.chance(50) {
            endpoints.pop();
        }
        let mut object = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata,
            "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
        });
        manage(&mut object, "kube-controller-manager", workload.created, None);
        object
    })
}

pub(super) fn config_maps(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let mut metadata = workload.metadata(random, &format!("{}-config-", workload.app));
    annotate(random, &mut metadata, 2);
    let keys: Vec<(String, u64)> = {
        let (at_most, keys) = (random.log(64, 32_767), random.range(1, 10));
        let size = random.log(20, at_most);
        // Sizes halve from one key to the next: one big file and a few small ones.
        let suffix = random.pick(&[".yaml", ".properties", "", ".json"]);
        (0..keys).map(|at| (format!("{}-{at}{suffix}", random.word()), (size >> (at + 1)).max(1))).collect()
    };
    let contents: Vec<String> = keys.iter().map(|(_, size)| random.lines(*size)).collect();
    versions_of(random, versions, |random, version| {
        let mut metadata = metadata.clone();
        touch(random, &mut metadata);
        let mut data: Value =
            keys.iter().zip(&contents).map(|((key, _), text)| (key.clone(), json!(text))).collect();
        if version > 0 {
            let size = keys[0].1 + random.range(0, 40);
            data[&keys[0].0] = json!(random.lines(size));
        }
        let mut object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
        if keys.len() == 10 {
            object["binaryData"] = json!({ "bundle.bin": random.base64_bytes(300) });
            object["immutable"] = json!(false);
        }
        manage(&mut object, random.pick(&["helm", "kubectl-client-side-apply"]), workload.created, None);
        object
    })
}

pub(super) fn secrets(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let kind = random.pick(&["Opaque", "Opaque", "Opaque", "Opaque", "kubernetes.io/tls"]);
    let kind = if random.chance(3) { "helm.sh/release.v1" } else { kind };
    let stem = if kind.starts_with("helm") { "sh.helm.release.v1." } else { "" };
    let mut metadata = workload.metadata(random, &format!("{stem}{}-", workload.app));
    annotate(random, &mut metadata, 2);
    if kind == "kubernetes.io/tls" {
        metadata["annotations"]["cert-manager.io/certificate-name"] = json!(format!("{}-tls", workload.app));
        metadata["annotations"]["cert-manager.io/issuer-kind"] = json!("ClusterIssuer");
        metadata["ownerReferences"] = owner(random, "cert-manager.io/v1", "Certificate", &workload.app);
    }
    let size = random.log(8_192, 32_767);
    let keys = random.log(1, 10);
    versions_of(random, versions, |random, _| {
        let mut metadata = metadata.clone();
        touch(random, &mut metadata);
        let mut data = json!({});
        match kind {
            "Opaque" => {
                for at in 0..keys {
                    let length = random.log(8, 1_023);
                    data[format!("{}-{at}", random.pick(&["password", "dsn", "api-key", "license"]))] =
                        json!(base64(random.words(length).as_bytes()));
                }
            }
            "kubernetes.io/tls" => {
                data["tls.crt"] = json!(pem(random, "CERTIFICATE", 2));
                data["tls.key"] = json!(pem(random, "RSA PRIVATE KEY", 1));
                if keys > 6 {
                    data["ca.crt"] = json!(pem(random, "CERTIFICATE", 1));
                }
            }
            // Helm writes base64 itself, before the API does: a release is in it twice.
            _ => {
                let length = size + random.range(0, 500);
                data["release"] = json!(base64(format!("H4sIA{}", random.base64_bytes(length)).as_bytes()));
            }
        }
        let mut object =
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": data });
        let manager = if kind == "kubernetes.io/tls" { "cert-manager-certificates-issuing" } else { "Helm" };
        manage(&mut object, manager, workload.created, None);
        object
    })
}

/// Makes this many PEM blocks, in base64.
fn pem(random: &mut Random, title: &str, blocks: u64) -> String {
    let mut text = String::new();
    for _ in 0..blocks {
        let bytes = random.range(700, 1_000);
        let body = random.base64_bytes(bytes);
        let lines: Vec<&str> =
            body.as_bytes().chunks(64).filter_map(|line| str::from_utf8(line).ok()).collect();
        text.push_str(&format!("-----BEGIN {title}-----\n{}\n-----END {title}-----\n", lines.join("\n")));
    }
    base64(text.as_bytes())
}

pub(super) fn leases(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let node = random.chance(50);
    let stem = if node { "node-".to_owned() } else { format!("{}-leader-", workload.app) };
    let mut metadata = workload.bare_metadata(random, &stem);
    let holder = if node {
        metadata["ownerReferences"] =
            json!([{ "apiVersion": "v1", "kind": "Node", "name": "node-~NUMBER", "uid": random.uid() }]);
        "node-~NUMBER".to_owned()
    } else {
        format!("{}-{}_{}", workload.app, random.suffix(5), random.uid())
    };
    let mut transitions = random.log(1, 60);
    versions_of(random, versions, |random, version| {
        let renewed = micro_time(workload.created + 10 * (version + 1), random.range(1, 999_999));
        let mut spec = json!({ "holderIdentity": holder, "leaseDurationSeconds": 40, "renewTime": renewed });
        if !node {
            transitions += u64::from(random.chance(20));
            spec["leaseTransitions"] = json!(transitions);
            spec["acquireTime"] = json!(micro_time(workload.created, 1_017));
        }
        let mut object = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec,
        });
        // Half of the leases are as small as they come.
        if !node {
            manage(&mut object, &workload.app, workload.created, None);
        }
        object
    })
}

pub(super) fn events(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let pod = format!("{}-{}", workload.app, random.suffix(5));
    let stem = format!("{pod}.18{}", random.hex(8));
    let metadata = workload.bare_metadata(random, &stem);
    let (source, kind, reason, message) = random.pick(&[
        ("kubelet", "Warning", "BackOff", "Back-off restarting failed container"),
        ("kubelet", "Warning", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"),
        ("kubelet", "Normal", "Pulled", "Container image already present on machine"),
        ("kubelet", "Normal", "Created", "Container created"),
        ("default-scheduler", "Warning", "FailedScheduling", "0/412 nodes are available"),
    ]);
    let length = random.log(1, 128);
    let message = format!("{message}: {}", random.words(length));
    let involved = json!({
        "apiVersion": "v1", "kind": "Pod", "namespace": "team-~NS", "name": pod, "uid": random.uid(),
        "resourceVersion": random.range(1_000, 90_000_000).to_string(),
        "fieldPath": format!("spec.containers{{{}}}", workload.app),
    });
    let host = format!("node-{:05}", random.range(0, 9_999));
    let mut count = 0;
    versions_of(random, versions, |random, version| {
        count += random.log(1, 40);
        let mut object = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": involved,
            "reason": reason, "message": message, "type": kind, "count": count,
            "source": { "component": source, "host": host },
            "firstTimestamp": time(workload.created), "lastTimestamp": time(workload.created + version * 97),
            "reportingComponent": source, "reportingInstance": host,
        });
        manage(&mut object, source, workload.created, None);
        object
    })
}

pub(super) fn widgets(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let (app, team) = (&workload.app, workload.team);
    let mut metadata = workload.metadata(random, &format!("{app}-"));
    annotate(random, &mut metadata, 3);
    metadata["finalizers"] = json!(["bench.example.com/cleanup"]);
    metadata["ownerReferences"] = owner(random, "bench.example.com/v1", "WidgetSet", app);
    let names: Value =
        (0..random.log(1, 12)).map(|at| format!("{app}-{at}.{team}.svc.cluster.local")).collect();
    let volumes: Value = (0..random.range(0, 4))
        .map(|at| match random.range(0, 1) {
            0 => json!({ "name": format!("config-{at}"), "configMap": { "name": format!("{app}-config") } }),
            _ => json!({ "name": format!("tls-{at}"), "secret": { "secretName": format!("{app}-tls") } }),
        })
        .collect();
    let arguments: Value =
        (0..random.log(1, 16)).map(|_| format!("--{}={}", random.word(), random.range(0, 9_999))).collect();
    let mut spec = json!({
        "nodeName": format!("node-{:05}", random.range(0, 9_999)), "replicas": random.range(1, 30),
        "paused": random.chance(10), "weight": random.range(0, 64) as f64 / 64.0, "dnsNames": names,
        "issuerRef": { "group": "bench.example.com", "kind": "ClusterIssuer", "name": random.word() },
        "template": {
            "metadata": { "labels": { "app": app, "tier": random.word() } },
            "spec": {
                "image": format!("registry.example.com/{team}/{app}:{}", workload.tag), "args": arguments,
                "resources": {
                    "limits": { "cpu": "500m", "memory": "512Mi" },
                    "requests": { "cpu": "100m", "memory": "256Mi" },
                },
                "volumes": volumes,
            },
        },
    });
    if random.chance(70) {
        spec["secretName"] = json!(format!("{app}-tls"));
    }
    versions_of(random, versions, |random, version| {
        let mut metadata = metadata.clone();
        let generation = 1 + version / 2;
        metadata["generation"] = json!(generation);
        touch(random, &mut metadata);
        let now = workload.created + version * 600;
        let kinds = ["Ready", "Progressing", "Degraded", "Synced"];
        let conditions: Value = kinds[..random.range(1, 4) as usize]
            .iter()
            .map(|kind| {
                let length = random.log(1, 200);
                json!({
                    "type": kind, "status": random.pick(&["True", "False", "Unknown"]),
                    "reason": random.pick(&["Issued", "Done", "WaitingForReplicas"]),
                    "message": random.words(length), "observedGeneration": generation,
                    "lastTransitionTime": time(now),
                })
            })
            .collect();
        let status = json!({
            "observedGeneration": generation, "replicas": spec["replicas"],
            "readyReplicas": random.range(0, 30), "address": random.address(), "conditions": conditions,
        });
        let mut object = json!({
            "apiVersion": "bench.example.com/v1", "kind": "Widget", "metadata": metadata,
            "spec": spec, "status": status,
        });
        manage(&mut object, "helm", workload.created, Some(("widget-controller", now)));
        object
    })
}

pub(super) fn blobs(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let metadata = workload.metadata(random, &format!("{}-", workload.app));
    let (depth, fields) = (random.range(1, 6), random.log(1, 15));
    let spec: Value =
        (0..fields).map(|at| (format!("{}{at}", random.word()), random.tree(depth - 1))).collect();
    let managed = random.chance(50);
    versions_of(random, versions, |random, version| {
        let (mut metadata, mut spec) = (metadata.clone(), spec.clone());
        metadata["generation"] = json!(version + 1);
        touch(random, &mut metadata);
        if version > 0 {
            spec["latest"] = random.tree(depth - 1);
        }
        let mut object = json!({
            "apiVersion": "bench.example.com/v1", "kind": "Blob", "metadata": metadata, "spec": spec,
        });
        if managed {
            manage(&mut object, "kubectl-create", workload.created, None);
        }
        object
    })
}

/// Makes version after version. Each draws from where the one before it ended.
fn versions_of(
    random: &mut Random,
    count: usize,
    mut make: impl FnMut(&mut Random, u64) -> Value,
) -> Vec<Value> {
    (0..count as u64).map(|version| make(random, version)).collect()
}
