//! `flowcontrol.apiserver.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod flow_schema;
mod priority_level_configuration;

use k8s_openapi::api::flowcontrol::v1 as kinds;

version! {
    V1:
    FlowSchema,
    PriorityLevelConfiguration,
}
