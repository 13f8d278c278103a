//! Every type of k8s-openapi that is a kind.

use std::collections::BTreeMap;
use std::fmt::Debug;

use k8s_openapi::Resource;
use kube_wire::{DecodeOptions, check_object_proto, decode_object, decode_object_proto};
use serde::de::DeserializeOwned;

use crate::samples::Sample;

/// Decodes a sample from both of its forms, and compares: false if the type takes neither. And [`is_right`].
pub(crate) type Check = (fn(&Sample) -> bool, fn(&Sample, &[u8]) -> (Option<bool>, bool));

fn check<K: DeserializeOwned + PartialEq + Debug + 'static>(sample: &Sample) -> bool {
    [false, true].into_iter().all(|keep| {
        let options = DecodeOptions::default().keep_managed_fields(keep);
        let from_json: Result<K, _> = decode_object(&sample.json, options);
        let from_protobuf: Result<K, _> =
            decode_object_proto(&sample.protobuf, crate::message(sample), options);
        match (&from_json, &from_protobuf) {
            (Ok(json), Ok(protobuf)) if json == protobuf => true,
            (Err(_), Err(_)) => false,
            _ => panic!("{sample}:\n{from_json:?}\n{from_protobuf:?}"),
        }
    })
}

/// Whether bytes are right according to the kind, and whether the type takes them.
pub(crate) fn is_right<K: DeserializeOwned + 'static>(sample: &Sample, bytes: &[u8]) -> (Option<bool>, bool) {
    let (message, options) = (crate::message(sample), DecodeOptions::default());
    let decoded: Result<K, _> = decode_object_proto(bytes, message, options);
    (check_object_proto(bytes, message, options).ok(), decoded.is_ok())
}

/// The checks by `apiVersion` and `kind`.
pub(crate) fn all() -> BTreeMap<(&'static str, &'static str), Check> {
    let mut checks: BTreeMap<(&'static str, &'static str), Check> = BTreeMap::new();
    add_all(&mut checks);
    checks
}

fn add<K: Resource + DeserializeOwned + PartialEq + Debug + 'static>(
    checks: &mut BTreeMap<(&'static str, &'static str), Check>,
) {
    checks.insert((K::API_VERSION, K::KIND), (check::<K>, is_right::<K>));
}

macro_rules! kinds {
    ($($($module:ident)::+: $($kind:ident)+;)+) => {
        fn add_all(checks: &mut BTreeMap<(&'static str, &'static str), Check>) {
            $({
                use k8s_openapi::$($module)::+ as module;
                $(add::<module::$kind>(checks);)+
            })+
        }
    };
}

kinds! {
    api::admissionregistration::v1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
        MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
        ValidatingWebhookConfiguration;
    api::admissionregistration::v1alpha1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding;
    api::admissionregistration::v1beta1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding;
    api::apiserverinternal::v1alpha1: StorageVersion;
    api::apps::v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet;
    api::authentication::v1: SelfSubjectReview TokenRequest TokenReview;
    api::authorization::v1: LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview
        SubjectAccessReview;
    api::autoscaling::v1: HorizontalPodAutoscaler Scale;
    api::autoscaling::v2: HorizontalPodAutoscaler;
    api::batch::v1: CronJob Job;
    api::certificates::v1: CertificateSigningRequest ClusterTrustBundle PodCertificateRequest;
    api::certificates::v1beta1: ClusterTrustBundle PodCertificateRequest;
    api::coordination::v1: Lease;
    api::coordination::v1alpha2: LeaseCandidate;
    api::coordination::v1beta1: LeaseCandidate;
    api::core::v1: Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume
        PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount;
    api::discovery::v1: EndpointSlice;
    api::events::v1: Event;
    api::flowcontrol::v1: FlowSchema PriorityLevelConfiguration;
    api::lifecycle::v1alpha1: Eviction EvictionRequest;
    api::networking::v1: IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR;
    api::node::v1: RuntimeClass;
    api::policy::v1: Eviction PodDisruptionBudget;
    api::rbac::v1: ClusterRole ClusterRoleBinding Role RoleBinding;
    api::resource::v1: DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice;
    api::resource::v1alpha3: DeviceTaintRule ResourcePoolStatusRequest;
    api::resource::v1beta1: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice;
    api::resource::v1beta2: DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice;
    api::scheduling::v1: PriorityClass;
    api::scheduling::v1alpha3: CompositePodGroup PodGroup Workload;
    api::scheduling::v1beta1: PodGroup Workload;
    api::storage::v1: CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass;
    api::storagemigration::v1: StorageVersionMigration;
    api::storagemigration::v1beta1: StorageVersionMigration;
    apiextensions_apiserver::pkg::apis::apiextensions::v1: CustomResourceDefinition;
    apimachinery::pkg::apis::meta::v1: APIGroup APIGroupList APIResourceList APIVersions Status;
    kube_aggregator::pkg::apis::apiregistration::v1: APIService;
}
