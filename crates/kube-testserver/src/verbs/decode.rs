//! From the bytes of a request to an object of the right kind.

use serde_json::Value;

use super::{Endpoint, FieldValidation, WriteOptions};
use crate::crd::Version;
use crate::kinds::Resource;
use crate::schema;
use crate::status::{ApiError, Cause};

/// The media types that a body may have.
const BODY_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// The media types of custom resources, whose fields have no numbers.
const CUSTOM_BODY_TYPES: &str = "application/json, application/yaml";

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// How much of an unreadable body an error quotes.
const QUOTED_BYTES: usize = 30;

/// Reads the object in a request's body and checks that it says it is of this kind.
pub(crate) fn object(resource: &Resource, content_type: &str, body: &[u8]) -> Result<Value, ApiError> {
    if resource.custom.is_some() && media_type(content_type) == PROTOBUF {
        return Err(ApiError::unsupported_media_type(CUSTOM_BODY_TYPES));
    }
    let mut value = parse_as(&resource.api_version(), &resource.kind, content_type, body)?;
    if value.is_null() && resource.custom.is_none() {
        value = Value::Object(serde_json::Map::new());
    }
    check_type(resource, &mut value, body)?;
    Ok(value)
}

/// Reads JSON, YAML or protobuf, by the content type.
pub(crate) fn parse(kind: &str, content_type: &str, body: &[u8]) -> Result<Value, ApiError> {
    parse_as("v1", kind, content_type, body)
}

fn parse_as(api_version: &str, kind: &str, content_type: &str, body: &[u8]) -> Result<Value, ApiError> {
    let unrecognized = |why: &str| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
             error: {why} ({})",
            quoted(body)
        ))
    };
    match media_type(content_type) {
        "" | "application/json" | "*/*" => {
            serde_json::from_slice(body).map_err(|error| unrecognized(&error.to_string()))
        }
        "application/yaml" | "application/x-yaml" | "text/yaml" => {
            let text = std::str::from_utf8(body).map_err(|error| unrecognized(&error.to_string()))?;
            serde_saphyr::from_str(text).map_err(|error| unrecognized(&error.to_string()))
        }
        PROTOBUF => schema::protobuf::decode(body, (api_version, kind)).map_err(|error| {
            // Options are not converted to another version, so the server does not say from what to what.
            if kind == "DeleteOptions" {
                return ApiError::bad_request(error.to_string());
            }
            ApiError::bad_request(match &error.object {
                Some((api_version, said)) => {
                    let version = api_version.rsplit('/').next().unwrap_or_default();
                    format!("{said} in version \"{version}\" cannot be handled as a {kind}: {error}")
                }
                None => format!(
                    "the object provided is unrecognized (must be of type {kind}): {error} ({})",
                    quoted(body)
                ),
            })
        }),
        _ => Err(ApiError::unsupported_media_type(BODY_TYPES)),
    }
}

/// A content type without its parameters.
fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or("").trim()
}

/// Drops, completes and checks what the kind says about an object; returns warnings.
pub(crate) fn conform(
    resource: &Resource,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<Vec<String>, ApiError> {
    let unknown = match &resource.custom {
        Some(_) => {
            let mut unknown = Vec::new();
            if let Some(version) = custom_version(resource) {
                unknown = version.prune(object);
                version.default(object);
            }
            unknown
        }
        None => match resource.type_ref() {
            Some(ty) => schema::coerce(object, ty)
                .map_err(|mismatch| cannot_be_handled(resource, &mismatch.message))?
                .into_iter()
                .map(|field| field.path)
                .collect(),
            None => Vec::new(),
        },
    };
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    let each: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    match options.validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(each),
        FieldValidation::Strict => {
            Err(cannot_be_handled(resource, &format!("strict decoding error: {}", each.join(", "))))
        }
    }
}

/// What the kind's own schema finds wrong with a new object; built-in kinds are checked by type only.
pub(crate) fn violations(resource: &Resource, object: &Value) -> Vec<Cause> {
    custom_version(resource).map(|version| version.validate(object)).unwrap_or_default()
}

/// What the kind's own schema finds wrong with a change; what was wrong before and is unchanged is let be.
pub(crate) fn update_violations(
    resource: &Resource,
    endpoint: Endpoint,
    object: &Value,
    old: &Value,
) -> Vec<Cause> {
    let Some(version) = custom_version(resource) else { return Vec::new() };
    match endpoint {
        Endpoint::Status => version.validate_status(object, old),
        _ => version.validate_update(object, old),
    }
}

/// The version of the definition that a custom resource is served in.
fn custom_version(resource: &Resource) -> Option<&Version> {
    let (definition, at) = resource.custom.as_ref()?;
    definition.versions.get(*at)
}

fn cannot_be_handled(resource: &Resource, why: &str) -> ApiError {
    let (kind, version) = (&resource.kind, &resource.version);
    ApiError::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
}

fn check_type(resource: &Resource, value: &mut Value, body: &[u8]) -> Result<(), ApiError> {
    let expected = resource.api_version();
    let Value::Object(object) = value else {
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: \
             json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }} ({})",
            resource.kind,
            json_type(value),
            quoted(body)
        )));
    };
    let text = |object: &serde_json::Map<String, Value>, key: &str| {
        object.get(key).and_then(Value::as_str).unwrap_or("").to_owned()
    };
    let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    if resource.custom.is_some() && kind.is_empty() {
        let whole = String::from_utf8_lossy(body);
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{whole}' ({})",
            resource.kind,
            quoted(body)
        )));
    }
    if !api_version.is_empty() && api_version.matches('/').count() > 1 {
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): unexpected GroupVersion string: {api_version} \
             ({})",
            resource.kind,
            quoted(body)
        )));
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let same_kind = kind.is_empty() || *kind == *resource.kind;
    if !kind.is_empty() && !same_kind && resource.custom.is_none() {
        let known = schema::builtin().root(&api_version, &kind).is_some();
        let why = if known {
            let target = if resource.group.is_empty() { "core" } else { short_group(&resource.group) };
            format!("converting ({version}.{kind}) to ({target}.{}): unknown conversion", resource.kind)
        } else {
            format!(
                "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
            )
        };
        return Err(ApiError::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {}: {why}",
            resource.kind
        )));
    }
    if !same_kind {
        let cause =
            Cause::invalid("kind", &Value::String(kind.clone()), &format!("must be {}", resource.kind));
        let name = object.get("metadata").and_then(|m| m.get("name")).and_then(Value::as_str).unwrap_or("");
        return Err(ApiError::invalid(
            crate::status::About { kind: &kind, ..resource.about() },
            name,
            vec![cause],
        ));
    }
    if !api_version.is_empty() && api_version != expected {
        if group != &*resource.group && !kind.is_empty() && resource.custom.is_none() {
            return Err(ApiError::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {}: no kind \"{kind}\" is registered for \
                 version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\"",
                resource.kind
            )));
        }
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    object.insert("apiVersion".to_owned(), Value::String(expected));
    object.insert("kind".to_owned(), Value::String(resource.kind.to_string()));
    Ok(())
}

fn short_group(group: &str) -> &str {
    group.split('.').next().unwrap_or(group)
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The beginning of a body, as errors show it: text that starts like JSON as text, anything else in hex.
fn quoted(body: &[u8]) -> String {
    if body.is_empty() {
        return "<empty>".to_owned();
    }
    let start = &body[..body.len().min(QUOTED_BYTES)];
    let more = if body.len() > QUOTED_BYTES { " ..." } else { "" };
    if body.first() == Some(&b'{') {
        format!("{}{more}", String::from_utf8_lossy(start))
    } else {
        let hex: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}{more}")
    }
}
