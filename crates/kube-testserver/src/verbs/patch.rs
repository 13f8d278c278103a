//! Patch: JSON patch, merge patch, strategic merge patch and server-side apply.

use http::Response;
use serde_json::Value;

use super::create::create_owned;
use super::read::object_reply;
use super::update::Updated;
use super::{Call, Change, Endpoint, WriteOptions, metadata, rules, update_object, with_warnings};
use crate::apply::{self, ApplyError, Manager, Operation};
use crate::http::{Body, invalid_options};
use crate::kinds::Resource;
use crate::patch::{
    PatchError, decode_merge_patch, decode_strategic_merge_patch, json_patch, merge_patch,
    strategic_merge_patch,
};
use crate::status::{About, ApiError, Cause, Details};
use crate::storage::object_key;

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
            _ => Err(ApiError::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")),
        }
    }
}

pub(crate) fn patch(call: &Call) -> Result<Response<Body>, ApiError> {
    let kind = PatchType::of(&call.resource, &call.content_type)?;
    let options = WriteOptions::of(call, "PatchOptions")?;
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
        let apply = |live: &Value| patched(&call.resource, kind, &call.body, live).map(Change::from);
        update_object(&call.cluster, &call.resource, &call.namespace, &call.name, &options, apply)
            .map_err(|error| about_patch(kind, error))?
    };
    let code = if updated.created { 201 } else { 200 };
    Ok(with_warnings(object_reply(call, code, &updated.object), &updated.warnings))
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
    let mut config = applied_config(call)?;
    if metadata::text(&config, "name").is_empty() {
        metadata::of(&mut config).insert("name".to_owned(), Value::String(call.name.clone()));
    }
    super::create::place(resource, &call.namespace, &mut config)?;
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
    metadata::of(&mut merged).remove("resourceVersion");
    let (object, warnings) = create_owned(&call.cluster, resource, &call.namespace, merged, options)?;
    Ok(Updated { object, created: true, warnings })
}

/// Reads the applied configuration, which is YAML or JSON, and checks its kind.
fn applied_config(call: &Call) -> Result<Value, ApiError> {
    let parsed = match serde_json::from_slice(&call.body) {
        Ok(value) => value,
        Err(_) => {
            let text = String::from_utf8_lossy(&call.body);
            serde_saphyr::from_str(&text).map_err(|error| {
                ApiError::bad_request(format!(
                    "error decoding patch: error converting YAML to JSON: yaml: {error}"
                ))
            })?
        }
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

/// A patched object that cannot be read is the patch's fault.
fn about_patch(kind: PatchType, error: ApiError) -> ApiError {
    let unreadable = error.code == 400 && error.message.contains("cannot be handled as a");
    if !unreadable || kind == PatchType::Apply {
        return error;
    }
    let why = error.message.split_once("cannot be handled as a ").map_or("", |(_, rest)| rest);
    let why = why.split_once(": ").map_or(why, |(_, why)| why).to_owned();
    let nothing = About { group: "", plural: "", kind: "" };
    let cause = Cause {
        reason: "FieldValueInvalid",
        message: format!("Invalid value: \"patch\": {why}"),
        field: "patch".to_owned(),
    };
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
