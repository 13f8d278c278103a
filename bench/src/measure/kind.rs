//! What is measured of: pods as a type, custom objects without one.

use k8s_openapi::api::core::v1::Pod;
use kube_core::{ApiResource, DynamicObject, Resource};
use serde::de::DeserializeOwned;

pub(super) trait Measured:
    Resource + DeserializeOwned + Clone + std::fmt::Debug + Send + Sync + 'static
{
    /// What the names of these objects begin with.
    const PREFIX: &str;

    fn dynamic_type() -> Self::DynamicType;

    /// Looks into an object.
    fn node(&self) -> Option<&str>;
}

impl Measured for Pod {
    const PREFIX: &str = "web-7d4b9c6f5d-";

    fn dynamic_type() {}

    fn node(&self) -> Option<&str> {
        self.spec.as_ref()?.node_name.as_deref()
    }
}

impl Measured for DynamicObject {
    const PREFIX: &str = "widget-";

    fn dynamic_type() -> ApiResource {
        ApiResource {
            group: "bench.example.com".to_owned(),
            version: "v1".to_owned(),
            api_version: "bench.example.com/v1".to_owned(),
            kind: "Widget".to_owned(),
            plural: "widgets".to_owned(),
        }
    }

    fn node(&self) -> Option<&str> {
        self.data["spec"]["nodeName"].as_str()
    }
}
