//! All groups of built-in kinds. Made by `cargo xtask accessors`: not to be edited.

group! {
    "`admissionregistration.k8s.io`." [] admissionregistration: Admissionregistration,
    [] v1: V1 = api::admissionregistration::v1 {
        [k8s_if_ge_1_36] mutating_admission_policies: MutatingAdmissionPolicy,
        [k8s_if_ge_1_36] mutating_admission_policy_bindings: MutatingAdmissionPolicyBinding,
        [] mutating_webhook_configurations: MutatingWebhookConfiguration,
        [] validating_admission_policies: ValidatingAdmissionPolicy,
        [] validating_admission_policy_bindings: ValidatingAdmissionPolicyBinding,
        [] validating_webhook_configurations: ValidatingWebhookConfiguration,
    }
    [] v1alpha1: V1alpha1 = api::admissionregistration::v1alpha1 {
        [] mutating_admission_policies: MutatingAdmissionPolicy,
        [] mutating_admission_policy_bindings: MutatingAdmissionPolicyBinding,
    }
    [] v1beta1: V1beta1 = api::admissionregistration::v1beta1 {
        [k8s_if_ge_1_34] mutating_admission_policies: MutatingAdmissionPolicy,
        [k8s_if_ge_1_34] mutating_admission_policy_bindings: MutatingAdmissionPolicyBinding,
        [k8s_if_le_1_33] validating_admission_policies: ValidatingAdmissionPolicy,
        [k8s_if_le_1_33] validating_admission_policy_bindings: ValidatingAdmissionPolicyBinding,
    }
}

group! {
    "`apiextensions.k8s.io`." [] apiextensions: Apiextensions,
    [] v1: V1 = apiextensions_apiserver::pkg::apis::apiextensions::v1 {
        [] custom_resource_definitions: CustomResourceDefinition,
    }
}

group! {
    "`apiregistration.k8s.io`." [] apiregistration: Apiregistration,
    [] v1: V1 = kube_aggregator::pkg::apis::apiregistration::v1 {
        [] api_services: APIService,
    }
}

group! {
    "`internal.apiserver.k8s.io`." [] apiserverinternal: Apiserverinternal,
    [] v1alpha1: V1alpha1 = api::apiserverinternal::v1alpha1 {
        [] storage_versions: StorageVersion,
    }
}

group! {
    "`apps`." [] apps: Apps,
    [] v1: V1 = api::apps::v1 {
        [] controller_revisions: ControllerRevision,
        [] daemon_sets: DaemonSet,
        [] deployments: Deployment,
        [] replica_sets: ReplicaSet,
        [] stateful_sets: StatefulSet,
    }
}

group! {
    "`autoscaling`." [] autoscaling: Autoscaling,
    [] v1: V1 = api::autoscaling::v1 {
        [] horizontal_pod_autoscalers: HorizontalPodAutoscaler,
    }
    [] v2: V2 = api::autoscaling::v2 {
        [] horizontal_pod_autoscalers: HorizontalPodAutoscaler,
    }
}

group! {
    "`batch`." [] batch: Batch,
    [] v1: V1 = api::batch::v1 {
        [] cron_jobs: CronJob,
        [] jobs: Job,
    }
}

group! {
    "`certificates.k8s.io`." [] certificates: Certificates,
    [] v1: V1 = api::certificates::v1 {
        [] certificate_signing_requests: CertificateSigningRequest,
        [k8s_if_ge_1_37] cluster_trust_bundles: ClusterTrustBundle,
        [k8s_if_ge_1_37] pod_certificate_requests: PodCertificateRequest,
    }
    [k8s_if_le_1_36] v1alpha1: V1alpha1 = api::certificates::v1alpha1 {
        [] cluster_trust_bundles: ClusterTrustBundle,
        [k8s_if_1_34] pod_certificate_requests: PodCertificateRequest,
    }
    [] v1beta1: V1beta1 = api::certificates::v1beta1 {
        [] cluster_trust_bundles: ClusterTrustBundle,
        [k8s_if_ge_1_35] pod_certificate_requests: PodCertificateRequest,
    }
}

group! {
    "`coordination.k8s.io`." [] coordination: Coordination,
    [] v1: V1 = api::coordination::v1 {
        [] leases: Lease,
    }
    [] v1alpha2: V1alpha2 = api::coordination::v1alpha2 {
        [] lease_candidates: LeaseCandidate,
    }
    [] v1beta1: V1beta1 = api::coordination::v1beta1 {
        [] lease_candidates: LeaseCandidate,
    }
}

group! {
    "The core group." [] core: Core,
    [] v1: V1 = api::core::v1 {
        [] component_statuses: ComponentStatus,
        [] config_maps: ConfigMap,
        [] endpoints: Endpoints,
        [] events: Event,
        [] limit_ranges: LimitRange,
        [] namespaces: Namespace,
        [] nodes: Node,
        [] persistent_volumes: PersistentVolume,
        [] persistent_volume_claims: PersistentVolumeClaim,
        [] pods: Pod,
        [] pod_templates: PodTemplate,
        [] replication_controllers: ReplicationController,
        [] resource_quotas: ResourceQuota,
        [] secrets: Secret,
        [] services: Service,
        [] service_accounts: ServiceAccount,
    }
}

group! {
    "`discovery.k8s.io`." [] discovery: Discovery,
    [] v1: V1 = api::discovery::v1 {
        [] endpoint_slices: EndpointSlice,
    }
}

group! {
    "`events.k8s.io`." [] events: Events,
    [] v1: V1 = api::events::v1 {
        [] events: Event,
    }
}

group! {
    "`flowcontrol.apiserver.k8s.io`." [] flowcontrol: Flowcontrol,
    [] v1: V1 = api::flowcontrol::v1 {
        [] flow_schemas: FlowSchema,
        [] priority_level_configurations: PriorityLevelConfiguration,
    }
}

group! {
    "`lifecycle.k8s.io`." [k8s_if_ge_1_37] lifecycle: Lifecycle,
    [] v1alpha1: V1alpha1 = api::lifecycle::v1alpha1 {
        [] evictions: Eviction,
        [] eviction_requests: EvictionRequest,
    }
}

group! {
    "`networking.k8s.io`." [] networking: Networking,
    [] v1: V1 = api::networking::v1 {
        [] ip_addresses: IPAddress,
        [] ingresses: Ingress,
        [] ingress_classes: IngressClass,
        [] network_policies: NetworkPolicy,
        [] service_cidrs: ServiceCIDR,
    }
    [k8s_if_le_1_36] v1beta1: V1beta1 = api::networking::v1beta1 {
        [] ip_addresses: IPAddress,
        [] service_cidrs: ServiceCIDR,
    }
}

group! {
    "`node.k8s.io`." [] node: Node,
    [] v1: V1 = api::node::v1 {
        [] runtime_classes: RuntimeClass,
    }
}

group! {
    "`policy`." [] policy: Policy,
    [] v1: V1 = api::policy::v1 {
        [] pod_disruption_budgets: PodDisruptionBudget,
    }
}

group! {
    "`rbac.authorization.k8s.io`." [] rbac: Rbac,
    [] v1: V1 = api::rbac::v1 {
        [] cluster_roles: ClusterRole,
        [] cluster_role_bindings: ClusterRoleBinding,
        [] roles: Role,
        [] role_bindings: RoleBinding,
    }
}

group! {
    "`resource.k8s.io`." [] resource: Resource,
    [k8s_if_ge_1_34] v1: V1 = api::resource::v1 {
        [] device_classes: DeviceClass,
        [k8s_if_ge_1_37] device_taint_rules: DeviceTaintRule,
        [] resource_claims: ResourceClaim,
        [] resource_claim_templates: ResourceClaimTemplate,
        [] resource_slices: ResourceSlice,
    }
    [] v1alpha3: V1alpha3 = api::resource::v1alpha3 {
        [k8s_if_le_1_33] device_classes: DeviceClass,
        [] device_taint_rules: DeviceTaintRule,
        [k8s_if_le_1_33] resource_claims: ResourceClaim,
        [k8s_if_le_1_33] resource_claim_templates: ResourceClaimTemplate,
        [k8s_if_ge_1_36] resource_pool_status_requests: ResourcePoolStatusRequest,
        [k8s_if_le_1_33] resource_slices: ResourceSlice,
    }
    [] v1beta1: V1beta1 = api::resource::v1beta1 {
        [] device_classes: DeviceClass,
        [] resource_claims: ResourceClaim,
        [] resource_claim_templates: ResourceClaimTemplate,
        [] resource_slices: ResourceSlice,
    }
    [] v1beta2: V1beta2 = api::resource::v1beta2 {
        [] device_classes: DeviceClass,
        [k8s_if_ge_1_36] device_taint_rules: DeviceTaintRule,
        [] resource_claims: ResourceClaim,
        [] resource_claim_templates: ResourceClaimTemplate,
        [] resource_slices: ResourceSlice,
    }
}

group! {
    "`scheduling.k8s.io`." [] scheduling: Scheduling,
    [] v1: V1 = api::scheduling::v1 {
        [] priority_classes: PriorityClass,
    }
    [k8s_if_1_35] v1alpha1: V1alpha1 = api::scheduling::v1alpha1 {
        [] workloads: Workload,
    }
    [k8s_if_1_36] v1alpha2: V1alpha2 = api::scheduling::v1alpha2 {
        [] pod_groups: PodGroup,
        [] workloads: Workload,
    }
    [k8s_if_ge_1_37] v1alpha3: V1alpha3 = api::scheduling::v1alpha3 {
        [] composite_pod_groups: CompositePodGroup,
        [] pod_groups: PodGroup,
        [] workloads: Workload,
    }
    [k8s_if_ge_1_37] v1beta1: V1beta1 = api::scheduling::v1beta1 {
        [] pod_groups: PodGroup,
        [] workloads: Workload,
    }
}

group! {
    "`storage.k8s.io`." [] storage: Storage,
    [] v1: V1 = api::storage::v1 {
        [] csi_drivers: CSIDriver,
        [] csi_nodes: CSINode,
        [] csi_storage_capacities: CSIStorageCapacity,
        [] storage_classes: StorageClass,
        [] volume_attachments: VolumeAttachment,
        [k8s_if_ge_1_34] volume_attributes_classes: VolumeAttributesClass,
    }
    [k8s_if_le_1_34] v1alpha1: V1alpha1 = api::storage::v1alpha1 {
        [] volume_attributes_classes: VolumeAttributesClass,
    }
    [k8s_if_le_1_36] v1beta1: V1beta1 = api::storage::v1beta1 {
        [] volume_attributes_classes: VolumeAttributesClass,
    }
}

group! {
    "`storagemigration.k8s.io`." [] storagemigration: Storagemigration,
    [k8s_if_ge_1_37] v1: V1 = api::storagemigration::v1 {
        [] storage_version_migrations: StorageVersionMigration,
    }
    [k8s_if_le_1_34] v1alpha1: V1alpha1 = api::storagemigration::v1alpha1 {
        [] storage_version_migrations: StorageVersionMigration,
    }
    [k8s_if_ge_1_35] v1beta1: V1beta1 = api::storagemigration::v1beta1 {
        [] storage_version_migrations: StorageVersionMigration,
    }
}

groups! {
    [] admissionregistration: admissionregistration::Admissionregistration,
    [] apiextensions: apiextensions::Apiextensions,
    [] apiregistration: apiregistration::Apiregistration,
    [] internal: apiserverinternal::Apiserverinternal,
    [] apps: apps::Apps,
    [] autoscaling: autoscaling::Autoscaling,
    [] batch: batch::Batch,
    [] certificates: certificates::Certificates,
    [] coordination: coordination::Coordination,
    [] core: core::Core,
    [] discovery: discovery::Discovery,
    [] events: events::Events,
    [] flowcontrol: flowcontrol::Flowcontrol,
    [k8s_if_ge_1_37] lifecycle: lifecycle::Lifecycle,
    [] networking: networking::Networking,
    [] node: node::Node,
    [] policy: policy::Policy,
    [] rbac: rbac::Rbac,
    [] resource: resource::Resource,
    [] scheduling: scheduling::Scheduling,
    [] storage: storage::Storage,
    [] storagemigration: storagemigration::Storagemigration,
}
