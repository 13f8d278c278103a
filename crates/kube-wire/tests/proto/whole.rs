//! What is compared is everything that there is: the list of types is written by hand, and the table is not.

use std::collections::{BTreeMap, BTreeSet};

use crate::{kinds, samples};

const TABLE: &str = include_str!("../../data/protobuf.txt");

/// Every kind of the table, and the versions in which it is one and the same message; `*` stands for all that there are.
fn table() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let kinds = TABLE.lines().filter_map(|line| line.strip_prefix("kind ")?.split_once(' '));
    kinds.map(|(kind, versions)| (kind, versions.split(' ').collect()))
}

/// The kinds of which k8s-openapi has no type for the latest version, and why: `apiVersion kind kind …`. As JSON they are
/// compared too.
const WITHOUT_A_TYPE: [(&str, &[&str]); 5] = [
    (
        "what a request asks for, which is in its query",
        &[
            "* CreateOptions DeleteOptions GetOptions ListOptions PatchOptions UpdateOptions",
            "v1 NodeProxyOptions PodAttachOptions PodExecOptions PodLogOptions PodPortForwardOptions
                PodProxyOptions ServiceProxyOptions",
            "meta.k8s.io/v1 TableOptions",
            "meta.k8s.io/v1beta1 TableOptions",
        ],
    ),
    (
        "not a kind of its own: an event, a part of any object, discovery",
        &[
            "* WatchEvent",
            "meta.k8s.io/v1 PartialObjectMetadata",
            "meta.k8s.io/v1beta1 PartialObjectMetadata",
            "apidiscovery.k8s.io/v2 APIGroupDiscovery",
            "apidiscovery.k8s.io/v2beta1 APIGroupDiscovery",
        ],
    ),
    (
        "servers keep it for themselves, or ask webhooks with it",
        &[
            "v1 PodStatusResult RangeAllocation SerializedReference",
            "admission.k8s.io/v1 AdmissionReview",
            "admission.k8s.io/v1beta1 AdmissionReview",
            "apiextensions.k8s.io/v1 ConversionReview",
            "imagepolicy.k8s.io/v1alpha1 ImageReview",
        ],
    ),
    (
        "served before the latest version, and not any more",
        &[
            "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
            "certificates.k8s.io/v1alpha1 ClusterTrustBundle PodCertificateRequest",
            "networking.k8s.io/v1beta1 IPAddress ServiceCIDR",
            "resource.k8s.io/v1alpha3 DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
            "scheduling.k8s.io/v1alpha1 Workload",
            "scheduling.k8s.io/v1alpha2 PodGroup Workload",
            "storage.k8s.io/v1alpha1 VolumeAttributesClass",
            "storage.k8s.io/v1beta1 VolumeAttributesClass",
            "storagemigration.k8s.io/v1alpha1 StorageVersionMigration",
        ],
    ),
    (
        "served by none of the versions that the table is about",
        &[
            "admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
            "admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration ValidatingWebhookConfiguration",
            "apps/v1beta1 ControllerRevision Deployment DeploymentRollback Scale StatefulSet",
            "apps/v1beta2 ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet",
            "authentication.k8s.io/v1alpha1 SelfSubjectReview",
            "authentication.k8s.io/v1beta1 SelfSubjectReview TokenReview",
            "authorization.k8s.io/v1beta1 LocalSubjectAccessReview SelfSubjectAccessReview
                SelfSubjectRulesReview SubjectAccessReview",
            "autoscaling/v2beta1 HorizontalPodAutoscaler",
            "autoscaling/v2beta2 HorizontalPodAutoscaler",
            "batch/v1beta1 CronJob",
            "certificates.k8s.io/v1beta1 CertificateSigningRequest",
            "coordination.k8s.io/v1beta1 Lease",
            "discovery.k8s.io/v1beta1 EndpointSlice",
            "events.k8s.io/v1beta1 Event",
            "extensions/v1beta1 DaemonSet Deployment DeploymentRollback Ingress NetworkPolicy ReplicaSet Scale",
            "flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema PriorityLevelConfiguration",
            "flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema PriorityLevelConfiguration",
            "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema PriorityLevelConfiguration",
            "networking.k8s.io/v1alpha1 IPAddress ServiceCIDR",
            "networking.k8s.io/v1beta1 Ingress IngressClass",
            "node.k8s.io/v1alpha1 RuntimeClass",
            "node.k8s.io/v1beta1 RuntimeClass",
            "policy/v1beta1 Eviction PodDisruptionBudget",
            "rbac.authorization.k8s.io/v1alpha1 ClusterRole ClusterRoleBinding Role RoleBinding",
            "rbac.authorization.k8s.io/v1beta1 ClusterRole ClusterRoleBinding Role RoleBinding",
            "scheduling.k8s.io/v1alpha1 PriorityClass",
            "scheduling.k8s.io/v1beta1 PriorityClass",
            "storage.k8s.io/v1alpha1 CSIStorageCapacity VolumeAttachment",
            "storage.k8s.io/v1beta1 CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment",
        ],
    ),
];

fn without_a_type() -> BTreeMap<(&'static str, &'static str), &'static str> {
    let mut all = BTreeMap::new();
    for (why, lines) in WITHOUT_A_TYPE {
        for line in lines {
            let mut words = line.split_whitespace();
            let version = words.next().unwrap_or_default();
            for kind in words {
                assert_eq!(all.insert((version, kind), why), None, "{version} {kind} is there twice");
            }
        }
    }
    all
}

#[test]
fn every_kind_of_the_table_is_compared_as_a_type_or_it_is_said_why_not() {
    let named = |(kind, versions): (&'static str, Vec<&'static str>)| {
        versions.into_iter().map(move |version| (version, kind)).collect::<Vec<_>>()
    };
    let table: BTreeSet<(&str, &str)> = table().flat_map(named).collect();
    let (compared, excepted) = (kinds::all(), without_a_type());
    // Lists are read item by item, whatever is in them; these two are no lists of objects.
    let is_list = |kind: &str| kind.ends_with("List") && !["APIGroupList", "APIResourceList"].contains(&kind);
    for named in table.iter().filter(|(_, kind)| !is_list(kind)) {
        let (version, kind) = named;
        match (compared.contains_key(named), excepted.get(named)) {
            (true, None) | (false, Some(_)) => {}
            (false, None) => panic!("{version} {kind} is compared nowhere: it belongs in kinds.rs"),
            (true, Some(why)) => panic!("{version} {kind} is compared, though: {why}"),
        }
    }
    for (version, kind) in compared.keys().chain(excepted.keys()) {
        assert!(table.contains(&(version, kind)), "{version} {kind} is not in the table");
    }
}

#[test]
fn every_kind_of_every_version_has_samples() {
    /// With nothing set, with everything set to zero, and random ones.
    const EACH: usize = 3;
    let mut samples: BTreeMap<(String, String), usize> = BTreeMap::new();
    for sample in samples::checked_in() {
        *samples.entry((sample.api_version, sample.kind)).or_default() += 1;
    }
    for (kind, versions) in table() {
        let of = |(version, sampled): &(String, String)| {
            sampled == kind && (versions == ["*"] || versions.contains(&version.as_str()))
        };
        let count: usize = samples.iter().filter(|(named, _)| of(named)).map(|(_, count)| count).sum();
        assert!(count >= EACH, "{count} samples of {versions:?} {kind}; run `cargo xtask schema`");
    }
}
