//! JSON merge patch (RFC 7386).

use serde_json::{Map, Value};

use super::{PatchError, json_kind, parse};

/// Reads the body of a merge patch, which must be an object.
pub(crate) fn decode_merge_patch(patch: &[u8]) -> Result<Value, PatchError> {
    match parse(patch)? {
        patch @ Value::Object(_) => Ok(patch),
        Value::Null => Err(PatchError::BadRequest("Invalid JSON Patch".to_owned())),
        other => Err(PatchError::BadRequest(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_kind(&other)
        ))),
    }
}

/// Merges a patch into a document: objects field by field, `null` deletes, anything else replaces.
///
/// Where the patch brings a new value, `null`s inside it are dropped, also inside arrays. The RFC would keep
/// those in arrays; Kubernetes does not.
pub(crate) fn merge_patch(doc: Value, patch: Value) -> Value {
    match (doc, patch) {
        (Value::Object(mut doc), Value::Object(patch)) => {
            merge_fields(&mut doc, patch);
            Value::Object(doc)
        }
        // An object that gives way to something else is the one place where nulls stay.
        (Value::Object(_), patch) => patch,
        (_, patch) => without_nulls(patch),
    }
}

fn merge_fields(doc: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, value) in patch {
        if value.is_null() {
            doc.remove(&key);
            continue;
        }
        let merged = match doc.remove(&key) {
            None | Some(Value::Null) => without_nulls(value),
            Some(current) => merge_patch(current, value),
        };
        doc.insert(key, merged);
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_objects_are_merge_patches() {
        let error = |patch: &[u8]| decode_merge_patch(patch).expect_err("no object").to_string();
        assert_eq!(error(b"{"), "invalid JSON patch");
        assert_eq!(error(b"null"), "Invalid JSON Patch");
        assert_eq!(
            error(b"[1]"),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
        assert_eq!(decode_merge_patch(b"{}"), Ok(json!({})));
    }

    #[test]
    fn objects_are_merged_field_by_field() {
        let doc = json!({"a": {"b": 1, "c": 2}, "d": 3});
        assert_eq!(
            merge_patch(doc, json!({"a": {"b": 9}, "e": 4})),
            json!({"a": {"b": 9, "c": 2}, "d": 3, "e": 4})
        );
    }

    #[test]
    fn null_deletes_and_is_never_added() {
        assert_eq!(merge_patch(json!({"a": 1, "b": 2}), json!({"a": null, "c": null})), json!({"b": 2}));
        assert_eq!(merge_patch(json!({}), json!({"a": {"b": null, "c": 1}})), json!({"a": {"c": 1}}));
    }

    #[test]
    fn arrays_are_replaced() {
        assert_eq!(merge_patch(json!({"a": [1, 2]}), json!({"a": [3]})), json!({"a": [3]}));
    }

    #[test]
    fn nulls_inside_new_arrays_are_dropped() {
        let patch = json!({"a": [{"b": null, "c": 1}, null]});
        assert_eq!(merge_patch(json!({"a": [0]}), patch), json!({"a": [{"c": 1}, null]}));
    }

    #[test]
    fn an_object_gives_way_to_a_scalar_and_back() {
        assert_eq!(merge_patch(json!({"a": {"b": 1}}), json!({"a": 2})), json!({"a": 2}));
        assert_eq!(merge_patch(json!({"a": 2}), json!({"a": {"b": 1}})), json!({"a": {"b": 1}}));
    }
}
