//! JSON patch (RFC 6902).

mod work;

use json_patch::PatchOperation;
use serde_json::{Map, Value};

use super::{PatchError, json_kind};
use work::Work;

/// The number of operations that one patch may have, as in Kubernetes.
const MAX_OPERATIONS: usize = 10_000;

/// Runs the operations of a patch on a copy of a document, all or none.
pub(crate) fn json_patch(doc: &Value, patch: &[u8]) -> Result<Value, PatchError> {
    patched(doc, patch, &mut Work::on(doc))
}

fn patched(doc: &Value, patch: &[u8], work: &mut Work) -> Result<Value, PatchError> {
    let mut doc = doc.clone();
    for operation in operations(patch)? {
        let operation = read(&doc, operation)?;
        work.charge(&doc, &operation)?;
        if let PatchOperation::Test(test) = &operation
            && test.value.is_null()
            && is_missing_field(&doc, test.path.as_str())
        {
            // Kubernetes takes a missing field for null.
            continue;
        }
        // An error discards the copy, so nothing has to be undone.
        json_patch::patch_unsafe(&mut doc, &[operation])
            .map_err(|error| PatchError::Unprocessable(error.to_string()))?;
    }
    Ok(doc)
}

fn operations(patch: &[u8]) -> Result<Vec<Value>, PatchError> {
    let bad = |value: &Value, into: &str| {
        PatchError::BadRequest(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type {into}",
            json_kind(value)
        ))
    };
    let operations = match super::parse(patch)? {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        other => return Err(bad(&other, "[]handlers.jsonPatchOp")),
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations { limit: MAX_OPERATIONS, count: operations.len() });
    }
    match operations.iter().find(|operation| !operation.is_object()) {
        Some(other) => Err(bad(other, "handlers.jsonPatchOp")),
        None => Ok(operations),
    }
}

/// Reads one operation, with what Kubernetes takes for granted spelled out: array positions that count from
/// the end, a missing value, and the replacement of a field that is not there.
fn read(doc: &Value, mut operation: Value) -> Result<PatchOperation, PatchError> {
    for member in ["path", "from"] {
        if let Some(Value::String(path)) = operation.get_mut(member)
            && let Some(plain) = resolve_negative(doc, path)
        {
            *path = plain;
        }
    }
    if let Value::Object(members) = &mut operation {
        let path = members.get("path").and_then(Value::as_str).unwrap_or_default();
        if op_of(members) == "replace" && is_missing_field(doc, path) {
            members.insert("op".to_owned(), Value::String("add".to_owned()));
        }
        if matches!(op_of(members), "add" | "replace" | "test") {
            members.entry("value").or_insert(Value::Null);
        }
    }
    serde_json::from_value(operation).map_err(|error| PatchError::Unprocessable(error.to_string()))
}

/// Whether a path leads to an object that does not have the last field.
fn is_missing_field(doc: &Value, path: &str) -> bool {
    let parent = path.rsplit_once('/').and_then(|(parent, _)| doc.pointer(parent));
    parent.is_some_and(Value::is_object) && doc.pointer(path).is_none()
}

fn op_of(members: &Map<String, Value>) -> &str {
    members.get("op").and_then(Value::as_str).unwrap_or_default()
}

/// `/items/-1` as the place it means in the document; none when there is nothing to translate.
fn resolve_negative(doc: &Value, path: &str) -> Option<String> {
    let (parent, last) = path.rsplit_once('/')?;
    let back: usize = last.strip_prefix('-')?.parse().ok()?;
    let items = doc.pointer(parent)?.as_array()?;
    Some(format!("{parent}/{}", items.len().checked_sub(back)?))
}

#[cfg(test)]
mod tests;
