//! `discovery.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod endpoint_slice;

use k8s_openapi::api::discovery::v1 as kinds;

version! {
    V1:
    EndpointSlice,
}
