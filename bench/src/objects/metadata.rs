//! What every object has: names, labels, annotations, owners, managed fields.

use serde_json::{Map, Value, json};

use super::random::{Random, time};

const AREAS: [&str; 12] = [
    "checkout", "search", "billing", "ledger", "catalog", "identity", "mail", "shipping", "fraud", "media",
    "recs", "stats",
];
const ROLES: [&str; 8] = ["api", "worker", "web", "gateway", "sync", "cache", "feed", "cron"];
const TEAMS: [&str; 6] = ["payments", "storefront", "platform", "data", "identity", "logistics"];

/// What an object belongs to.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) app: String,
    pub(super) team: &'static str,
    /// The tag of its image.
    pub(super) tag: String,
    /// In seconds into the month.
    pub(super) created: u64,
}

impl Workload {
    pub(super) fn draw(random: &mut Random) -> Self {
        Self {
            app: format!("{}-{}", random.pick(&AREAS), random.pick(&ROLES)),
            team: random.pick(&TEAMS),
            tag: format!("{}.{}.{}", random.range(0, 9), random.range(0, 120), random.range(0, 30)),
            created: random.range(0, 10 * 86_400),
        }
    }

    /// Makes the metadata of a namespaced object, its annotations left out.
    pub(super) fn metadata(&self, random: &mut Random, stem: &str) -> Value {
        let mut metadata = self.bare_metadata(random, stem);
        let more = [
            (
                "app.kubernetes.io/instance",
                format!("{}-{}", self.app, random.pick(&["prod", "blue", "green", "eu"])),
            ),
            ("app.kubernetes.io/version", self.tag.clone()),
            ("app.kubernetes.io/managed-by", random.pick(&["Helm", "argocd", "flux"]).to_owned()),
            ("helm.sh/chart", format!("{}-{}", self.app, self.tag)),
            ("topology.example.com/tier", random.pick(&["front", "middle", "back"]).to_owned()),
        ];
        for (key, value) in more {
            if random.chance(50) {
                metadata["labels"][key] = json!(value);
            }
        }
        metadata
    }

    /// Makes the metadata of a namespaced object with no more labels than every object has.
    pub(super) fn bare_metadata(&self, random: &mut Random, stem: &str) -> Value {
        json!({
            "name": format!("{stem}~NUMBER"),
            "namespace": "team-~NS",
            "uid": format!("{}-~UID~~~~~~~~", random.uid_front()),
            "resourceVersion": "~VERSION~~",
            "creationTimestamp": time(self.created),
            "labels": { "app.kubernetes.io/name": self.app, "shard": "s~S", "team": self.team },
        })
    }
}

/// Adds at most this many annotations. Some are tiny and some of a few KB.
pub(super) fn annotate(random: &mut Random, metadata: &mut Value, at_most: u64) {
    for _ in 0..random.range(0, at_most) {
        let (key, value) = annotation(random);
        metadata["annotations"][key] = json!(value);
    }
}

fn annotation(random: &mut Random) -> (String, String) {
    match random.range(0, 11) {
        0 | 1 => ("prometheus.io/scrape".to_owned(), "true".to_owned()),
        2 => ("prometheus.io/port".to_owned(), random.range(8_000, 9_999).to_string()),
        3 => ("checksum/config".to_owned(), random.hex(64)),
        4 => ("checksum/secret".to_owned(), random.hex(64)),
        5 => ("kubectl.kubernetes.io/restartedAt".to_owned(), time(random.range(0, 2_000_000))),
        6 => ("cni.projectcalico.org/containerID".to_owned(), random.hex(64)),
        7 => {
            let status = json!([{
                "name": "k8s-pod-network", "interface": "eth0", "ips": [random.address()],
                "default": true, "dns": {},
            }]);
            ("k8s.v1.cni.cncf.io/network-status".to_owned(), status.to_string())
        }
        8 if random.chance(40) => {
            let length = random.log(64, 4_000);
            let applied = json!({ "apiVersion": "v1", "spec": { "settings": random.lines(length) } });
            ("kubectl.kubernetes.io/last-applied-configuration".to_owned(), format!("{applied}\n"))
        }
        _ => {
            let length = random.log(1, 4_096);
            (format!("example.com/{}-{}", random.word(), random.word()), random.words(length))
        }
    }
}

/// Changes metadata as time goes on: annotations appear, vanish or change their length, and so may a label.
pub(super) fn touch(random: &mut Random, metadata: &mut Value) {
    if random.chance(10) {
        metadata["labels"]["example.com/canary"] = json!(random.pick(&["true", "weight-5", "weight-50"]));
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        // Sorted, so that the choice does not depend on the order of the map.
        let mut keys: Vec<String> = annotations.keys().cloned().collect();
        keys.sort_unstable();
        let key = &keys[random.range(0, keys.len() as u64 - 1) as usize];
        if random.chance(10) && keys.len() > 1 {
            annotations.remove(key);
        } else if key.starts_with("example.com/") && random.chance(40) {
            let length = random.log(1, 1_024);
            annotations.insert(key.clone(), json!(random.words(length)));
        }
    }
    if random.chance(25) {
        let length = random.log(1, 256);
        metadata["annotations"]["example.com/last-sync"] = json!(random.words(length));
    }
}

/// Makes a reference to the controller that owns an object.
pub(super) fn owner(random: &mut Random, api_version: &str, kind: &str, name: &str) -> Value {
    json!([{
        "apiVersion": api_version, "kind": kind, "name": name, "uid": random.uid(),
        "controller": true, "blockOwnerDeletion": true,
    }])
}

/// Adds managed fields that name the fields the object has: one manager has all but the status.
pub(super) fn manage(object: &mut Value, manager: &str, created: u64, status: Option<(&str, u64)>) {
    let Some(top) = object.as_object() else { return };
    let mut owned = Map::new();
    for (name, value) in top {
        match name.as_str() {
            "apiVersion" | "kind" | "status" => {}
            "metadata" => {
                let set = ["annotations", "finalizers", "generateName", "labels", "ownerReferences"];
                let set = set
                    .into_iter()
                    .filter_map(|name| Some((format!("f:{name}"), fields(name, value.get(name)?))));
                owned.insert("f:metadata".to_owned(), Value::Object(set.collect()));
            }
            _ => _ = owned.insert(format!("f:{name}"), fields(name, value)),
        }
    }
    let version = object["apiVersion"].clone();
    let entry = |manager: &str, at: u64, owned: Value| {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": version, "time": time(at),
            "fieldsType": "FieldsV1", "fieldsV1": owned,
        })
    };
    let mut entries = vec![entry(manager, created, Value::Object(owned))];
    if let (Some((manager, at)), Some(value)) = (status, object.get("status")) {
        let mut last = entry(manager, at, json!({ "f:status": fields("status", value) }));
        last["subresource"] = json!("status");
        entries.push(last);
    }
    object["metadata"]["managedFields"] = Value::Array(entries);
}

/// Fields that are described as a whole. The API has fewer of them; these keep managed fields to less than a
/// third of a pod.
const ATOMIC: [&str; 14] = [
    "valueFrom",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "securityContext",
    "configMap",
    "secret",
    "projected",
    "downwardAPI",
    "nodeAffinity",
    "podAntiAffinity",
    "involvedObject",
];

/// Describes the fields of a value as `FieldsV1` does. Lists without keys are atomic; of others, only
/// containers are described further than by their keys.
fn fields(name: &str, value: &Value) -> Value {
    let keys: &[&str] = match name {
        "containers" | "initContainers" | "env" | "volumes" => &["name"],
        "ports" => &["containerPort", "protocol"],
        "volumeMounts" => &["mountPath"],
        "conditions" | "addresses" => &["type"],
        "podIPs" | "hostIPs" => &["ip"],
        "ownerReferences" => &["uid"],
        "topologySpreadConstraints" => &["topologyKey", "whenUnsatisfiable"],
        _ => &[],
    };
    let mut described = Map::new();
    match value {
        Value::Object(map) if !ATOMIC.contains(&name) => {
            described.extend(map.iter().map(|(name, value)| (format!("f:{name}"), fields(name, value))));
        }
        Value::Array(items) if items.iter().all(|item| keys.iter().any(|key| item.get(key).is_some())) => {
            for item in items {
                let key: Map<String, Value> =
                    keys.iter().filter_map(|key| Some(((*key).to_owned(), item.get(key)?.clone()))).collect();
                described.insert(
                    format!("k:{}", Value::Object(key)),
                    if name.ends_with("ontainers") { fields("", item) } else { json!({}) },
                );
            }
        }
        _ => return json!({}),
    }
    if !matches!(name, "spec" | "status") {
        described.insert(".".to_owned(), json!({}));
    }
    Value::Object(described)
}
