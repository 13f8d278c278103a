//! `core/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::core::v1 as types;

use super::*;

places! {
    "core/v1"
    AWSElasticBlockStoreVolumeSource {
        1 volume_id, 2 fs_type, 3 partition, 4 read_only;
        empty 2;
        zero 3 4;
    }
    Affinity {
        1 node_affinity, 2 pod_affinity, 3 pod_anti_affinity;
    }
    AppArmorProfile {
        1 type_, 2 localhost_profile;
    }
    AttachedVolume {
        1 name, 2 device_path;
    }
    AzureDiskVolumeSource {
        1 disk_name, 2 disk_uri, 3 caching_mode, 4 fs_type, 5 read_only, 6 kind;
    }
    AzureFilePersistentVolumeSource {
        1 secret_name, 2 share_name, 3 read_only, 4 secret_namespace;
        zero 3;
    }
    AzureFileVolumeSource {
        1 secret_name, 2 share_name, 3 read_only;
        zero 3;
    }
    CSIPersistentVolumeSource {
        1 driver, 2 volume_handle, 3 read_only, 4 fs_type, 5 volume_attributes,
        6 controller_publish_secret_ref, 7 node_stage_secret_ref, 8 node_publish_secret_ref,
        9 controller_expand_secret_ref, 10 node_expand_secret_ref;
        empty 4;
        zero 3;
    }
    CSIVolumeSource {
        1 driver, 2 read_only, 3 fs_type, 4 volume_attributes, 5 node_publish_secret_ref;
    }
    Capabilities {
        1 add, 2 drop;
    }
    CephFSPersistentVolumeSource {
        1 monitors, 2 path, 3 user, 4 secret_file, 5 secret_ref, 6 read_only;
        empty 2 3 4;
        zero 6;
    }
    CephFSVolumeSource {
        1 monitors, 2 path, 3 user, 4 secret_file, 5 secret_ref, 6 read_only;
        empty 2 3 4;
        zero 6;
    }
    CinderPersistentVolumeSource {
        1 volume_id, 2 fs_type, 3 read_only, 4 secret_ref;
        empty 2;
        zero 3;
    }
    CinderVolumeSource {
        1 volume_id, 2 fs_type, 3 read_only, 4 secret_ref;
        empty 2;
        zero 3;
    }
    ClientIPConfig {
        1 timeout_seconds;
    }
    ClusterTrustBundleProjection {
        1 name, 2 signer_name, 3 label_selector, 4 path, 5 optional;
        [k8s_if_ge_1_37] 6 user;
    }
    ConfigMap {
        1 metadata, 2 data, 3 binary_data, 4 immutable;
    }
    ConfigMapEnvSource {
        2 optional, 1001 name;
        empty 1001;
    }
    ConfigMapKeySelector {
        2 key, 3 optional, 1001 name;
        empty 1001;
    }
    ConfigMapNodeConfigSource {
        1 namespace, 2 name, 3 uid, 4 resource_version, 5 kubelet_config_key;
        empty 3 4;
    }
    ConfigMapProjection {
        2 items, 4 optional, 1001 name;
        empty 1001;
    }
    ConfigMapVolumeSource {
        2 items, 3 default_mode, 4 optional, 1001 name;
        [k8s_if_ge_1_37] 5 default_user;
        empty 1001;
    }
    Container {
        1 name, 2 image, 3 command, 4 args, 5 working_dir, 6 ports, 7 env, 8 resources, 9 volume_mounts,
        10 liveness_probe, 11 readiness_probe, 12 lifecycle, 13 termination_message_path,
        14 image_pull_policy, 15 security_context, 16 stdin, 17 stdin_once, 18 tty, 19 env_from,
        20 termination_message_policy, 21 volume_devices, 22 startup_probe, 23 resize_policy,
        24 restart_policy;
        [k8s_if_ge_1_34] 25 restart_policy_rules;
        empty 2 5 13 14 20;
        zero 16 17 18;
    }
    [k8s_if_ge_1_34] ContainerExtendedResourceRequest {
        1 container_name, 2 resource_name, 3 request_name;
    }
    ContainerImage {
        1 names, 2 size_bytes;
        zero 2;
    }
    ContainerPort {
        1 name, 2 host_port, 3 container_port, 4 protocol, 5 host_ip;
        empty 1 4 5;
        zero 2;
    }
    ContainerResizePolicy {
        1 resource_name, 2 restart_policy;
    }
    [k8s_if_ge_1_34] ContainerRestartRule {
        1 action, 2 exit_codes;
        empty 1;
    }
    [k8s_if_ge_1_34] ContainerRestartRuleOnExitCodes {
        1 operator, 2 values;
        empty 1;
    }
    ContainerState {
        1 waiting, 2 running, 3 terminated;
    }
    ContainerStateRunning {
        1 started_at;
        empty 1;
    }
    ContainerStateTerminated {
        1 exit_code, 2 signal, 3 reason, 4 message, 5 started_at, 6 finished_at, 7 container_id;
        empty 3 4 5 6 7;
        zero 2;
    }
    ContainerStateWaiting {
        1 reason, 2 message;
        empty 1 2;
    }
    ContainerStatus {
        1 name, 2 state, 3 last_state, 4 ready, 5 restart_count, 6 image, 7 image_id, 8 container_id,
        9 started, 10 allocated_resources, 11 resources, 12 volume_mounts, 13 user,
        14 allocated_resources_status, 15 stop_signal;
        empty 8;
    }
    ContainerUser {
        1 linux;
    }
    DaemonEndpoint {
        1 port;
    }
    DownwardAPIProjection {
        1 items;
    }
    DownwardAPIVolumeFile {
        1 path, 2 field_ref, 3 resource_field_ref, 4 mode;
        [k8s_if_ge_1_37] 5 user;
    }
    DownwardAPIVolumeSource {
        1 items, 2 default_mode;
        [k8s_if_ge_1_37] 3 default_user;
    }
    EmptyDirVolumeSource {
        1 medium, 2 size_limit;
        [k8s_if_ge_1_37] 3 mode;
        empty 1;
    }
    EndpointAddress {
        1 ip, 2 target_ref, 3 hostname, 4 node_name;
        empty 3;
    }
    EndpointPort {
        1 name, 2 port, 3 protocol, 4 app_protocol;
        empty 1 3;
    }
    EndpointSubset {
        1 addresses, 2 not_ready_addresses, 3 ports;
    }
    Endpoints {
        1 metadata, 2 subsets;
    }
    EnvFromSource {
        1 prefix, 2 config_map_ref, 3 secret_ref;
        empty 1;
    }
    EnvVar {
        1 name, 2 value, 3 value_from;
        empty 2;
    }
    EnvVarSource {
        1 field_ref, 2 resource_field_ref, 3 config_map_key_ref, 4 secret_key_ref;
        [k8s_if_ge_1_34] 5 file_key_ref;
    }
    EphemeralContainer {
        2 target_container_name, 1001 name, 1002 image, 1003 command, 1004 args, 1005 working_dir, 1006 ports,
        1007 env, 1008 resources, 1009 volume_mounts, 1010 liveness_probe, 1011 readiness_probe,
        1012 lifecycle, 1013 termination_message_path, 1014 image_pull_policy, 1015 security_context,
        1016 stdin, 1017 stdin_once, 1018 tty, 1019 env_from, 1020 termination_message_policy,
        1021 volume_devices, 1022 startup_probe, 1023 resize_policy, 1024 restart_policy;
        [k8s_if_ge_1_34] 1025 restart_policy_rules;
        empty 2 1002 1005 1013 1014 1020;
        zero 1016 1017 1018;
    }
    EphemeralVolumeSource {
        1 volume_claim_template;
    }
    Event {
        1 metadata, 2 involved_object, 3 reason, 4 message, 5 source, 6 first_timestamp, 7 last_timestamp,
        8 count, 9 type_, 10 event_time, 11 series, 12 action, 13 related, 14 reporting_component,
        15 reporting_instance;
        empty 3 4 6 7 9 10 12;
        zero 8;
    }
    EventSeries {
        1 count, 2 last_observed_time;
        empty 2;
        zero 1;
    }
    EventSource {
        1 component, 2 host;
        empty 1 2;
    }
    [k8s_if_ge_1_37] EvictionResponder {
        1 name, 2 priority;
    }
    ExecAction {
        1 command;
    }
    FCVolumeSource {
        1 target_wwns, 2 lun, 3 fs_type, 4 read_only, 5 wwids;
        empty 3;
        zero 4;
    }
    [k8s_if_ge_1_34] FileKeySelector {
        1 volume_name, 2 path, 3 key, 4 optional;
    }
    FlexPersistentVolumeSource {
        1 driver, 2 fs_type, 3 secret_ref, 4 read_only, 5 options;
        empty 2;
        zero 4;
    }
    FlexVolumeSource {
        1 driver, 2 fs_type, 3 secret_ref, 4 read_only, 5 options;
        empty 2;
        zero 4;
    }
    FlockerVolumeSource {
        1 dataset_name, 2 dataset_uuid;
        empty 1 2;
    }
    GCEPersistentDiskVolumeSource {
        1 pd_name, 2 fs_type, 3 partition, 4 read_only;
        empty 2;
        zero 3 4;
    }
    GRPCAction {
        1 port, 2 service;
        [k8s_if_ge_1_37] 3 mode;
    }
    GitRepoVolumeSource {
        1 repository, 2 revision, 3 directory;
        empty 2 3;
    }
    GlusterfsPersistentVolumeSource {
        1 endpoints, 2 path, 3 read_only, 4 endpoints_namespace;
        zero 3;
    }
    GlusterfsVolumeSource {
        1 endpoints, 2 path, 3 read_only;
        zero 3;
    }
    HTTPGetAction {
        1 path, 2 port, 3 host, 4 scheme, 5 http_headers;
        [k8s_if_ge_1_37] 6 protocol;
        empty 1 3 4;
    }
    HTTPHeader {
        1 name, 2 value;
    }
    HostAlias {
        1 ip, 2 hostnames;
    }
    HostIP {
        1 ip;
    }
    HostPathVolumeSource {
        1 path, 2 type_;
    }
    ISCSIPersistentVolumeSource {
        1 target_portal, 2 iqn, 3 lun, 4 iscsi_interface, 5 fs_type, 6 read_only, 7 portals,
        8 chap_auth_discovery, 10 secret_ref, 11 chap_auth_session, 12 initiator_name;
        empty 4 5;
        zero 6 8 11;
    }
    ISCSIVolumeSource {
        1 target_portal, 2 iqn, 3 lun, 4 iscsi_interface, 5 fs_type, 6 read_only, 7 portals,
        8 chap_auth_discovery, 10 secret_ref, 11 chap_auth_session, 12 initiator_name;
        empty 4 5;
        zero 6 8 11;
    }
    ImageVolumeSource {
        1 reference, 2 pull_policy;
        empty 1 2;
    }
    [k8s_if_ge_1_36] ImageVolumeStatus {
        1 image_ref;
        empty 1;
    }
    KeyToPath {
        1 key, 2 path, 3 mode;
        [k8s_if_ge_1_37] 4 user;
    }
    Lifecycle {
        1 post_start, 2 pre_stop, 3 stop_signal;
    }
    LifecycleHandler {
        1 exec, 2 http_get, 3 tcp_socket, 4 sleep;
    }
    LimitRange {
        1 metadata, 2 spec;
    }
    LimitRangeItem {
        1 type_, 2 max, 3 min, 4 default, 5 default_request, 6 max_limit_request_ratio;
    }
    LimitRangeSpec {
        1 limits;
    }
    LinuxContainerUser {
        1 uid, 2 gid, 3 supplemental_groups;
    }
    LoadBalancerIngress {
        1 ip, 2 hostname, 3 ip_mode, 4 ports;
        empty 1 2;
    }
    LoadBalancerStatus {
        1 ingress;
    }
    LocalObjectReference {
        1 name;
        empty 1;
    }
    LocalVolumeSource {
        1 path, 2 fs_type;
    }
    ModifyVolumeStatus {
        1 target_volume_attributes_class_name, 2 status;
        empty 1;
    }
    NFSVolumeSource {
        1 server, 2 path, 3 read_only;
        zero 3;
    }
    Namespace {
        1 metadata, 2 spec, 3 status;
    }
    NamespaceCondition {
        1 type_, 2 status, 4 last_transition_time, 5 reason, 6 message;
        empty 4 5 6;
    }
    NamespaceSpec {
        1 finalizers;
    }
    NamespaceStatus {
        1 phase, 2 conditions;
        empty 1;
    }
    Node {
        1 metadata, 2 spec, 3 status;
    }
    NodeAddress {
        1 type_, 2 address;
    }
    NodeAffinity {
        1 required_during_scheduling_ignored_during_execution,
        2 preferred_during_scheduling_ignored_during_execution;
    }
    [k8s_if_ge_1_37] NodeAllocatableMappedResources {
        1 name, 2 quantity;
    }
    [k8s_if_ge_1_37] NodeAllocatableOverheadResources {
        1 name, 2 per_pod, 3 per_container;
    }
    [k8s_if_ge_1_36] NodeAllocatableResourceClaimStatus {
        1 resource_claim_name, 2 containers;
        [k8s_if_ge_1_37] 4 mapping, 5 overhead;
        [k8s_if_le_1_36] 3 resources;
    }
    NodeCondition {
        1 type_, 2 status, 3 last_heartbeat_time, 4 last_transition_time, 5 reason, 6 message;
        empty 3 4 5 6;
    }
    NodeConfigSource {
        2 config_map;
    }
    NodeConfigStatus {
        1 assigned, 2 active, 3 last_known_good, 4 error;
        empty 4;
    }
    NodeDaemonEndpoints {
        1 kubelet_endpoint;
    }
    NodeFeatures {
        1 supplemental_groups_policy;
    }
    [k8s_if_ge_1_37] NodePodPreemptionPolicy {
        1 disable_resize_preemption;
    }
    NodeRuntimeHandler {
        1 name, 2 features;
    }
    NodeRuntimeHandlerFeatures {
        1 recursive_read_only_mounts, 2 user_namespaces;
    }
    NodeSelector {
        1 node_selector_terms;
    }
    NodeSelectorRequirement {
        1 key, 2 operator, 3 values;
    }
    NodeSelectorTerm {
        1 match_expressions, 2 match_fields;
    }
    NodeSpec {
        1 pod_cidr, 2 external_id, 3 provider_id, 4 unschedulable, 5 taints, 6 config_source, 7 pod_cidrs;
        [k8s_if_ge_1_37] 8 pod_preemption_policy;
        empty 1 2 3;
        zero 4;
    }
    NodeStatus {
        1 capacity, 2 allocatable, 3 phase, 4 conditions, 5 addresses, 6 daemon_endpoints, 7 node_info,
        8 images, 9 volumes_in_use, 10 volumes_attached, 11 config, 12 runtime_handlers, 13 features;
        [k8s_if_ge_1_35] 14 declared_features;
        empty 3;
    }
    NodeSwapStatus {
        1 capacity;
    }
    NodeSystemInfo {
        1 machine_id, 2 system_uuid, 3 boot_id, 4 kernel_version, 5 os_image, 6 container_runtime_version,
        7 kubelet_version, 8 kube_proxy_version, 9 operating_system, 10 architecture, 11 swap;
        [k8s_if_ge_1_37] 12 running_in_user_namespace;
    }
    ObjectFieldSelector {
        1 api_version, 2 field_path;
        empty 1;
    }
    ObjectReference {
        1 kind, 2 namespace, 3 name, 4 uid, 5 api_version, 6 resource_version, 7 field_path;
        empty 1 2 3 4 5 6 7;
    }
    PersistentVolume {
        1 metadata, 2 spec, 3 status;
    }
    PersistentVolumeClaim {
        1 metadata, 2 spec, 3 status;
    }
    PersistentVolumeClaimCondition {
        1 type_, 2 status, 3 last_probe_time, 4 last_transition_time, 5 reason, 6 message;
        empty 3 4 5 6;
    }
    PersistentVolumeClaimSpec {
        1 access_modes, 2 resources, 3 volume_name, 4 selector, 5 storage_class_name, 6 volume_mode,
        7 data_source, 8 data_source_ref, 9 volume_attributes_class_name;
        empty 3;
    }
    PersistentVolumeClaimStatus {
        1 phase, 2 access_modes, 3 capacity, 4 conditions, 5 allocated_resources,
        7 allocated_resource_statuses, 8 current_volume_attributes_class_name, 9 modify_volume_status;
        [k8s_if_ge_1_37] 10 health_status;
        empty 1;
    }
    PersistentVolumeClaimTemplate {
        1 metadata, 2 spec;
    }
    PersistentVolumeClaimVolumeSource {
        1 claim_name, 2 read_only;
        zero 2;
    }
    PersistentVolumeSpec {
        1 capacity, 3 access_modes, 4 claim_ref, 5 persistent_volume_reclaim_policy, 6 storage_class_name,
        7 mount_options, 8 volume_mode, 9 node_affinity, 10 volume_attributes_class_name,
        2001 gce_persistent_disk, 2002 aws_elastic_block_store, 2003 host_path, 2004 glusterfs, 2005 nfs,
        2006 rbd, 2007 iscsi, 2008 cinder, 2009 cephfs, 2010 fc, 2011 flocker, 2012 flex_volume,
        2013 azure_file, 2014 vsphere_volume, 2015 quobyte, 2016 azure_disk, 2017 photon_persistent_disk,
        2018 portworx_volume, 2019 scale_io, 2020 local, 2021 storageos, 2022 csi;
        empty 5 6;
    }
    PersistentVolumeStatus {
        1 phase, 2 message, 3 reason, 4 last_phase_transition_time;
        empty 1 2 3 4;
    }
    PhotonPersistentDiskVolumeSource {
        1 pd_id, 2 fs_type;
        empty 2;
    }
    Pod {
        1 metadata, 2 spec, 3 status;
    }
    PodAffinity {
        1 required_during_scheduling_ignored_during_execution,
        2 preferred_during_scheduling_ignored_during_execution;
    }
    PodAffinityTerm {
        1 label_selector, 2 namespaces, 3 topology_key, 4 namespace_selector, 5 match_label_keys,
        6 mismatch_label_keys;
    }
    PodAntiAffinity {
        1 required_during_scheduling_ignored_during_execution,
        2 preferred_during_scheduling_ignored_during_execution;
    }
    [k8s_if_ge_1_34] PodCertificateProjection {
        1 signer_name, 2 key_type, 3 max_expiration_seconds, 4 credential_bundle_path, 5 key_path,
        6 certificate_chain_path;
        [k8s_if_ge_1_35] 7 user_annotations;
        [k8s_if_ge_1_37] 8 user;
        empty 1 2 4 5 6;
    }
    PodCondition {
        1 type_, 2 status, 3 last_probe_time, 4 last_transition_time, 5 reason, 6 message,
        7 observed_generation;
        empty 3 4 5 6;
        zero 7;
    }
    PodDNSConfig {
        1 nameservers, 2 searches, 3 options;
    }
    PodDNSConfigOption {
        1 name, 2 value;
        empty 1;
    }
    [k8s_if_ge_1_34] PodExtendedResourceClaimStatus {
        1 request_mappings, 2 resource_claim_name;
    }
    PodIP {
        1 ip;
    }
    PodOS {
        1 name;
    }
    PodReadinessGate {
        1 condition_type;
    }
    PodResourceClaim {
        1 name, 3 resource_claim_name, 4 resource_claim_template_name;
    }
    PodResourceClaimStatus {
        1 name, 2 resource_claim_name;
    }
    PodSchedulingGate {
        1 name;
    }
    [k8s_if_ge_1_36] PodSchedulingGroup {
        1 pod_group_name;
    }
    PodSecurityContext {
        1 se_linux_options, 2 run_as_user, 3 run_as_non_root, 4 supplemental_groups, 5 fs_group,
        6 run_as_group, 7 sysctls, 8 windows_options, 9 fs_group_change_policy, 10 seccomp_profile,
        11 app_armor_profile, 12 supplemental_groups_policy, 13 se_linux_change_policy;
    }
    PodSpec {
        1 volumes, 2 containers, 3 restart_policy, 4 termination_grace_period_seconds,
        5 active_deadline_seconds, 6 dns_policy, 7 node_selector, 8 service_account_name, 9 service_account,
        10 node_name, 11 host_network, 12 host_pid, 13 host_ipc, 14 security_context, 15 image_pull_secrets,
        16 hostname, 17 subdomain, 18 affinity, 19 scheduler_name, 20 init_containers,
        21 automount_service_account_token, 22 tolerations, 23 host_aliases, 24 priority_class_name,
        25 priority, 26 dns_config, 27 share_process_namespace, 28 readiness_gates, 29 runtime_class_name,
        30 enable_service_links, 31 preemption_policy, 32 overhead, 33 topology_spread_constraints,
        34 ephemeral_containers, 35 set_hostname_as_fqdn, 36 os, 37 host_users, 38 scheduling_gates,
        39 resource_claims, 40 resources;
        [k8s_if_1_35] 42 workload_ref;
        [k8s_if_ge_1_34] 41 hostname_override;
        [k8s_if_ge_1_36] 43 scheduling_group;
        [k8s_if_ge_1_37] 44 eviction_responders;
        empty 3 6 8 9 10 16 17 19 24;
        zero 11 12 13;
    }
    PodStatus {
        1 phase, 2 conditions, 3 message, 4 reason, 5 host_ip, 6 pod_ip, 7 start_time, 8 container_statuses,
        9 qos_class, 10 init_container_statuses, 11 nominated_node_name, 12 pod_ips,
        13 ephemeral_container_statuses, 14 resize, 15 resource_claim_statuses, 16 host_ips,
        17 observed_generation;
        [k8s_if_ge_1_34] 18 extended_resource_claim_status;
        [k8s_if_ge_1_35] 19 allocated_resources, 20 resources;
        [k8s_if_ge_1_36] 21 node_allocatable_resource_claim_statuses;
        [k8s_if_ge_1_37] 22 volume_health;
        empty 1 3 4 5 6 7 9 11 14;
        zero 17;
    }
    PodTemplateSpec {
        1 metadata, 2 spec;
    }
    [k8s_if_ge_1_37] PodVolumeHealth {
        1 name, 2 health_conditions, 3 last_transition_time;
        empty 3;
    }
    PortStatus {
        1 port, 2 protocol, 3 error;
    }
    PortworxVolumeSource {
        1 volume_id, 2 fs_type, 3 read_only;
        empty 2;
        zero 3;
    }
    PreferredSchedulingTerm {
        1 weight, 2 preference;
    }
    Probe {
        2 initial_delay_seconds, 3 timeout_seconds, 4 period_seconds, 5 success_threshold,
        6 failure_threshold, 7 termination_grace_period_seconds, 1001 exec, 1002 http_get, 1003 tcp_socket,
        1004 grpc;
        zero 2 3 4 5 6;
    }
    ProjectedVolumeSource {
        1 sources, 2 default_mode;
        [k8s_if_ge_1_37] 3 default_user;
    }
    QuobyteVolumeSource {
        1 registry, 2 volume, 3 read_only, 4 user, 5 group, 6 tenant;
        empty 4 5 6;
        zero 3;
    }
    RBDPersistentVolumeSource {
        1 monitors, 2 image, 3 fs_type, 4 pool, 5 user, 6 keyring, 7 secret_ref, 8 read_only;
        empty 3 4 5 6;
        zero 8;
    }
    RBDVolumeSource {
        1 monitors, 2 image, 3 fs_type, 4 pool, 5 user, 6 keyring, 7 secret_ref, 8 read_only;
        empty 3 4 5 6;
        zero 8;
    }
    ReplicationController {
        1 metadata, 2 spec, 3 status;
    }
    ReplicationControllerCondition {
        1 type_, 2 status, 3 last_transition_time, 4 reason, 5 message;
        empty 3 4 5;
    }
    ReplicationControllerSpec {
        1 replicas, 2 selector, 3 template, 4 min_ready_seconds;
        zero 4;
    }
    ReplicationControllerStatus {
        1 replicas, 2 fully_labeled_replicas, 3 observed_generation, 4 ready_replicas, 5 available_replicas,
        6 conditions;
        zero 2 3 4 5;
    }
    ResourceClaim {
        1 name, 2 request;
        empty 2;
    }
    ResourceFieldSelector {
        1 container_name, 2 resource, 3 divisor;
        empty 1;
    }
    ResourceHealth {
        1 resource_id, 2 health;
        [k8s_if_ge_1_36] 6 message;
        empty 2;
    }
    ResourceQuota {
        1 metadata, 2 spec, 3 status;
    }
    ResourceQuotaSpec {
        1 hard, 2 scopes, 3 scope_selector;
    }
    ResourceQuotaStatus {
        1 hard, 2 used;
    }
    ResourceRequirements {
        1 limits, 2 requests, 3 claims;
    }
    ResourceStatus {
        1 name, 2 resources;
    }
    SELinuxOptions {
        1 user, 2 role, 3 type_, 4 level;
        empty 1 2 3 4;
    }
    ScaleIOPersistentVolumeSource {
        1 gateway, 2 system, 3 secret_ref, 4 ssl_enabled, 5 protection_domain, 6 storage_pool, 7 storage_mode,
        8 volume_name, 9 fs_type, 10 read_only;
        empty 5 6 7 8 9;
        zero 4 10;
    }
    ScaleIOVolumeSource {
        1 gateway, 2 system, 3 secret_ref, 4 ssl_enabled, 5 protection_domain, 6 storage_pool, 7 storage_mode,
        8 volume_name, 9 fs_type, 10 read_only;
        empty 5 6 7 8 9;
        zero 4 10;
    }
    ScopeSelector {
        1 match_expressions;
    }
    ScopedResourceSelectorRequirement {
        1 scope_name, 2 operator, 3 values;
    }
    SeccompProfile {
        1 type_, 2 localhost_profile;
    }
    Secret {
        1 metadata, 2 data, 3 type_, 4 string_data, 5 immutable;
        empty 3;
    }
    SecretEnvSource {
        2 optional, 1001 name;
        empty 1001;
    }
    SecretKeySelector {
        2 key, 3 optional, 1001 name;
        empty 1001;
    }
    SecretProjection {
        2 items, 4 optional, 1001 name;
        empty 1001;
    }
    SecretReference {
        1 name, 2 namespace;
        empty 1 2;
    }
    SecretVolumeSource {
        1 secret_name, 2 items, 3 default_mode, 4 optional;
        [k8s_if_ge_1_37] 5 default_user;
        empty 1;
    }
    SecurityContext {
        1 capabilities, 2 privileged, 3 se_linux_options, 4 run_as_user, 5 run_as_non_root,
        6 read_only_root_filesystem, 7 allow_privilege_escalation, 8 run_as_group, 9 proc_mount,
        10 windows_options, 11 seccomp_profile, 12 app_armor_profile;
    }
    Service {
        1 metadata, 2 spec, 3 status;
    }
    ServiceAccount {
        1 metadata, 2 secrets, 3 image_pull_secrets, 4 automount_service_account_token;
    }
    ServiceAccountTokenProjection {
        1 audience, 2 expiration_seconds, 3 path;
        [k8s_if_ge_1_37] 4 user;
        empty 1;
    }
    ServicePort {
        1 name, 2 protocol, 3 port, 4 target_port, 5 node_port, 6 app_protocol;
        empty 1 2;
        zero 5;
    }
    ServiceSpec {
        1 ports, 2 selector, 3 cluster_ip, 4 type_, 5 external_ips, 7 session_affinity, 8 load_balancer_ip,
        9 load_balancer_source_ranges, 10 external_name, 11 external_traffic_policy,
        12 health_check_node_port, 13 publish_not_ready_addresses, 14 session_affinity_config,
        17 ip_family_policy, 18 cluster_ips, 19 ip_families, 20 allocate_load_balancer_node_ports,
        21 load_balancer_class, 22 internal_traffic_policy, 23 traffic_distribution;
        empty 3 4 7 8 10 11;
        zero 12 13;
    }
    ServiceStatus {
        1 load_balancer;
        ~ 2 conditions;
    }
    SessionAffinityConfig {
        1 client_ip;
    }
    SleepAction {
        1 seconds;
    }
    StorageOSPersistentVolumeSource {
        1 volume_name, 2 volume_namespace, 3 fs_type, 4 read_only, 5 secret_ref;
        empty 1 2 3;
        zero 4;
    }
    StorageOSVolumeSource {
        1 volume_name, 2 volume_namespace, 3 fs_type, 4 read_only, 5 secret_ref;
        empty 1 2 3;
        zero 4;
    }
    Sysctl {
        1 name, 2 value;
    }
    TCPSocketAction {
        1 port, 2 host;
        empty 2;
    }
    Taint {
        1 key, 2 value, 3 effect, 4 time_added;
        empty 2 4;
    }
    Toleration {
        1 key, 2 operator, 3 value, 4 effect, 5 toleration_seconds;
        empty 1 2 3 4;
    }
    TopologySelectorLabelRequirement {
        1 key, 2 values;
    }
    TopologySelectorTerm {
        1 match_label_expressions;
    }
    TopologySpreadConstraint {
        1 max_skew, 2 topology_key, 3 when_unsatisfiable, 4 label_selector, 5 min_domains,
        6 node_affinity_policy, 7 node_taints_policy, 8 match_label_keys;
    }
    TypedLocalObjectReference {
        1 api_group, 2 kind, 3 name;
    }
    TypedObjectReference {
        1 api_group, 2 kind, 3 name, 4 namespace;
    }
    Volume {
        1 name, 2001 host_path, 2002 empty_dir, 2003 gce_persistent_disk, 2004 aws_elastic_block_store,
        2005 git_repo, 2006 secret, 2007 nfs, 2008 iscsi, 2009 glusterfs, 2010 persistent_volume_claim,
        2011 rbd, 2012 flex_volume, 2013 cinder, 2014 cephfs, 2015 flocker, 2016 downward_api, 2017 fc,
        2018 azure_file, 2019 config_map, 2020 vsphere_volume, 2021 quobyte, 2022 azure_disk,
        2023 photon_persistent_disk, 2024 portworx_volume, 2025 scale_io, 2026 projected, 2027 storageos,
        2028 csi, 2029 ephemeral, 2030 image;
    }
    VolumeDevice {
        1 name, 2 device_path;
    }
    [k8s_if_ge_1_37] VolumeHealthCondition {
        1 status, 2 reason, 3 message;
        empty 3;
    }
    [k8s_if_ge_1_37] VolumeHealthStatus {
        1 health_conditions, 2 last_transition_time;
        empty 2;
    }
    VolumeMount {
        1 name, 2 read_only, 3 mount_path, 4 sub_path, 5 mount_propagation, 6 sub_path_expr,
        7 recursive_read_only;
        [k8s_if_ge_1_37] 8 bind_mount_options;
        empty 4 6;
        zero 2;
    }
    VolumeMountStatus {
        1 name, 2 mount_path, 3 read_only, 4 recursive_read_only;
        [k8s_if_ge_1_36] 5 volume_status;
        zero 3;
    }
    VolumeNodeAffinity {
        1 required;
    }
    VolumeProjection {
        1 secret, 2 downward_api, 3 config_map, 4 service_account_token, 5 cluster_trust_bundle;
        [k8s_if_ge_1_34] 6 pod_certificate;
    }
    VolumeResourceRequirements {
        1 limits, 2 requests;
    }
    [k8s_if_ge_1_36] VolumeStatus {
        1 image;
    }
    VsphereVirtualDiskVolumeSource {
        1 volume_path, 2 fs_type, 3 storage_policy_name, 4 storage_policy_id;
        empty 2 3 4;
    }
    WeightedPodAffinityTerm {
        1 weight, 2 pod_affinity_term;
    }
    WindowsSecurityContextOptions {
        1 gmsa_credential_spec_name, 2 gmsa_credential_spec, 3 run_as_user_name, 4 host_process;
    }
    [k8s_if_1_35] WorkloadReference {
        1 name, 2 pod_group, 3 pod_group_replica_key;
        empty 3;
    }
}
