//! `apiextensions.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod custom_resource_definition;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as kinds;

version! {
    V1:
    CustomResourceDefinition,
}
