//! `networking.k8s.io/v1beta1`. Made by `cargo xtask accessors`: not to be edited.

mod ip_address;
mod service_cidr;

use k8s_openapi::api::networking::v1beta1 as kinds;

version! {
    V1beta1:
    IPAddress,
    ServiceCIDR,
}
