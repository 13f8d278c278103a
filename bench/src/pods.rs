//! Pods to load a server with: one realistic pod, many names.

use serde_json::{Value, json};

use crate::Error;

const POD: &str = include_str!("../../crates/kube-testserver/data/pod.json");

/// In how many namespaces the pods are.
pub(crate) const NAMESPACES: usize = 100;

/// On how many nodes they run.
const NODES: usize = 500;

/// Makes pods from the realistic one.
#[derive(Clone, Debug)]
pub(crate) struct Pods(Value);

impl Pods {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut pod: Value = serde_json::from_str(POD)?;
        if let Some(metadata) = pod["metadata"].as_object_mut() {
            // The server sets these.
            for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
                metadata.remove(field);
            }
        }
        Ok(Self(pod))
    }

    /// The pod with a number, as JSON, and its namespace.
    pub(crate) fn make(&self, number: usize) -> (String, String) {
        let mut pod = self.0.clone();
        let namespace = namespace(number);
        pod["metadata"]["name"] = json!(name(number));
        pod["metadata"]["namespace"] = json!(namespace);
        pod["metadata"]["labels"]["shard"] = json!(format!("s{}", number % 16));
        pod["spec"]["nodeName"] = json!(format!("node-{:04}", number % NODES));
        (namespace, pod.to_string())
    }
}

pub(crate) fn name(number: usize) -> String {
    format!("web-7d4b9c6f5d-{number:06}")
}

pub(crate) fn namespace(number: usize) -> String {
    format!("team-{:03}", number % NAMESPACES)
}
