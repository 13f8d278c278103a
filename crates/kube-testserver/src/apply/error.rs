//! Why a configuration was not applied.

use super::Operation;
use super::fieldset::FieldSet;
use super::managers::{Entry, Managers};
use crate::status::Cause;

/// Why a configuration was not applied. `Display` is the message that Kubernetes sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApplyError {
    /// The configuration would change fields that others own.
    #[error("{}", conflict_message(.0))]
    Conflict(Vec<Conflict>),
    /// The request makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration or the live object does not fit the schema, for which Kubernetes answers with an
    /// internal error.
    #[error("{0}")]
    Internal(String),
}

/// A field that the configuration would change, and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The owner as messages call it, for example `"kubelet" using v1`.
    pub(crate) manager: String,
    /// For example `.spec.replicas`.
    pub(crate) field: String,
    /// For example `conflict with "kubelet" using v1`.
    pub(crate) message: String,
}

impl ApplyError {
    /// The HTTP status of the answer.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Conflict(_) => 409,
            Self::Internal(_) => 500,
        }
    }

    /// The `reason` of the answer's `Status`; internal errors have none.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::Conflict(_) => "Conflict",
            Self::Internal(_) => "",
        }
    }

    /// The `causes` of the answer's `Status`.
    pub(crate) fn causes(&self) -> Vec<Cause> {
        let Self::Conflict(conflicts) = self else { return Vec::new() };
        let cause = |conflict: &Conflict| Cause {
            reason: "FieldManagerConflict",
            message: conflict.message.clone(),
            field: conflict.field.clone(),
        };
        conflicts.iter().map(cause).collect()
    }
}

/// The fields of the managers that are among those changed, by manager.
pub(super) fn conflicts(managers: &Managers, changed: &FieldSet) -> Vec<Conflict> {
    let mut owners: Vec<&Entry> =
        managers.0.iter().filter(|entry| entry.fields.intersects(changed)).collect();
    owners.sort_by_key(|entry| identifier(entry));
    let mut conflicts = Vec::new();
    for owner in owners {
        let manager = owner.describe();
        for field in owner.fields.intersection(changed).paths() {
            let message = format!("conflict with {manager}");
            conflicts.push(Conflict { manager: manager.clone(), field, message });
        }
    }
    conflicts
}

/// The text by which Kubernetes sorts owners.
fn identifier(entry: &Entry) -> String {
    let version = match entry.id.operation {
        Operation::Apply => String::new(),
        Operation::Update => format!(",\"apiVersion\":{:?}", entry.api_version),
    };
    format!("{:?},{}{version},{:?}", entry.id.manager, entry.id.operation.as_str(), entry.id.subresource)
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!("Apply failed with 1 conflict: {}: {}", only.message, only.field);
    }
    let mut lines = Vec::new();
    let mut manager = "";
    for conflict in conflicts {
        if conflict.manager != manager {
            manager = &conflict.manager;
            lines.push(format!("conflicts with {manager}:"));
        }
        lines.push(format!("- {}", conflict.field));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}
