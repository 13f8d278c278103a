//! `lifecycle.k8s.io/v1alpha1`. Made by `cargo xtask accessors`: not to be edited.

mod eviction;
mod eviction_request;

use k8s_openapi::api::lifecycle::v1alpha1 as kinds;

version! {
    V1alpha1:
    Eviction,
    EvictionRequest,
}
