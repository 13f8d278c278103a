//! What `kubectl get` shows: the columns of each kind, and the cells of each object.
//!
//! Clients ask for a `Table` (`meta.k8s.io/v1`) and print what they get, so the server decides what READY
//! and STATUS mean. Columns and cells are those of kube-apiserver; the descriptions of columns are our own.

mod access;
mod age;
mod cell;
mod cluster;
mod column;
mod control;
mod custom;
mod network;
mod pods;
mod scaling;
mod storage;
mod workloads;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::crd::PrinterColumn;
use column::{AGE, CREATED_AT, Column, NAME};

/// The columns of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    kind: Kind,
    /// What only one kind has.
    special: Special,
}

#[derive(Clone, Debug)]
enum Kind {
    Builtin(&'static [Column]),
    Custom(Vec<PrinterColumn>),
}

#[derive(Clone, Debug)]
enum Special {
    Nothing,
    /// Rows say whether the pod has ended.
    Pods,
    /// Lists mark the default class, once it is known.
    StorageClasses(Option<String>),
}

/// Finds the columns of a resource. `custom` are those of its definition, if it is a custom one; an empty
/// list means that the definition names none.
pub(crate) fn columns_for(group: &str, plural: &str, custom: Option<&[PrinterColumn]>) -> Columns {
    let kind = match custom {
        Some([]) => Kind::Builtin(&[NAME, AGE_AS_DATE]),
        // A path that is not understood ends the table, as in Kubernetes.
        Some(columns) => Kind::Custom(columns.iter().take_while(|one| one.path.is_some()).cloned().collect()),
        None => Kind::Builtin(builtin(group, plural)),
    };
    let special = match (group, plural) {
        ("", "pods") => Special::Pods,
        ("storage.k8s.io", "storageclasses") => Special::StorageClasses(None),
        _ => Special::Nothing,
    };
    Columns { kind, special }
}

impl Columns {
    /// The column definitions, as JSON.
    pub(crate) fn definitions(&self) -> Value {
        match &self.kind {
            Kind::Builtin(columns) => columns.iter().map(Column::definition).collect(),
            Kind::Custom(columns) => {
                std::iter::once(NAME.definition()).chain(columns.iter().map(custom::definition)).collect()
            }
        }
    }

    /// The cells of an object, one for each column. Events may be in either of their versions; autoscalers
    /// of `autoscaling/v1` show less than they do in the version that they are stored in.
    pub(crate) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let mut cells: Vec<Value> = match &self.kind {
            Kind::Builtin(columns) => columns.iter().map(|column| (column.cell)(object, now)).collect(),
            Kind::Custom(columns) => std::iter::once((NAME.cell)(object, now))
                .chain(columns.iter().map(|column| custom::cell(column, object, now)))
                .collect(),
        };
        if let (Special::StorageClasses(Some(default)), Some(name)) = (&self.special, cells.first_mut())
            && name == default
        {
            *name = json!(format!("{default} (default)"));
        }
        cells
    }

    /// What a row says about its object beyond the cells: that a pod has ended.
    pub(crate) fn conditions(&self, object: &Value) -> Option<Value> {
        match self.special {
            Special::Pods => pods::row_conditions(object),
            Special::Nothing | Special::StorageClasses(_) => None,
        }
    }

    /// Looks at all objects of a list first: of several default storage classes, the newest one counts.
    pub(crate) fn for_list<'v>(mut self, objects: impl IntoIterator<Item = &'v Value>) -> Self {
        if let Special::StorageClasses(default) = &mut self.special {
            *default = storage::default_class(objects);
        }
        self
    }
}

/// The age of custom resources has another type than that of built-in ones.
const AGE_AS_DATE: Column = Column { ty: "date", ..AGE };

fn builtin(group: &str, plural: &str) -> &'static [Column] {
    match (group, plural) {
        ("", "pods") => pods::PODS,
        ("", "podtemplates") => workloads::POD_TEMPLATES,
        ("", "replicationcontrollers") | ("apps", "replicasets") => workloads::REPLICA_SETS,
        ("apps", "deployments") => workloads::DEPLOYMENTS,
        ("apps", "statefulsets") => workloads::STATEFUL_SETS,
        ("apps", "daemonsets") => workloads::DAEMON_SETS,
        ("apps", "controllerrevisions") => workloads::CONTROLLER_REVISIONS,
        ("batch", "jobs") => workloads::JOBS,
        ("batch", "cronjobs") => workloads::CRON_JOBS,
        ("", "services") => network::SERVICES,
        ("", "endpoints") => network::ENDPOINTS,
        ("discovery.k8s.io", "endpointslices") => network::ENDPOINT_SLICES,
        ("networking.k8s.io", "ingresses") => network::INGRESSES,
        ("networking.k8s.io", "ingressclasses") => network::INGRESS_CLASSES,
        ("networking.k8s.io", "networkpolicies") => network::NETWORK_POLICIES,
        ("networking.k8s.io", "servicecidrs") => network::SERVICE_CIDRS,
        ("networking.k8s.io", "ipaddresses") => network::IP_ADDRESSES,
        ("", "nodes") => cluster::NODES,
        ("", "namespaces") => cluster::NAMESPACES,
        ("", "configmaps") => cluster::CONFIG_MAPS,
        ("", "secrets") => cluster::SECRETS,
        ("" | "events.k8s.io", "events") => cluster::EVENTS,
        ("coordination.k8s.io", "leases") => cluster::LEASES,
        ("coordination.k8s.io", "leasecandidates") => cluster::LEASE_CANDIDATES,
        ("node.k8s.io", "runtimeclasses") => cluster::RUNTIME_CLASSES,
        ("", "persistentvolumes") => storage::VOLUMES,
        ("", "persistentvolumeclaims") => storage::CLAIMS,
        ("storage.k8s.io", "storageclasses") => storage::CLASSES,
        ("storage.k8s.io", "volumeattachments") => storage::ATTACHMENTS,
        ("storage.k8s.io", "volumeattributesclasses") => storage::ATTRIBUTES_CLASSES,
        ("storage.k8s.io", "csinodes") => storage::CSI_NODES,
        ("storage.k8s.io", "csidrivers") => storage::CSI_DRIVERS,
        ("", "serviceaccounts")
        | ("resource.k8s.io", "deviceclasses" | "resourceclaimtemplates")
        | ("scheduling.k8s.io", "workloads") => &[NAME, AGE],
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => access::BINDINGS,
        ("certificates.k8s.io", "certificatesigningrequests") => access::SIGNING_REQUESTS,
        ("certificates.k8s.io", "clustertrustbundles") => access::TRUST_BUNDLES,
        ("certificates.k8s.io", "podcertificaterequests") => access::POD_CERTIFICATES,
        ("policy", "poddisruptionbudgets") => scaling::DISRUPTION_BUDGETS,
        ("autoscaling", "horizontalpodautoscalers") => scaling::AUTOSCALERS,
        ("", "resourcequotas") => scaling::QUOTAS,
        ("scheduling.k8s.io", "priorityclasses") => scaling::PRIORITY_CLASSES,
        ("resource.k8s.io", "resourceclaims") => scaling::RESOURCE_CLAIMS,
        ("resource.k8s.io", "resourceslices") => scaling::RESOURCE_SLICES,
        ("resource.k8s.io", "devicetaintrules") => scaling::DEVICE_TAINTS,
        ("apiextensions.k8s.io", "customresourcedefinitions") => control::DEFINITIONS,
        ("apiregistration.k8s.io", "apiservices") => control::API_SERVICES,
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => control::FLOW_SCHEMAS,
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => control::PRIORITY_LEVELS,
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => control::WEBHOOKS,
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => control::VALIDATING_POLICIES,
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => control::MUTATING_POLICIES,
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings",
        ) => control::POLICY_BINDINGS,
        // Among others roles, cluster roles and limit ranges.
        _ => &[NAME, CREATED_AT],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

    #[test]
    fn kinds_without_columns_of_their_own_show_when_they_were_made() {
        let columns = columns_for("rbac.authorization.k8s.io", "roles", None);
        let object = json!({"metadata": {"name": "r", "creationTimestamp": "2023-11-14T22:13:20Z"}});
        assert_eq!(columns.cells(&object, NOW), [json!("r"), json!("2023-11-14T22:13:20Z")]);
        let definitions = columns.definitions();
        assert_eq!(definitions[1]["name"], "Created At");
        assert_eq!(definitions[1]["type"], "date");
    }

    #[test]
    fn every_definition_has_all_its_fields() {
        let definitions = columns_for("", "pods", None).definitions();
        let first = &definitions[0];
        assert_eq!(first["format"], "name");
        assert_eq!(first["priority"], 0);
        assert_eq!(definitions.as_array().unwrap().len(), 9);
        for definition in definitions.as_array().unwrap() {
            assert_eq!(definition.as_object().unwrap().len(), 5);
            assert_ne!(definition["description"], "");
        }
    }

    #[test]
    fn only_the_newest_default_storage_class_is_marked_and_only_in_lists() {
        let class = |name: &str, created: &str| {
            json!({"metadata": {"name": name, "creationTimestamp": created,
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})
        };
        let classes = [class("old", "2023-01-01T00:00:00Z"), class("new", "2023-02-01T00:00:00Z")];
        let alone = columns_for("storage.k8s.io", "storageclasses", None);
        assert_eq!(alone.cells(&classes[1], NOW)[0], "new");
        let list = alone.for_list(&classes);
        assert_eq!(list.cells(&classes[0], NOW)[0], "old");
        assert_eq!(list.cells(&classes[1], NOW)[0], "new (default)");
    }
}
