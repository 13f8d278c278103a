//! Nodes.

use serde_json::{Value, json};

use super::metadata::{Workload, annotate, manage, touch};
use super::random::{Random, time};

/// Makes the versions of a node. The time of its heartbeats changes most.
pub(super) fn nodes(random: &mut Random, versions: usize) -> Vec<Value> {
    let workload = Workload::draw(random);
    let (address, cores) = (random.address(), random.pick(&[4, 8, 16, 32, 64, 96]));
    let base = node(random, &workload, &address, cores);
    let mut beat = workload.created;
    let mut versions_made = Vec::with_capacity(versions);
    for _ in 0..versions {
        beat += random.range(1, 300);
        let mut object = base.clone();
        touch(random, &mut object["metadata"]);
        object["status"]["conditions"] = conditions(random, workload.created, beat);
        if random.chance(30) {
            let volume = format!("kubernetes.io/csi/ebs.csi.aws.com^vol-{}", random.hex(17));
            object["status"]["volumesAttached"] = json!([{ "name": volume, "devicePath": "" }]);
            object["status"]["volumesInUse"] = json!([volume]);
        }
        if random.chance(10) {
            object["spec"]["unschedulable"] = json!(true);
            object["spec"]["taints"] = json!([
                {
                    "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule",
                    "timeAdded": time(beat),
                },
            ]);
        }
        manage(&mut object, "kubelet", workload.created, Some(("kubelet", beat)));
        versions_made.push(object);
    }
    versions_made
}

fn node(random: &mut Random, workload: &Workload, address: &str, cores: u64) -> Value {
    let region = random.pick(&["eu-west-1", "eu-central-1", "us-east-1"]);
    let zone = format!("{region}{}", random.pick(&["a", "b", "c"]));
    let arch = random.pick(&["amd64", "amd64", "arm64"]);
    let size = random.pick(&["m6i.2xlarge", "c7g.4xlarge", "r6i.8xlarge", "m7i.24xlarge"]);
    let mut metadata = workload.metadata(random, "node-");
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("namespace");
    }
    for (key, value) in [
        ("beta.kubernetes.io/arch", arch),
        ("beta.kubernetes.io/instance-type", size),
        ("beta.kubernetes.io/os", "linux"),
        ("failure-domain.beta.kubernetes.io/region", region),
        ("failure-domain.beta.kubernetes.io/zone", &zone),
        ("kubernetes.io/arch", arch),
        ("kubernetes.io/hostname", "node-~NUMBER"),
        ("kubernetes.io/os", "linux"),
        ("node.kubernetes.io/instance-type", size),
        ("topology.kubernetes.io/region", region),
        ("topology.kubernetes.io/zone", &zone),
        ("topology.ebs.csi.aws.com/zone", &zone),
        ("karpenter.sh/capacity-type", random.pick(&["spot", "on-demand"])),
        ("karpenter.sh/nodepool", random.pick(&["default", "batch", "gpu"])),
        ("example.com/image-id", &format!("ami-{}", random.hex(17))),
    ] {
        metadata["labels"][key] = json!(value);
    }
    metadata["annotations"] = json!({
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        "csi.volume.kubernetes.io/nodeid": format!(r#"{{"ebs.csi.aws.com":"i-{}"}}"#, random.hex(17)),
        "alpha.kubernetes.io/provided-node-ip": address,
    });
    annotate(random, &mut metadata, 3);
    let images: Value = (0..random.range(20, 50))
        .map(|_| {
            let image = Workload::draw(random);
            let path = format!("registry.example.com/{}/{}", image.team, image.app);
            json!({
                "names": [format!("{path}@sha256:{}", random.hex(64)), format!("{path}:{}", image.tag)],
                "sizeBytes": random.log(1_000_000, 2_000_000_000),
            })
        })
        .collect();
    let ami = random.pick(&["Amazon Linux 2023", "Bottlerocket OS 1.44.0", "Ubuntu 24.04.3 LTS"]);
    let pods = random.pick(&["58", "110", "234"]);
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": metadata,
        "spec": {
            "podCIDR": format!("10.{}.{}.0/24", random.range(0, 250), random.range(0, 250)),
            "providerID": format!("aws:///{zone}/i-{}", random.hex(17)),
        },
        "status": {
            "capacity": {
                "cpu": cores.to_string(), "ephemeral-storage": "104779756Ki", "hugepages-1Gi": "0",
                "hugepages-2Mi": "0", "pods": pods,
                "memory": format!("{}Ki", cores * 4_100_000 - random.range(0, 90_000)),
            },
            "allocatable": {
                "cpu": format!("{}m", cores * 1_000 - 80), "ephemeral-storage": "95491281146",
                "hugepages-1Gi": "0", "hugepages-2Mi": "0", "pods": pods,
                "memory": format!("{}Ki", cores * 3_900_000),
            },
            "addresses": [
                { "type": "InternalIP", "address": address },
                { "type": "Hostname", "address": "node-~NUMBER" },
                { "type": "InternalDNS", "address": format!("ip-{}.{region}.internal", random.hex(8)) },
            ],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": 10_250 } },
            "nodeInfo": {
                "machineID": random.hex(32), "systemUUID": random.uid(), "bootID": random.uid(),
                "kernelVersion": "6.12.40-63.114.amzn2023", "osImage": ami, "architecture": arch,
                "containerRuntimeVersion": "containerd://2.1.4", "operatingSystem": "linux",
                "kubeletVersion": "v1.35.2", "kubeProxyVersion": "", "swap": { "capacity": 0 },
            },
            "images": images,
        },
    })
}

fn conditions(random: &mut Random, created: u64, beat: u64) -> Value {
    let mut conditions: Vec<Value> = [
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "KubeletReady", "kubelet is posting ready status"),
    ]
    .into_iter()
    .map(|(kind, reason, message)| {
        let status = if kind == "Ready" { "True" } else { "False" };
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": time(beat), "lastTransitionTime": time(created),
        })
    })
    .collect();
    if random.chance(10) {
        conditions[3]["status"] = json!("Unknown");
        conditions[3]["reason"] = json!("NodeStatusUnknown");
        conditions[3]["message"] = json!("Kubelet stopped posting node status.");
        conditions[3]["lastTransitionTime"] = json!(time(beat));
    }
    if random.chance(40) {
        conditions.push(json!({
            "type": "NetworkUnavailable", "status": "False", "reason": "CalicoIsUp",
            "message": "Calico is running",
            "lastHeartbeatTime": time(created), "lastTransitionTime": time(created),
        }));
    }
    Value::Array(conditions)
}
