//! Patch: JSON patch, merge patch, strategic merge patch and server-side apply.

use http::Response;
use serde_json::Value;

use super::create::create_owned;
use super::read::object_reply;
use super::update::Updated;
use super::{
    Call, Change, Endpoint, FieldValidation, WriteOptions, decode, metadata, rules, update_object,
    with_warnings,
};
use crate::apply::{self, ApplyError, Manager, Operation};
use crate::crd::print_go;
use crate::http::{Body, invalid_options};
use crate::kinds::Resource;
use crate::patch::{
    PatchError, decode_merge_patch, decode_strategic_merge_patch, json_patch, merge_patch,
    strategic_merge_patch,
};
use crate::status::{About, ApiError, Cause, Details};
use crate::storage::object_key;
use crate::yaml;

/// The patch types of custom resources, which know no strategic merge.
const CUSTOM_PATCH_TYPES: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

/// How a body is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    pub(crate) fn of(resource: &Resource, content_type: &str) -> Result<Self, ApiError> {
        let custom = resource.custom.is_some();
        match content_type.split(';').next().unwrap_or("").trim() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ if custom => Err(ApiError::unsupported_media_type(CUSTOM_PATCH_TYPES)),
            _ => Err(ApiError::unsupported_patch_type()),
        }
    }
}

pub(crate) fn patch(call: &Call) -> Result<Response<Body>, ApiError> {
    let kind = PatchType::of(&call.resource, &call.content_type)?;
    let mut options = WriteOptions::of(call, "PatchOptions")?;
    if kind == PatchType::Merge && options.validation != FieldValidation::Ignore {
        options.document = Some(decode::Document::of_patch(&call.body));
    }
    let force = call.query.get("force").is_some().then(|| call.query.flag("force"));
    if force.is_some() && kind != PatchType::Apply {
        let message = "Forbidden: may not be specified for non-apply patch";
        return Err(invalid_options("PatchOptions", "FieldValueForbidden", "force", message));
    }
    let updated = if kind == PatchType::Apply {
        if call.query.text("fieldManager").is_empty() {
            let message = "Required value: is required for apply patch";
            return Err(invalid_options("PatchOptions", "FieldValueRequired", "fieldManager", message));
        }
        apply_patch(call, &options, force == Some(true))?
    } else {
        let mut shown = String::new();
        let apply = |live: &Value| {
            let object = patched(&call.resource, kind, &call.body, live)?;
            check_kind(&call.resource, &object)?;
            shown = show(kind, &call.body, &object);
            Ok(Change::from(object))
        };
        update_object(&call.cluster, &call.resource, &call.namespace, &call.name, &options, apply)
            .map_err(|error| about_patch(kind, &shown, error))?
    };
    let code = if updated.created { 201 } else { 200 };
    Ok(with_warnings(object_reply(call, code, &updated.object)?, &updated.warnings))
}

/// The object after the patch.
pub(crate) fn patched(
    resource: &Resource,
    kind: PatchType,
    body: &[u8],
    live: &Value,
) -> Result<Value, ApiError> {
    if kind == PatchType::Json {
        return json_patch(live, body).map_err(|error| from_patch(&error));
    }
    match (kind, resource.type_ref()) {
        (PatchType::Strategic, Some(ty)) => {
            let patch = decode_strategic_merge_patch(body).map_err(|error| from_patch(&error))?;
            strategic_merge_patch(live.clone(), patch, ty).map_err(|error| from_patch(&error))
        }
        _ => {
            let patch = decode_merge_patch(body).map_err(|error| from_patch(&error))?;
            Ok(merge_patch(live.clone(), patch))
        }
    }
}

fn apply_patch(call: &Call, options: &WriteOptions, force: bool) -> Result<Updated, ApiError> {
    let resource = &call.resource;
    if options.validation == FieldValidation::Strict
        && let Some(problem) = decode::repeated_in_yaml(&call.body)
    {
        let why = format!("error strict decoding patch: error converting YAML to JSON: {problem}");
        return Err(ApiError::bad_request(why));
    }
    let mut config = applied_config(call)?;
    if metadata::text(&config, "name").is_empty() {
        metadata::of(&mut config).insert("name".to_owned(), Value::String(call.name.clone()));
    }
    // The namespace is checked, but not filled in: errors name the object as the client did.
    super::create::place(resource, &call.namespace, &mut config.clone())?;
    let Some(ty) = resource.type_ref() else { return Err(ApiError::internal("the kind has no schema")) };
    let (api_version, now) = (resource.api_version(), call.cluster.clock.now_text());
    let manager = Manager {
        name: &options.manager,
        operation: Operation::Apply,
        api_version: &api_version,
        subresource: options.endpoint.subresource(),
        time: &now,
    };
    let reset = rules::reset_fields(resource, options.endpoint);
    let merge = |live: Option<&Value>| {
        let mut config = config.clone();
        // The version and uid are conditions of the request, not part of what is applied.
        let conditions = ["resourceVersion", "uid"].map(|field| metadata::of(&mut config).remove(field));
        let mut merged =
            apply::apply(live, &config, ty, &manager, force, &reset).map_err(|error| from_apply(&error))?;
        for (field, value) in ["resourceVersion", "uid"].into_iter().zip(conditions) {
            if let Some(value) = value {
                metadata::of(&mut merged).insert(field.to_owned(), value);
            } else if field == "resourceVersion" {
                metadata::of(&mut merged).remove(field);
            }
        }
        Ok(merged)
    };
    let there = call.cluster.store.get(resource.table, &object_key(&call.namespace, &call.name)).is_some();
    if there || options.endpoint != Endpoint::Main {
        return update_object(&call.cluster, resource, &call.namespace, &call.name, options, |live| {
            Ok(Change { object: merge(Some(live))?, owned: true })
        });
    }
    let uid = metadata::text(&config, "uid");
    if !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(ApiError::conflict(resource.about(), &call.name, &why));
    }
    let mut merged = merge(None)?;
    if !options.dry_run {
        metadata::of(&mut merged).remove("resourceVersion");
    }
    let (object, warnings) = create_owned(&call.cluster, resource, &call.namespace, merged, options)?;
    Ok(Updated { object, created: true, warnings })
}

/// Reads the applied configuration, which is YAML or JSON, and checks its kind.
fn applied_config(call: &Call) -> Result<Value, ApiError> {
    let parsed = match serde_json::from_slice(&call.body) {
        Ok(value) => value,
        Err(_) => yaml::parse(&call.body).map_err(|why| {
            ApiError::bad_request(format!("error decoding patch: error converting YAML to JSON: yaml: {why}"))
        })?,
    };
    let config = if let Value::Null = parsed { Value::Object(serde_json::Map::new()) } else { parsed };
    let text = |field: &str| config.get(field).and_then(Value::as_str).unwrap_or("").to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version != call.resource.api_version() || *kind != *call.resource.kind {
        let said = if api_version.contains('/') { api_version } else { format!("/{api_version}") };
        return Err(ApiError::bad_request(format!("invalid object type: {said}, Kind={kind}")));
    }
    Ok(config)
}

/// A patch may not make another kind of an object.
fn check_kind(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or("").to_owned();
    let (api_version, kind, expected) = (text("apiVersion"), text("kind"), resource.api_version());
    if api_version == expected && *kind == *resource.kind {
        return Ok(());
    }
    if resource.custom.is_none() {
        return Err(invalid_patch(&object.to_string(), &decode::other_kind(resource, &api_version, &kind)));
    }
    let (field, said, must) = if *kind == *resource.kind {
        ("apiVersion", api_version, expected)
    } else {
        ("kind", kind.clone(), resource.kind.to_string())
    };
    let cause = Cause::invalid(field, &Value::String(said), &format!("must be {must}"));
    let about = About { kind: &kind, ..resource.about() };
    Err(ApiError::invalid(about, metadata::text(object, "name"), vec![cause]))
}

/// What errors show of a patch: its result, or itself if the server would not have got so far.
fn show(kind: PatchType, body: &[u8], object: &Value) -> String {
    match kind {
        PatchType::Strategic => {
            serde_json::from_slice(body).map(|patch| print_go(&patch)).unwrap_or_default()
        }
        _ => object.to_string(),
    }
}

/// A patched object that cannot be read is the patch's fault.
fn about_patch(kind: PatchType, shown: &str, error: ApiError) -> ApiError {
    let unreadable = error.code == 400 && error.message.contains("cannot be handled as a");
    if !unreadable || kind == PatchType::Apply {
        return error;
    }
    let why = error.message.split_once("cannot be handled as a ").map_or("", |(_, rest)| rest);
    let why = why.split_once(": ").map_or(why, |(_, why)| why);
    match why.rsplit_once(" of type ") {
        // A strategic patch is read field by field, without knowing where it is.
        Some((_, ty)) if kind == PatchType::Strategic && why.starts_with("json: ") => {
            invalid_patch(shown, &not_restored(why, ty))
        }
        _ => invalid_patch(shown, why),
    }
}

/// What is said of a value of another type in a strategic patch.
fn not_restored(why: &str, ty: &str) -> String {
    let given = ["number", "string", "bool", "array", "object"]
        .into_iter()
        .zip(["int64", "string", "bool", "slice", "map"])
        .find(|(given, _)| why.contains(&format!("unmarshal {given} into")));
    match given {
        Some((_, given)) if ty.starts_with("map[") => format!("cannot restore map from {given}"),
        Some((_, given)) if ty.starts_with("[]") => format!("cannot restore slice from {given}"),
        _ => format!("unrecognized type: {ty}"),
    }
}

fn invalid_patch(shown: &str, why: &str) -> ApiError {
    let nothing = About { group: "", plural: "", kind: "" };
    let cause = Cause::invalid("patch", &Value::String(shown.to_owned()), why);
    ApiError::invalid(nothing, "", vec![cause])
}

fn from_patch(error: &PatchError) -> ApiError {
    let details = matches!(error, PatchError::Unprocessable(_)).then(Box::<Details>::default);
    ApiError { details, ..ApiError::new(error.code(), error.reason(), error.to_string()) }
}

fn from_apply(error: &ApplyError) -> ApiError {
    let causes = error.causes();
    let details = (!causes.is_empty()).then(|| Box::new(Details { causes, ..Details::default() }));
    ApiError { details, ..ApiError::new(error.code(), error.reason(), error.to_string()) }
}
