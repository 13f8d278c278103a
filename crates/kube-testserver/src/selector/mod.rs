//! Label and field selectors: parsed once per request, matched against what is kept beside each object.

mod fields;
mod labels;

pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;

use crate::storage::Stored;

/// Both selectors of a list, watch or deletecollection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selector {
    /// Selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches(object.labels()) && self.fields.matches(object)
    }
}
