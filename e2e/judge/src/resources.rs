//! The resources that scenarios are about.

use kube_core::{ApiResource, GroupVersionResource};
use serde_json::{Value, json};

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// Its plural name.
    pub plural: &'static str,
    /// Its API group; empty for the core group.
    pub group: &'static str,
    /// Its API version.
    pub version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// Whether it is in namespaces.
    pub namespaced: bool,
}

const ALL: [Known; 4] = [
    Known { plural: "configmaps", group: "", version: "v1", kind: "ConfigMap", namespaced: true },
    Known { plural: "secrets", group: "", version: "v1", kind: "Secret", namespaced: true },
    Known {
        plural: "clusterroles",
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind: "ClusterRole",
        namespaced: false,
    },
    Known { plural: "widgets", group: "judge.example.com", version: "v1", kind: "Widget", namespaced: true },
];

impl Known {
    /// The resource of this name.
    pub fn find(plural: &str) -> Result<Self, String> {
        ALL.into_iter()
            .find(|known| known.plural == plural)
            .ok_or_else(|| format!("scenarios do not know the resource {plural:?}"))
    }

    /// What factories know it by.
    pub fn resource(&self) -> GroupVersionResource {
        GroupVersionResource::gvr(self.group, self.version, self.plural)
    }

    /// What requests for it need.
    pub fn api_resource(&self) -> ApiResource {
        let api_version = if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        };
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version,
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }
}

/// The definition of the custom resource.
pub fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.judge.example.com"},
        "spec": {
            "group": "judge.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    })
}
