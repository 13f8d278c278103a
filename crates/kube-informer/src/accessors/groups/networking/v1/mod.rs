//! `networking.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod ingress;
mod ingress_class;
mod ip_address;
mod network_policy;
mod service_cidr;

use k8s_openapi::api::networking::v1 as kinds;

version! {
    V1:
    Ingress,
    IngressClass,
    IPAddress,
    NetworkPolicy,
    ServiceCIDR,
}
