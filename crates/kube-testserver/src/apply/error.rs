//! Why a configuration was not applied.

use std::fmt;

use super::Operation;
use super::fieldset::FieldSet;
use super::managers::{Entry, Managers};
use crate::paths::{MAX_PATHS, shortened};
use crate::status::Cause;

/// Why a configuration was not applied. `Display` is the message that Kubernetes sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApplyError {
    /// The configuration would change fields that others own.
    #[error("{0}")]
    Conflict(Conflicts),
    /// The request makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration or the live object does not fit the schema, for which Kubernetes answers with an
    /// internal error.
    #[error("{0}")]
    Internal(String),
}

/// The fields that the configuration would change, by owner. `Display` is the message that Kubernetes sends, with the first
/// fields only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflicts(Vec<OwnedFields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnedFields {
    /// The owner as messages call it, for example `"kubelet" using v1`.
    manager: String,
    /// Never empty.
    fields: FieldSet,
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

    /// The `causes` of the answer's `Status`: the first fields.
    pub(crate) fn causes(&self) -> Vec<Cause> {
        let Self::Conflict(conflicts) = self else { return Vec::new() };
        let cause = |(manager, field)| Cause {
            reason: "FieldManagerConflict",
            message: format!("conflict with {manager}"),
            field,
        };
        conflicts.listed().into_iter().map(cause).collect()
    }
}

impl Conflicts {
    /// The fields of the managers that are among those changed; none if there are no such fields.
    pub(super) fn between(managers: &Managers, changed: &FieldSet) -> Option<Self> {
        let mut owners: Vec<&Entry> =
            managers.0.iter().filter(|entry| entry.fields.intersects(changed)).collect();
        owners.sort_by_key(|entry| identifier(entry));
        let owned = |owner: &Entry| OwnedFields {
            manager: shortened(&owner.describe()),
            fields: owner.fields.intersection(changed),
        };
        Self::of(owners.into_iter().map(owned).collect())
    }

    /// The conflicts about other fields than these; none if all are about them.
    pub(super) fn without(mut self, fields: &FieldSet) -> Option<Self> {
        self.0.iter_mut().for_each(|owner| owner.fields.subtract(fields));
        Self::of(self.0)
    }

    fn of(mut owners: Vec<OwnedFields>) -> Option<Self> {
        owners.retain(|owner| !owner.fields.is_empty());
        (!owners.is_empty()).then_some(Self(owners))
    }

    /// The first fields with their owners.
    fn listed(&self) -> Vec<(&str, String)> {
        let mut listed = Vec::new();
        for owner in &self.0 {
            let paths = owner.fields.paths(MAX_PATHS - listed.len());
            listed.extend(paths.into_iter().map(|path| (owner.manager.as_str(), path)));
        }
        listed
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = self.listed();
        let count: usize = self.0.iter().map(|owner| owner.fields.len()).sum();
        if let (1, [(manager, field)]) = (count, &listed[..]) {
            return write!(f, "Apply failed with 1 conflict: conflict with {manager}: {field}");
        }
        write!(f, "Apply failed with {count} conflicts: ")?;
        let mut last = "";
        for (at, (manager, field)) in listed.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            if *manager != last {
                last = manager;
                write!(f, "{line}conflicts with {manager}:\n- {field}")?;
            } else {
                write!(f, "{line}- {field}")?;
            }
        }
        Ok(())
    }
}

/// The text by which Kubernetes sorts owners.
fn identifier(entry: &Entry) -> String {
    let version = match entry.id.operation {
        Operation::Apply => String::new(),
        Operation::Update => format!(",\"apiVersion\":{:?}", entry.api_version),
    };
    format!("{:?},{}{version},{:?}", entry.id.manager, entry.id.operation.as_str(), entry.id.subresource)
}
