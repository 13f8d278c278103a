//! `apiregistration.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod api_service;

use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1 as kinds;

version! {
    V1:
    APIService,
}
