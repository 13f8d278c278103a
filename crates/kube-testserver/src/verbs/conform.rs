//! What a kind says about an object: fields that it does not have, defaults, and what is not allowed.

use serde_json::Value;

use super::decode::{Document, cannot_be_handled};
use super::json::{self, Finding};
use super::{Endpoint, FieldValidation, WriteOptions, defaults, metadata};
use crate::crd::Version;
use crate::kinds::Resource;
use crate::schema::{self, TypeRef};
use crate::status::{ApiError, Cause};

/// How deep an object may nest. What is stored with it (who owns which field) nests a little deeper, and no JSON
/// reader on the way goes beyond 127.
const MAX_DEPTH: usize = 100;

/// Drops, completes and checks what the kind says about an object; returns warnings.
pub(crate) fn conform(
    resource: &Resource,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<Vec<String>, ApiError> {
    if !is_within(object, MAX_DEPTH) {
        return Err(cannot_be_handled(resource, &format!("it is nested deeper than {MAX_DEPTH} levels")));
    }
    let unknown = match custom_version(resource) {
        Some(version) => {
            let mut unknown = conform_metadata(resource, object)?;
            unknown.extend(version.prune(object));
            version.default(object);
            unknown
        }
        None => {
            let unknown = match resource.type_ref() {
                Some(ty) => coerce(resource, object, ty, "")?,
                None => Vec::new(),
            };
            defaults::fill(resource, object);
            unknown
        }
    };
    metadata::drop_empty(object);
    if options.validation == FieldValidation::Ignore {
        return Ok(Vec::new());
    }
    let found = findings(resource, options.document.as_ref(), &unknown);
    if found.is_empty() || options.validation == FieldValidation::Warn {
        return Ok(found);
    }
    Err(cannot_be_handled(resource, &format!("strict decoding error: {}", found.join(", "))))
}

/// Whether a value nests no deeper than so many levels.
fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|field| is_within(field, levels - 1)),
        _ => true,
    }
}

/// The metadata of custom resources has the same type as that of all others.
fn conform_metadata(resource: &Resource, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let object_meta =
        schema::builtin().root("v1", "ConfigMap").and_then(|any_kind| any_kind.child("metadata"));
    match (object.get_mut("metadata"), object_meta) {
        (Some(metadata), Some(ty)) if !metadata.is_null() => coerce(resource, metadata, ty, "metadata."),
        _ => Ok(Vec::new()),
    }
}

/// Makes a value fit its type; returns the paths of the fields that were dropped.
fn coerce(
    resource: &Resource,
    value: &mut Value,
    ty: TypeRef<'_>,
    prefix: &str,
) -> Result<Vec<String>, ApiError> {
    let unknown =
        schema::coerce(value, ty).map_err(|mismatch| cannot_be_handled(resource, &mismatch.message))?;
    Ok(unknown.into_iter().map(|field| format!("{prefix}{}", field.path)).collect())
}

/// What is unusual about an object, as clients are told. Built-in kinds tell in the order of the document, custom
/// ones tell of repeated fields first.
fn findings(resource: &Resource, document: Option<&Document>, unknown: &[String]) -> Vec<String> {
    let in_words = |finding: Finding| match finding {
        Finding::Unknown(path) => format!("unknown field \"{path}\""),
        Finding::Repeated(path) => format!("duplicate field \"{path}\""),
    };
    let mut found: Vec<String> =
        document.iter().filter_map(|document| document.yaml_problem.clone()).collect();
    let dropped = || unknown.iter().cloned().map(Finding::Unknown);
    match document.filter(|document| !document.json.is_empty()) {
        Some(document) if resource.custom.is_some() && document.repeats => {
            found.extend(json::findings(&document.json, &[]).into_iter().chain(dropped()).map(in_words));
        }
        Some(document) if resource.custom.is_none() && (document.repeats || unknown.len() > 1) => {
            found.extend(json::findings(&document.json, unknown).into_iter().map(in_words));
        }
        _ => found.extend(dropped().map(in_words)),
    }
    found
}

/// What is wrong with a new object: its metadata, and what the kind's own schema finds. Built-in kinds are checked
/// by type only.
pub(crate) fn violations(resource: &Resource, object: &Value) -> Vec<Cause> {
    let metadata = metadata::problems(resource, object);
    let schema = custom_version(resource).map(|version| version.validate(object)).unwrap_or_default();
    together(resource, metadata, schema)
}

/// What the kind's own schema finds wrong with a change; what was wrong before and is unchanged is let be.
pub(crate) fn update_violations(
    resource: &Resource,
    endpoint: Endpoint,
    object: &Value,
    old: &Value,
) -> Vec<Cause> {
    let metadata = metadata::problems(resource, object);
    let schema = match (custom_version(resource), endpoint) {
        (None, _) => Vec::new(),
        (Some(version), Endpoint::Status) => version.validate_status(object, old),
        (Some(version), _) => version.validate_update(object, old),
    };
    together(resource, metadata, schema)
}

/// Rules that were not checked are named once, whatever kept the server from checking them.
fn together(resource: &Resource, metadata: Vec<Cause>, schema: Vec<Cause>) -> Vec<Cause> {
    let said = schema.iter().any(|cause| cause.field == "<nil>");
    let all: Vec<Cause> = metadata.into_iter().chain(schema).collect();
    match custom_version(resource) {
        Some(version) if !said => version.add_unchecked(all),
        _ => all,
    }
}

/// The version of the definition that a custom resource is served in.
fn custom_version(resource: &Resource) -> Option<&Version> {
    let (definition, at) = resource.custom.as_ref()?;
    definition.versions.get(*at)
}
