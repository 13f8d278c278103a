//! `networking.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::networking::v1 as kinds;

version! {
    V1:
    ip_addresses: IPAddress,
    ingresses: Ingress,
    ingress_classes: IngressClass,
    network_policies: NetworkPolicy,
    service_cidrs: ServiceCIDR,
}
