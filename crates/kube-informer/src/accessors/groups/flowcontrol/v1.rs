//! `flowcontrol.apiserver.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::flowcontrol::v1 as kinds;

version! {
    V1:
    flow_schemas: FlowSchema,
    priority_level_configurations: PriorityLevelConfiguration,
}
