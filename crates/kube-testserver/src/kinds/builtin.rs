//! The built-in kinds, read from a table of facts.

use std::collections::HashMap;

use super::{Resource, Selectable, Subresource, Traits, Verb, api_version};
use crate::storage::{Store, TableId};

const TABLE: &str = include_str!("../../data/kinds.txt");

/// Resources whose desired state is counted in `metadata.generation`.
const WITH_GENERATION: &[&str] = &[
    "cronjobs",
    "customresourcedefinitions",
    "daemonsets",
    "deployments",
    "deviceclasses",
    "devicetaintrules",
    "endpointslices",
    "flowschemas",
    "ingressclasses",
    "ingresses",
    "jobs",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "networkpolicies",
    "poddisruptionbudgets",
    "pods",
    "podtemplates",
    "priorityclasses",
    "prioritylevelconfigurations",
    "replicasets",
    "replicationcontrollers",
    "resourceslices",
    "statefulsets",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
];

/// Resources that PUT may create.
const CREATE_ON_UPDATE: &[&str] = &[
    "clusterrolebindings",
    "clusterroles",
    "endpoints",
    "events",
    "leasecandidates",
    "leases",
    "limitranges",
    "rolebindings",
    "roles",
    "runtimeclasses",
    "services",
];

/// Resources that PUT replaces only if it names the version to replace.
const VERSION_REQUIRED: &[&str] = &[
    "apiservices",
    "clustertrustbundles",
    "compositepodgroups",
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "customresourcedefinitions",
    "evictionrequests",
    "evictions",
    "leasecandidates",
    "leases",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "podcertificaterequests",
    "poddisruptionbudgets",
    "podgroups",
    "resourcepoolstatusrequests",
    "runtimeclasses",
    "storageversionmigrations",
    "storageversions",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
    "volumeattachments",
    "workloads",
];

/// Resources whose deletion answers with the deleted object.
const RETURNS_DELETED: &[&str] = &[
    "csidrivers",
    "csinodes",
    "deviceclasses",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourcepoolstatusrequests",
    "resourcequotas",
    "resourceslices",
    "serviceaccounts",
    "services",
    "storageclasses",
    "volumeattachments",
    "volumeattributesclasses",
];

/// Groups whose kinds take finalizers without a domain; so do core's events.
const ANY_FINALIZER: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "policy",
];

/// Selectable fields: plural name, label, path if it is not the label, value when absent.
const SELECTABLE: &[(&str, &str, &str, &str)] = &[
    ("pods", "spec.nodeName", "", ""),
    ("pods", "spec.restartPolicy", "", ""),
    ("pods", "spec.schedulerName", "", ""),
    ("pods", "spec.serviceAccountName", "", ""),
    ("pods", "spec.hostNetwork", "", "false"),
    ("pods", "status.phase", "", ""),
    ("pods", "status.podIP", "", ""),
    // Kubernetes knows these two by name only: they are never set.
    ("pods", "status.podIPs", "-", ""),
    ("pods", "spec.host", "-", ""),
    ("pods", "status.nominatedNodeName", "", ""),
    ("nodes", "spec.unschedulable", "", "false"),
    ("namespaces", "status.phase", "", ""),
    ("secrets", "type", "", ""),
    ("services", "spec.clusterIP", "", ""),
    ("services", "spec.type", "", ""),
    ("replicationcontrollers", "status.replicas", "", "0"),
    ("jobs", "status.successful", "status.succeeded", "0"),
    ("certificatesigningrequests", "spec.signerName", "", ""),
    ("podcertificaterequests", "spec.signerName", "", ""),
    ("podcertificaterequests", "spec.podName", "", ""),
    ("podcertificaterequests", "spec.nodeName", "", ""),
    ("clustertrustbundles", "spec.signerName", "", ""),
    ("resourceslices", "spec.nodeName", "", ""),
    ("resourceslices", "spec.driver", "", ""),
];

/// Kinds that Kubernetes warns its clients about: group, version, kind (all if empty), the version since which,
/// the version from which they are gone, and what to use instead.
const DEPRECATED: &[(&str, &str, &str, &str, &str, &str)] = &[
    ("", "v1", "ComponentStatus", "1.19", "", ""),
    ("", "v1", "Endpoints", "1.33", "", "discovery.k8s.io/v1 EndpointSlice"),
    ("admissionregistration.k8s.io", "v1alpha1", "", "1.35", "1.38", ""),
    ("admissionregistration.k8s.io", "v1beta1", "", "1.37", "1.40", "admissionregistration.k8s.io/v1"),
    ("certificates.k8s.io", "v1beta1", "", "1.37", "1.40", "certificates.k8s.io/v1"),
    ("coordination.k8s.io", "v1alpha2", "", "1.35", "1.38", ""),
    ("coordination.k8s.io", "v1beta1", "", "1.36", "1.39", ""),
    ("resource.k8s.io", "v1alpha3", "DeviceTaintRule", "1.36", "1.39", ""),
    ("resource.k8s.io", "v1beta1", "", "1.35", "1.38", ""),
    // The one kind of this version that is not deprecated.
    ("resource.k8s.io", "v1beta2", "DeviceTaintRule", "", "", ""),
    ("resource.k8s.io", "v1beta2", "", "1.36", "1.39", ""),
    ("storagemigration.k8s.io", "v1beta1", "", "1.37", "1.40", "storagemigration.k8s.io/v1"),
];

/// Events are kept in their core form; both groups store the same fields. The new one does not select on the source.
const EVENT_FIELDS: &[(&str, &str, &str)] = &[
    ("involvedObject.kind", "regarding.kind", "involvedObject.kind"),
    ("involvedObject.namespace", "regarding.namespace", "involvedObject.namespace"),
    ("involvedObject.name", "regarding.name", "involvedObject.name"),
    ("involvedObject.uid", "regarding.uid", "involvedObject.uid"),
    ("involvedObject.apiVersion", "regarding.apiVersion", "involvedObject.apiVersion"),
    ("involvedObject.resourceVersion", "regarding.resourceVersion", "involvedObject.resourceVersion"),
    ("involvedObject.fieldPath", "regarding.fieldPath", "involvedObject.fieldPath"),
    ("reason", "reason", "reason"),
    ("reportingComponent", "reportingController", "reportingComponent"),
    ("source", "", "source.component"),
    ("type", "type", "type"),
];

/// All built-in resources; versions of one resource share a table.
pub(crate) fn builtin_resources(store: &Store) -> Vec<Resource> {
    let mut tables: HashMap<(&str, &str), TableId> = HashMap::new();
    let mut resources = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split_whitespace();
        let mut column = || columns.next().filter(|text| *text != "-").unwrap_or("");
        let (group, version, plural, singular) = (column(), column(), column(), column());
        let (kind, scope, verbs) = (column(), column(), column());
        let (short_names, categories) = (column(), column());
        let subresources: Vec<_> = columns.map(|text| subresource(text, kind)).collect();
        // The two event APIs are two views of the same objects.
        let home = if plural == "events" { ("", "events") } else { (group, plural) };
        let table = *tables.entry(home).or_insert_with(|| store.add_table());
        resources.push(Resource {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            list_kind: format!("{kind}List").into(),
            plural: plural.into(),
            singular: singular.into(),
            short_names: words(short_names),
            categories: words(categories),
            namespaced: scope == "Namespaced",
            verbs: verb_list(verbs, &Verb::ALL),
            traits: Traits {
                generation: WITH_GENERATION.contains(&plural),
                status: subresources.iter().any(|sub| &*sub.name == "status"),
                create_on_update: CREATE_ON_UPDATE.contains(&plural),
                unconditional_update: !VERSION_REQUIRED.contains(&plural),
                returns_deleted: RETURNS_DELETED.contains(&plural),
                any_finalizer: ANY_FINALIZER.contains(&group) || (group, plural) == ("", "events"),
            },
            subresources,
            table,
            selectable: selectable(group, plural),
            warning: deprecation(group, version, kind),
            custom: None,
        });
    }
    resources
}

fn deprecation(group: &str, version: &str, kind: &str) -> Option<Box<str>> {
    let (.., since, gone, instead) = DEPRECATED
        .iter()
        .find(|entry| entry.0 == group && entry.1 == version && (entry.2.is_empty() || entry.2 == kind))?;
    if since.is_empty() {
        return None;
    }
    let mut text = format!("{} {kind} is deprecated in v{since}+", api_version(group, version));
    if !gone.is_empty() {
        text.push_str(&format!(", unavailable in v{gone}+"));
    }
    if instead.contains(' ') {
        text.push_str(&format!("; use {instead}"));
    } else if !instead.is_empty() {
        text.push_str(&format!("; use {instead} {kind}"));
    }
    Some(text.into())
}

fn words(list: &str) -> Vec<Box<str>> {
    list.split(',').filter(|word| !word.is_empty()).map(Box::from).collect()
}

fn verb_list(list: &str, all: &[Verb]) -> Vec<Verb> {
    if list == "all" {
        return all.to_vec();
    }
    list.split([',', '+']).filter_map(Verb::parse).collect()
}

/// Reads `status`, `scale=autoscaling/v1/Scale` or `binding=Binding:create`.
fn subresource(text: &str, parent_kind: &str) -> Subresource {
    let (text, verbs) = text.split_once(':').unwrap_or((text, "get,patch,update"));
    let (name, kind) = text.split_once('=').unwrap_or((text, parent_kind));
    let (api_version, kind) = match kind.rsplit_once('/') {
        Some((api_version, kind)) => {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            (Some((group.into(), version.into())), kind)
        }
        None => (None, kind),
    };
    Subresource { name: name.into(), api_version, kind: kind.into(), verbs: verb_list(verbs, &Verb::ALL) }
}

fn selectable(group: &str, plural: &str) -> Vec<Selectable> {
    let path = |path: &str| -> Vec<Box<str>> { path.split('.').map(Box::from).collect() };
    if plural == "events" {
        let new_api = !group.is_empty();
        let field = |&(core, new, stored): &(&str, &str, &str)| Selectable {
            label: if new_api { new } else { core }.into(),
            path: path(stored),
            // An event of the new kind names its controller only.
            fallback: if core == "source" { path("reportingComponent") } else { Vec::new() },
            absent: "",
        };
        return EVENT_FIELDS.iter().map(field).collect();
    }
    SELECTABLE
        .iter()
        .filter(|(resource, ..)| *resource == plural)
        .map(|(_, label, at, absent)| Selectable {
            label: (*label).into(),
            path: path(if at.is_empty() { label } else { at }),
            fallback: Vec::new(),
            absent,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use crate::storage::HistoryLimits;

    fn all() -> Vec<Resource> {
        builtin_resources(&Store::new(HistoryLimits { changes: 1, bytes: 1 }))
    }

    #[test]
    fn every_line_of_the_table_is_complete() {
        let resources = all();
        assert_eq!(resources.len(), TABLE.lines().filter(|line| !line.starts_with('#')).count());
        for resource in &resources {
            assert!(!resource.verbs.is_empty(), "{} has no verbs", resource.plural);
            assert!(resource.subresources.iter().all(|sub| !sub.verbs.is_empty()), "{}", resource.plural);
        }
    }

    #[test]
    fn every_stored_kind_has_a_type() {
        for resource in all() {
            let known = schema::builtin().root(&resource.api_version(), &resource.kind).is_some();
            assert!(known, "{} {} has no type", resource.api_version(), resource.kind);
        }
    }

    #[test]
    fn deprecated_kinds_say_since_when_and_what_else_to_use() {
        assert_eq!(
            deprecation("", "v1", "Endpoints").as_deref(),
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        );
        assert_eq!(
            deprecation("certificates.k8s.io", "v1beta1", "ClusterTrustBundle").as_deref(),
            Some(
                "certificates.k8s.io/v1beta1 ClusterTrustBundle is deprecated in v1.37+, unavailable in v1.40+; use \
                 certificates.k8s.io/v1 ClusterTrustBundle"
            )
        );
        assert_eq!(deprecation("apps", "v1", "Deployment"), None);
    }

    #[test]
    fn subresources_name_their_kind_and_verbs() {
        let resources = all();
        let find = |group: &str, plural: &str| {
            resources.iter().find(|resource| resource.is(group, plural)).expect(plural)
        };
        let scale = find("apps", "deployments").subresource("scale").expect("scale");
        assert_eq!(&*scale.kind, "Scale");
        assert_eq!(scale.api_version, Some(("autoscaling".into(), "v1".into())));
        let eviction = find("", "pods").subresource("eviction").expect("eviction");
        assert_eq!(eviction.verbs, [Verb::Create]);
    }
}
