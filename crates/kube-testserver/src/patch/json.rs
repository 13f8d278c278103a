//! JSON patch (RFC 6902).

use json_patch::PatchOperation;
use serde_json::{Map, Value};

use super::{PatchError, json_kind};

/// The number of operations that one patch may have, as in Kubernetes.
const MAX_OPERATIONS: usize = 10_000;

/// The bytes that all `copy` operations of a patch may copy together, as in Kubernetes. Without it a few
/// dozen operations could double a document until memory runs out.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// How deep a patched document may nest. Parsed documents have the same limit; operations could build
/// deeper ones, which code that follows values down cannot digest.
const MAX_DEPTH: usize = 128;

/// Runs the operations of a patch on a copy of a document, all or none.
pub(crate) fn json_patch(doc: &Value, patch: &[u8]) -> Result<Value, PatchError> {
    let mut doc = doc.clone();
    let mut copied = 0;
    for operation in operations(patch)? {
        let operation = read(&doc, operation)?;
        check_size(&doc, &operation, &mut copied)?;
        if let PatchOperation::Test(test) = &operation
            && test.value.is_null()
            && is_missing_field(&doc, test.path.as_str())
        {
            // Kubernetes takes a missing field for null.
            continue;
        }
        json_patch::patch(&mut doc, &[operation])
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

/// Refuses an operation that would make the document too deep, or copy too much.
fn check_size(doc: &Value, operation: &PatchOperation, copied: &mut usize) -> Result<(), PatchError> {
    let (value, path) = match operation {
        PatchOperation::Add(add) => (Some(&add.value), &add.path),
        PatchOperation::Replace(replace) => (Some(&replace.value), &replace.path),
        PatchOperation::Move(moved) => (doc.pointer(moved.from.as_str()), &moved.path),
        PatchOperation::Copy(copy) => {
            let source = doc.pointer(copy.from.as_str());
            *copied += source.map_or(0, |value| value.to_string().len());
            if *copied > MAX_COPIED_BYTES {
                return Err(PatchError::Unprocessable(format!(
                    "the copy operations copy more than {MAX_COPIED_BYTES} bytes"
                )));
            }
            (source, &copy.path)
        }
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return Ok(()),
    };
    if path.tokens().count() + value.map_or(0, depth) > MAX_DEPTH {
        return Err(PatchError::Unprocessable(format!("the document nests deeper than {MAX_DEPTH}")));
    }
    Ok(())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(doc: &Value, patch: &Value) -> Result<Value, PatchError> {
        json_patch(doc, patch.to_string().as_bytes())
    }

    #[test]
    fn every_operation_works() {
        let doc = json!({"a": 1, "list": ["x", "y"], "b": {"c": 2}});
        let patch = json!([
            {"op": "test", "path": "/a", "value": 1},
            {"op": "add", "path": "/list/1", "value": "new"},
            {"op": "add", "path": "/list/-", "value": "last"},
            {"op": "remove", "path": "/list/0"},
            {"op": "replace", "path": "/a", "value": 5},
            {"op": "move", "from": "/b/c", "path": "/moved"},
            {"op": "copy", "from": "/list", "path": "/copied"},
        ]);
        assert_eq!(
            run(&doc, &patch),
            Ok(json!({"a": 5, "list": ["new", "y", "last"], "b": {}, "moved": 2,
                      "copied": ["new", "y", "last"]}))
        );
    }

    #[test]
    fn escaped_path_segments_name_keys_with_slashes() {
        let doc = json!({"metadata": {"labels": {"example.com/a~b": "1"}}});
        let patch = json!([{"op": "remove", "path": "/metadata/labels/example.com~1a~0b"}]);
        assert_eq!(run(&doc, &patch), Ok(json!({"metadata": {"labels": {}}})));
    }

    #[test]
    fn a_failing_test_is_unprocessable() {
        let error = run(&json!({"a": 1}), &json!([{"op": "test", "path": "/a", "value": 2}]));
        let error = error.expect_err("the test fails");
        assert_eq!(error.code(), 422);
        assert_eq!(error.to_string(), "the server rejected our request due to an error in our request");
    }

    #[test]
    fn a_missing_path_is_unprocessable() {
        for op in ["remove", "replace", "add", "test"] {
            let patch = json!([{"op": op, "path": "/a/b", "value": 1}]);
            assert_eq!(run(&json!({}), &patch).expect_err("no such path").code(), 422, "{op}");
        }
        assert_eq!(
            run(&json!({}), &json!([{"op": "remove", "path": "/a"}])).expect_err("no field").code(),
            422
        );
        assert_eq!(run(&json!({}), &json!([{"op": "add"}])).expect_err("no path").code(), 422);
    }

    #[test]
    fn replacing_a_field_that_is_not_there_adds_it() {
        assert_eq!(
            run(&json!({}), &json!([{"op": "replace", "path": "/a", "value": 1}])),
            Ok(json!({"a": 1}))
        );
    }

    #[test]
    fn a_missing_value_is_null() {
        assert_eq!(run(&json!({}), &json!([{"op": "add", "path": "/a"}])), Ok(json!({"a": null})));
    }

    #[test]
    fn an_unknown_operation_is_unprocessable() {
        assert_eq!(run(&json!({}), &json!([{"op": "frob", "path": "/a"}])).expect_err("unknown").code(), 422);
    }

    #[test]
    fn a_missing_field_tests_equal_to_null() {
        let doc = json!({"a": 1});
        assert!(run(&doc, &json!([{"op": "test", "path": "/b/c", "value": null}])).is_err());
        assert_eq!(run(&doc, &json!([{"op": "test", "path": "/b", "value": null}])), Ok(doc));
    }

    #[test]
    fn negative_positions_count_from_the_end() {
        let patch = json!([{"op": "replace", "path": "/list/-1", "value": 9}]);
        assert_eq!(run(&json!({"list": [1, 2]}), &patch), Ok(json!({"list": [1, 9]})));
    }

    #[test]
    fn a_patch_that_is_not_a_list_is_a_bad_request() {
        let error = run(&json!({}), &json!({"a": 1})).expect_err("not a list");
        assert_eq!(error.code(), 400);
        assert!(error.to_string().starts_with("error decoding patch: json: cannot unmarshal object"));
        assert_eq!(
            run(&json!({}), &json!([1])).expect_err("no operation").to_string(),
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"
        );
        assert_eq!(json_patch(&json!({}), b"null"), Ok(json!({})));
        assert_eq!(json_patch(&json!({}), b"[").expect_err("not JSON").to_string(), "invalid JSON patch");
    }

    #[test]
    fn the_number_of_operations_is_limited() {
        let one = json!({"op": "test", "path": "/a", "value": 1});
        let error =
            run(&json!({"a": 1}), &Value::Array(vec![one; MAX_OPERATIONS + 1])).expect_err("too many");
        assert_eq!(error.code(), 413);
        assert_eq!(
            error.to_string(),
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
        );
    }

    #[test]
    fn copies_cannot_grow_without_bound() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let error =
            run(&json!({"a": ["0123456789"]}), &Value::Array(vec![double; 100])).expect_err("too big");
        assert_eq!(error.code(), 422);
    }

    #[test]
    fn operations_cannot_nest_without_bound() {
        let deeper = (1..200).map(|n| json!({"op": "add", "path": "/a".repeat(n), "value": {}})).collect();
        assert_eq!(run(&json!({}), &Value::Array(deeper)).expect_err("too deep").code(), 422);
    }
}
