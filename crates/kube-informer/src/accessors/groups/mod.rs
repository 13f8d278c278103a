//! All groups of built-in kinds. Made by `cargo xtask accessors`: not to be edited.

pub mod admissionregistration;
pub mod apiextensions;
pub mod apiregistration;
pub mod apiserverinternal;
pub mod apps;
pub mod autoscaling;
pub mod batch;
pub mod certificates;
pub mod coordination;
pub mod core;
pub mod discovery;
pub mod events;
pub mod flowcontrol;
k8s_openapi::k8s_if_ge_1_37! { pub mod lifecycle; }
pub mod networking;
pub mod node;
pub mod policy;
pub mod rbac;
pub mod resource;
pub mod scheduling;
pub mod storage;
pub mod storagemigration;

groups! {
    admissionregistration: admissionregistration::Admissionregistration,
    apiextensions: apiextensions::Apiextensions,
    apiregistration: apiregistration::Apiregistration,
    internal: apiserverinternal::Apiserverinternal,
    apps: apps::Apps,
    autoscaling: autoscaling::Autoscaling,
    batch: batch::Batch,
    certificates: certificates::Certificates,
    coordination: coordination::Coordination,
    core: core::Core,
    discovery: discovery::Discovery,
    events: events::Events,
    flowcontrol: flowcontrol::Flowcontrol,
    [k8s_if_ge_1_37] lifecycle: lifecycle::Lifecycle,
    networking: networking::Networking,
    node: node::Node,
    policy: policy::Policy,
    rbac: rbac::Rbac,
    resource: resource::Resource,
    scheduling: scheduling::Scheduling,
    storage: storage::Storage,
    storagemigration: storagemigration::Storagemigration,
}
