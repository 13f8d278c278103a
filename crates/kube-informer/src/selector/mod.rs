//! Selectors as people write them: `app in (web, db), !canary`, `spec.nodeName=node-1`.
//!
//! What a server would refuse is refused here, before it is asked, with the place where it stops to make sense.

mod fields;
mod labels;

pub(crate) use fields::{check as check_fields, may_match as may_match_fields};
pub(crate) use labels::check as check_labels;
pub use labels::parse as parse_labels;

/// A selector that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {kind} selector {selector:?} makes no sense: {why}")]
#[non_exhaustive]
pub struct SelectorError {
    /// `label` or `field`.
    pub kind: &'static str,
    /// The whole selector.
    pub selector: String,
    /// What is wrong, and where.
    pub why: String,
}

impl SelectorError {
    fn labels(selector: &str, why: String) -> Self {
        Self { kind: "label", selector: selector.to_owned(), why }
    }

    fn fields(selector: &str, why: String) -> Self {
        Self { kind: "field", selector: selector.to_owned(), why }
    }
}
