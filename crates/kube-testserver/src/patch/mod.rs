//! The three ways to patch an object that are not server-side apply.
//!
//! Each is a function from a document and a patch to a new document. None of them knows about storage,
//! defaults or ownership: the server reads the patched object as if the client had sent it whole.

mod json;
mod merge;
mod strategic;

use serde_json::Value;

pub(crate) use json::json_patch;
pub(crate) use merge::{decode_merge_patch, merge_patch};
pub(crate) use strategic::{decode_strategic_merge_patch, strategic_merge_patch};

/// Why a patch was not applied. `Display` is the message that Kubernetes sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// The patch is malformed.
    #[error("{0}")]
    BadRequest(String),
    /// The patch is well-formed but does not fit the document. Kubernetes keeps the reason to itself; it is
    /// here for logs and tests.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable(String),
    /// A JSON patch with more operations than the server is willing to run.
    #[error(
        "Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {count}"
    )]
    TooManyOperations {
        /// What is allowed.
        limit: usize,
        /// What the patch has.
        count: usize,
    },
    /// The schema and the patch disagree in a way for which Kubernetes has no proper answer.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The HTTP status of the answer.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::TooManyOperations { .. } => 413,
            Self::Unprocessable(_) => 422,
            Self::Internal(_) => 500,
        }
    }

    /// The `reason` of the answer's `Status`; internal errors have none.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::TooManyOperations { .. } => "RequestEntityTooLarge",
            Self::Unprocessable(_) => "Invalid",
            Self::Internal(_) => "",
        }
    }
}

/// Reads the body of a patch; whoever reads it next says what is wrong with its form.
fn parse(patch: &[u8]) -> Result<Value, PatchError> {
    serde_json::from_slice(patch).map_err(|_| PatchError::BadRequest("invalid JSON patch".to_owned()))
}

/// What a JSON value is called in Go's decoding errors.
fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value as Go's `%v` prints it, because that is how it appears in messages.
pub(crate) fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(value) => value.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_value).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            // Go prints maps in the order of their keys.
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let fields: Vec<String> =
                keys.into_iter().map(|key| format!("{key}:{}", go_value(&map[key]))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_as_in_go() {
        let value = json!({"b": [1, "x", null], "a": {"c": true}});
        assert_eq!(go_value(&value), "map[a:map[c:true] b:[1 x <nil>]]");
    }

    #[test]
    fn each_error_has_its_code() {
        assert_eq!(PatchError::BadRequest("x".into()).code(), 400);
        assert_eq!(PatchError::Unprocessable("x".into()).code(), 422);
        assert_eq!(PatchError::Unprocessable("x".into()).reason(), "Invalid");
        assert_eq!(PatchError::TooManyOperations { limit: 1, count: 2 }.code(), 413);
        assert_eq!(PatchError::Internal("x".into()).to_string(), "x");
    }
}
