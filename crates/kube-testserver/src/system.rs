//! The objects that a real API server creates at its start: the service `kubernetes`, its address range, the configuration of
//! priority and fairness, and the component statuses.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::apply::{self, Manager, Operation, ResetFields};
use crate::cluster::Cluster;
use crate::kinds::Resource;
use crate::status::ApiError;
use crate::storage::{Draft, Expect, object_key};
use crate::verbs::{Change, Endpoint, WriteOptions, create_object, update_object};

const SETTINGS: &str = include_str!("../data/system.yaml");

const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";

/// The addresses of services, and the first of them, which is that of the server.
const SERVICE_ADDRESSES: (&str, &str) = ("10.0.0.0/24", "10.0.0.1");

/// The settings of priority and fairness.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    priority_levels: BTreeMap<String, Value>,
    flow_schemas: Vec<FlowSchema>,
}

/// A rule that gives requests a priority level.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowSchema {
    name: String,
    level: String,
    precedence: u32,
    /// The distinguisher method.
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    users: Vec<String>,
    /// The namespaces whose service accounts it is about.
    #[serde(default)]
    accounts: Vec<String>,
    /// The rules about requests; all requests if there are none.
    #[serde(default)]
    rules: Option<Map<String, Value>>,
}

/// Creates the objects of a server that listens at this address.
pub(crate) fn create(cluster: &Arc<Cluster>, address: SocketAddr) {
    let made = create_network(cluster, address)
        .and_then(|()| create_flow_control(cluster))
        .and_then(|()| create_component_statuses(cluster));
    if let Err(error) = made {
        tracing::error!(%error, "an object of the system could not be created");
    }
}

/// Creates the service `kubernetes`, its endpoints, its address and the range of its address.
fn create_network(cluster: &Arc<Cluster>, address: SocketAddr) -> Result<(), ApiError> {
    const MANAGER: &str = "apiserver";
    let (range, service_address) = SERVICE_ADDRESSES;
    let networking = "networking.k8s.io";
    create_as(
        cluster,
        MANAGER,
        (networking, "servicecidrs"),
        "",
        json!({
            "metadata": {"name": "kubernetes"},
            "spec": {"cidrs": [range]},
        }),
    )?;
    let ready = json!({"conditions": [{
        "type": "Ready", "status": "True", "lastTransitionTime": cluster.clock.now_text(),
        "reason": "", "message": "Kubernetes default Service CIDR is ready",
    }]});
    apply_status(
        cluster,
        "kubernetes-service-cidr-controller",
        (networking, "servicecidrs"),
        "kubernetes",
        &ready,
    )?;

    let port = json!({"name": "https", "protocol": "TCP", "port": 443, "targetPort": address.port()});
    create_as(
        cluster,
        MANAGER,
        ("", "services"),
        "default",
        json!({
            "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {
                "type": "ClusterIP", "clusterIP": service_address, "ipFamilyPolicy": "SingleStack",
                "sessionAffinity": "None", "ports": [port],
            },
        }),
    )?;
    // Nobody owns what follows from the address.
    if let Some(services) = cluster.builtin("", "services") {
        let options = WriteOptions::internal(MANAGER);
        update_object(cluster, &services, "default", "kubernetes", &options, |live| {
            let mut service = live.clone();
            service["spec"]["clusterIPs"] = json!([service_address]);
            service["spec"]["ipFamilies"] = json!(["IPv4"]);
            Ok(Change { object: service, owned: true })
        })?;
    }
    create_as(
        cluster,
        MANAGER,
        (networking, "ipaddresses"),
        "",
        json!({
            "metadata": {"name": service_address, "labels": {
                "ipaddress.kubernetes.io/ip-family": "IPv4",
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            }},
            "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "kubernetes"}},
        }),
    )?;

    let ip = address.ip().to_string();
    let port = json!({"name": "https", "protocol": "TCP", "port": address.port()});
    create_as(
        cluster,
        MANAGER,
        ("", "endpoints"),
        "default",
        json!({
            "metadata": {"name": "kubernetes", "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
            "subsets": [{"addresses": [{"ip": ip}], "ports": [port]}],
        }),
    )?;
    create_as(
        cluster,
        MANAGER,
        ("discovery.k8s.io", "endpointslices"),
        "default",
        json!({
            "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [ip], "conditions": {"ready": true}}],
            "ports": [port],
        }),
    )
}

fn create_flow_control(cluster: &Arc<Cluster>) -> Result<(), ApiError> {
    const PRODUCER: &str = "api-priority-and-fairness-config-producer-v1";
    const CONSUMER: &str = "api-priority-and-fairness-config-consumer-v1";
    let settings: Settings =
        serde_saphyr::from_str(SETTINGS).map_err(|error| ApiError::internal(error.to_string()))?;
    let metadata =
        |name: &str| json!({"name": name, "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"}});
    for (name, spec) in settings.priority_levels {
        let level = json!({"metadata": metadata(&name), "spec": spec});
        create_as(cluster, PRODUCER, (FLOW_CONTROL, "prioritylevelconfigurations"), "", level)?;
    }
    for schema in settings.flow_schemas {
        let object = json!({"metadata": metadata(&schema.name), "spec": schema.spec()});
        create_as(cluster, PRODUCER, (FLOW_CONTROL, "flowschemas"), "", object)?;
        let message = format!(
            "This FlowSchema references the PriorityLevelConfiguration object named \"{}\" and it exists",
            schema.level
        );
        let found = json!({"conditions": [{
            "type": "Dangling", "status": "False", "lastTransitionTime": cluster.clock.now_text(),
            "reason": "Found", "message": message,
        }]});
        apply_status(cluster, CONSUMER, (FLOW_CONTROL, "flowschemas"), &schema.name, &found)?;
    }
    Ok(())
}

impl FlowSchema {
    fn spec(&self) -> Value {
        let group = |name: &String| json!({"kind": "Group", "group": {"name": name}});
        let user = |name: &String| json!({"kind": "User", "user": {"name": name}});
        let accounts = |namespace: &String| json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": "*"}});
        let subjects: Vec<Value> = self
            .groups
            .iter()
            .map(group)
            .chain(self.users.iter().map(user))
            .chain(self.accounts.iter().map(accounts))
            .collect();
        let mut rules = match &self.rules {
            Some(rules) => Value::Object(rules.clone()),
            None => json!({
                "resourceRules": [{
                    "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"],
                }],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }),
        };
        rules["subjects"] = json!(subjects);
        let mut spec = json!({
            "priorityLevelConfiguration": {"name": self.level},
            "matchingPrecedence": self.precedence,
            "rules": [rules],
        });
        if let Some(by) = &self.by {
            spec["distinguisherMethod"] = json!({"type": by});
        }
        spec
    }
}

/// Creates the component statuses. A real server probes its components on each request; this server has none but its store.
fn create_component_statuses(cluster: &Cluster) -> Result<(), ApiError> {
    let Some(resource) = cluster.builtin("", "componentstatuses") else { return Ok(()) };
    for (name, healthy) in [("controller-manager", false), ("etcd-0", true), ("scheduler", false)] {
        let (status, message) =
            if healthy { ("True", "ok") } else { ("False", "there is none behind this server") };
        let component = json!({
            "metadata": {"name": name},
            "conditions": [{"type": "Healthy", "status": status, "message": message}],
        });
        let Value::Object(object) = component else { continue };
        let draft = Draft { key: object_key("", name), object, fields: Vec::new() };
        // Nothing else makes such objects.
        let _ = cluster.store.put(resource.table, draft, Expect::Absent);
    }
    Ok(())
}

fn resource(cluster: &Cluster, (group, plural): (&str, &str)) -> Result<Arc<Resource>, ApiError> {
    cluster.builtin(group, plural).ok_or_else(|| ApiError::internal(format!("there are no {plural}")))
}

/// Creates an object as a client with this field manager does.
fn create_as(
    cluster: &Arc<Cluster>,
    manager: &str,
    kind: (&str, &str),
    namespace: &str,
    object: Value,
) -> Result<(), ApiError> {
    let options = WriteOptions { endpoint: Endpoint::Main, ..WriteOptions::internal(manager) };
    create_object(cluster, &resource(cluster, kind)?, namespace, object, &options).map(|_| ())
}

/// Reports the status of a cluster-scoped object by server-side apply.
fn apply_status(
    cluster: &Arc<Cluster>,
    manager: &str,
    kind: (&str, &str),
    name: &str,
    status: &Value,
) -> Result<(), ApiError> {
    let resource = resource(cluster, kind)?;
    let Some(ty) = resource.type_ref() else { return Err(ApiError::internal("the kind has no schema")) };
    let (api_version, time) = (resource.api_version(), cluster.clock.now_text());
    let manager = Manager {
        name: manager,
        operation: Operation::Apply,
        api_version: &api_version,
        subresource: "status",
        time: &time,
    };
    let config = json!({
        "apiVersion": api_version, "kind": resource.kind, "metadata": {"name": name}, "status": status,
    });
    let reset = ResetFields::of_status(&resource.kind);
    let options = WriteOptions { endpoint: Endpoint::Status, ..WriteOptions::internal(manager.name) };
    update_object(cluster, &resource, "", name, &options, |live| {
        let applied = apply::apply(Some(live), &config, ty, &manager, true, &reset);
        let object = applied.map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(Change { object, owned: true })
    })
    .map(|_| ())
}
