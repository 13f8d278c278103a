//! Strategic merge patch: a merge patch that knows the schema.
//!
//! Objects merge field by field as in a plain merge patch. What is different is lists: those whose field
//! says so are merged element by element, and the patch can hold directives:
//!
//! | directive | where | meaning |
//! |---|---|---|
//! | `$patch: replace` | an object, or an element of a merged list | the rest of the object or list replaces |
//! | `$patch: delete` | an object, or an element of a merged list | empties the object, deletes the element |
//! | `$deleteFromPrimitiveList/F` | beside field `F` | removes values from a merged list of scalars |
//! | `$setElementOrder/F` | beside field `F` | the order of the elements of a merged list |
//! | `$retainKeys` | an object | deletes the fields that are not listed |
//!
//! Recursion follows the patch and the document, both of which were parsed with a limit on their depth.

mod lists;
mod order;

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{PatchError, go_value, json_kind, parse};
use crate::schema::{Strategy, Type, TypeRef};

const DIRECTIVE: &str = "$patch";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const RETAIN_KEYS: &str = "$retainKeys";

type Fields = Map<String, Value>;

/// Reads the body of a strategic merge patch, which must be an object; `null` is an empty one.
pub(crate) fn decode_strategic_merge_patch(patch: &[u8]) -> Result<Value, PatchError> {
    match parse(patch)? {
        patch @ Value::Object(_) => Ok(patch),
        Value::Null => Ok(Value::Object(Fields::new())),
        other => Err(PatchError::BadRequest(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_kind(&other)
        ))),
    }
}

/// Merges a patch into a document of the given type.
///
/// Types that say nothing about their fields (custom resources without a schema) have no strategy to follow,
/// which is a bad request, as in Kubernetes.
pub(crate) fn strategic_merge_patch(doc: Value, patch: Value, ty: TypeRef<'_>) -> Result<Value, PatchError> {
    if matches!(ty.ty(), Type::Any) {
        return Err(bad("strategic merge patch format is not supported"));
    }
    match (doc, patch) {
        (Value::Object(doc), Value::Object(patch)) => merge_object(doc, patch, Some(ty)).map(Value::Object),
        _ => Err(bad("invalid JSON document")),
    }
}

fn bad(message: &str) -> PatchError {
    PatchError::BadRequest(message.to_owned())
}

fn internal(message: impl Into<String>) -> PatchError {
    PatchError::Internal(message.into())
}

fn no_merge_key(item: &Fields, key: &str) -> PatchError {
    internal(format!(
        "map: {} does not contain declared merge key: {key}",
        go_value(&Value::Object(item.clone()))
    ))
}

/// Merges two objects. Without a type, below a field that may hold anything, lists are replaced.
fn merge_object(mut doc: Fields, mut patch: Fields, ty: Option<TypeRef<'_>>) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Fields::new()),
            _ => {
                let name = go_value(&directive);
                patch.insert(DIRECTIVE.to_owned(), directive);
                let patch = go_value(&Value::Object(patch));
                Err(internal(format!("unknown patch type: {name} in map: {patch}")))
            }
        };
    }
    retain_keys(&mut doc, &mut patch)?;
    lists::set_element_order(&mut doc, &mut patch, ty)?;
    for (key, value) in patch {
        match key.strip_prefix(DELETE_FROM_PRIMITIVE_LIST) {
            Some(field) => {
                let Some(field) = field.strip_prefix('/') else {
                    return Err(bad("invalid patch format of primitive list"));
                };
                delete_from_list(&mut doc, field, &value, ty)?;
            }
            None => merge_field(&mut doc, key, value, ty)?,
        }
    }
    Ok(doc)
}

/// Deletes the fields that the patch does not list, if it has such a list.
fn retain_keys(doc: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let invalid = || bad("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(invalid)?;
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let listed = |key: &String| keys.contains(&**key);
    for (key, value) in &*patch {
        let directive = key.starts_with(DELETE_FROM_PRIMITIVE_LIST) || key.starts_with(SET_ELEMENT_ORDER);
        if !value.is_null() && !directive && !listed(key) {
            return Err(invalid());
        }
    }
    doc.retain(|key, _| listed(key));
    Ok(())
}

fn delete_from_list(
    doc: &mut Fields,
    field: &str,
    values: &Value,
    ty: Option<TypeRef<'_>>,
) -> Result<(), PatchError> {
    if values.is_null() {
        doc.remove(field);
        return Ok(());
    }
    if let (Some(Value::Array(items)), Value::Array(values)) = (doc.get_mut(field), values) {
        // Asked only for its errors: values are deleted whatever the strategy of the field is.
        strategy(ty, field)?;
        if lists::all_objects(items, values)? {
            return Err(internal("cannot merge lists without merge key for struct"));
        }
        let values: HashSet<&Value> = values.iter().collect();
        items.retain(|item| !values.contains(item));
    }
    Ok(())
}

fn merge_field(
    doc: &mut Fields,
    key: String,
    value: Value,
    ty: Option<TypeRef<'_>>,
) -> Result<(), PatchError> {
    let current = doc.remove(&key);
    let merged = match (current, value) {
        (_, Value::Null) => None,
        (Some(Value::Object(current)), Value::Object(value)) => {
            let (below, _) = strategy(ty, &key)?;
            Some(Value::Object(merge_object(current, value, below)?))
        }
        (Some(Value::Array(current)), Value::Array(value)) => {
            let (below, strategy) = strategy(ty, &key)?;
            Some(Value::Array(lists::merge(current, value, below.and_then(TypeRef::item), strategy)?))
        }
        (_, value) => new_value(value),
    };
    if let Some(merged) = merged {
        doc.insert(key, merged);
    }
    Ok(())
}

/// A value that the document did not have before: without nulls and without objects that are directives.
fn new_value(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) => {
            if map.contains_key(DIRECTIVE) {
                return None;
            }
            let fields = map.into_iter().filter(|(_, value)| !value.is_null());
            Some(Value::Object(fields.filter_map(|(key, value)| Some((key, new_value(value)?))).collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(new_value).collect())),
        other => Some(other),
    }
}

/// The type and the strategy of a field. Without a type, nothing is known and nothing is wrong.
fn strategy<'a>(
    ty: Option<TypeRef<'a>>,
    field: &str,
) -> Result<(Option<TypeRef<'a>>, Option<&'a Strategy>), PatchError> {
    let Some(ty) = ty else { return Ok((None, None)) };
    match ty.ty() {
        Type::Any => Ok((None, None)),
        Type::Object(object) => match ty.field(field) {
            Some(field) => Ok((Some(ty.schema.at(field.ty)), Some(&field.strategy))),
            None if object.preserve_unknown => Ok((None, None)),
            None => {
                let name = object.name.rsplit('.').next().unwrap_or_default();
                Err(internal(format!(
                    "unable to find api field in struct {name} for the json field \"{field}\""
                )))
            }
        },
        Type::Map { .. } => Err(not_struct("map")),
        Type::List { .. } => Err(not_struct("slice")),
        Type::Scalar(_) => Err(not_struct("string")),
    }
}

fn not_struct(what: &str) -> PatchError {
    internal(format!("merging an object in json but data type is not struct, instead is: {what}"))
}

#[cfg(test)]
mod tests;
