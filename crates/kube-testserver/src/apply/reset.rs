//! Which fields an endpoint does not take from clients.

use super::FieldSet;

/// Fields that an endpoint puts back to what they were, whatever the client sends. Nobody comes to own them
/// there.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResetFields(pub(super) FieldSet);

impl ResetFields {
    /// An endpoint that takes every field.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// An endpoint that resets the fields at these paths and everything below them.
    pub(crate) fn new(paths: &[&[&str]]) -> Self {
        Self(FieldSet::of_fields(paths))
    }

    /// The endpoint of a built-in kind, or of a custom one with a `status` subresource.
    pub(crate) fn of_object() -> Self {
        Self::new(&[&["status"]])
    }

    /// The `status` endpoint of a custom kind, which takes nothing but the status.
    pub(crate) fn of_custom_status() -> Self {
        Self::new(&[&["metadata"], &["spec"]])
    }

    /// The `status` endpoint of a built-in kind. Most of them take metadata as well; the exceptions are those
    /// of Kubernetes.
    pub(crate) fn of_status(kind: &str) -> Self {
        match kind {
            "Deployment" => Self::new(&[&["spec"], &["metadata", "labels"]]),
            "Pod" => {
                Self::new(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]])
            }
            "CertificateSigningRequest" => Self::new(&[&["spec"], &["status", "conditions"]]),
            "CSINode"
            | "CompositePodGroup"
            | "DeviceTaintRule"
            | "Eviction"
            | "EvictionRequest"
            | "FlowSchema"
            | "PodCertificateRequest"
            | "PodGroup"
            | "PriorityLevelConfiguration"
            | "ResourceClaim"
            | "ResourcePoolStatusRequest"
            | "ServiceCIDR"
            | "StorageVersion"
            | "StorageVersionMigration"
            | "ValidatingAdmissionPolicy"
            | "VolumeAttachment" => Self::of_custom_status(),
            _ => Self::new(&[&["spec"]]),
        }
    }
}
