//! From the bytes of a request to an object of the right kind.

use bytes::Bytes;
use serde_json::Value;

use super::json;
use crate::kinds::Resource;
use crate::schema;
use crate::status::{ApiError, Cause};
use crate::yaml;

/// The media types that a body may have.
const BODY_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// The media types of custom resources, whose fields have no numbers.
const CUSTOM_BODY_TYPES: &str = "application/json, application/yaml";

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// How much of an unreadable body an error quotes.
const QUOTED_BYTES: usize = 30;

/// The bytes that an object was read from: what is unusual about them is said to those who want to know.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// JSON; empty for other formats.
    pub(crate) json: Bytes,
    /// Some object in it has a field twice.
    pub(crate) repeats: bool,
    /// What YAML readers say about fields that are there twice.
    pub(crate) yaml_problem: Option<String>,
}

impl Document {
    /// What is unusual about a merge patch, which has the shape of the object.
    pub(super) fn of_patch(body: &Bytes) -> Self {
        let repeats = json::parse(body).is_ok_and(|parsed| parsed.repeats);
        Self { json: body.clone(), repeats, yaml_problem: None }
    }
}

/// Reads the object in a request's body and checks that it says it is of this kind.
pub(crate) fn object(
    resource: &Resource,
    content_type: &str,
    body: &Bytes,
) -> Result<(Value, Document), ApiError> {
    if resource.custom.is_some() && media_type(content_type) == PROTOBUF {
        return Err(ApiError::unsupported_media_type(CUSTOM_BODY_TYPES));
    }
    let mut document = Document { json: Bytes::new(), repeats: false, yaml_problem: None };
    let mut value = match media_type(content_type) {
        "" | "application/json" | "*/*" => {
            let parsed = json::parse(body).map_err(|why| unrecognized(&resource.kind, &why, body))?;
            document.json = body.clone();
            document.repeats = parsed.repeats;
            parsed.value
        }
        _ => parse_as(&resource.api_version(), &resource.kind, content_type, body)?,
    };
    if is_yaml(content_type) {
        document.yaml_problem = repeated_in_yaml(body);
    }
    if value.is_null() && resource.custom.is_none() {
        value = Value::Object(serde_json::Map::new());
    }
    check_type(resource, &mut value, body)?;
    if resource.custom.is_some() {
        whole_numbers(&mut value);
    }
    Ok((value, document))
}

/// Reads JSON, YAML or protobuf, by the content type.
pub(crate) fn parse(kind: &str, content_type: &str, body: &[u8]) -> Result<Value, ApiError> {
    parse_as("v1", kind, content_type, body)
}

fn parse_as(api_version: &str, kind: &str, content_type: &str, body: &[u8]) -> Result<Value, ApiError> {
    match media_type(content_type) {
        "" | "application/json" | "*/*" => {
            json::parse(body).map(|parsed| parsed.value).map_err(|why| unrecognized(kind, &why, body))
        }
        _ if is_yaml(content_type) => yaml::parse(body).map_err(|why| {
            ApiError::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): yaml: {why} ({})",
                quoted(body)
            ))
        }),
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

/// What is said of YAML that has the same key twice; none if it has not.
pub(super) fn repeated_in_yaml(body: &[u8]) -> Option<String> {
    let (line, key) = yaml::repeated_key(body)?;
    Some(format!("yaml: unmarshal errors:\n  line {line}: key \"{key}\" already set in map"))
}

fn is_yaml(content_type: &str) -> bool {
    matches!(media_type(content_type), "application/yaml" | "application/x-yaml" | "text/yaml")
}

fn unrecognized(kind: &str, why: &str, body: &[u8]) -> ApiError {
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: \
         {why} ({})",
        quoted(body)
    ))
}

/// Custom resources have no types to tell 1.0 from 1: what is whole is written whole.
fn whole_numbers(value: &mut Value) {
    /// Up to here every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(list) => list.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)
            {
                // Whole and small enough to be exact.
                *value = Value::from(float as i64);
            }
        }
        _ => {}
    }
}

/// A content type without its parameters.
fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or("").trim()
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
        let why = other_kind(resource, &api_version, &kind);
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
    if let Some(metadata) =
        object.get("metadata").filter(|metadata| !metadata.is_object() && !metadata.is_null())
    {
        let into = match resource.custom {
            Some(_) => "Go value".to_owned(),
            None => format!("Go struct field {}.metadata", resource.kind),
        };
        let why = format!("json: cannot unmarshal {} into {into} of type v1.ObjectMeta", json_type(metadata));
        return Err(cannot_be_handled(resource, &why));
    }
    object.insert("apiVersion".to_owned(), Value::String(expected));
    object.insert("kind".to_owned(), Value::String(resource.kind.to_string()));
    Ok(())
}

/// The error about a body that is of the right kind, but not of its shape.
pub(super) fn cannot_be_handled(resource: &Resource, why: &str) -> ApiError {
    let (kind, version) = (&resource.kind, &resource.version);
    ApiError::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
}

/// Why an object that says it is of another built-in kind cannot be one of this kind.
pub(super) fn other_kind(resource: &Resource, api_version: &str, kind: &str) -> String {
    if schema::builtin().root(api_version, kind).is_none() {
        return format!(
            "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
        );
    }
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let target = if resource.group.is_empty() { "core" } else { short_group(&resource.group) };
    format!("converting ({version}.{kind}) to ({target}.{}): unknown conversion", resource.kind)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An envelope of type and fields, which are too short to need lengths of more than a byte.
    fn protobuf(api_version: &str, kind: &str, fields: &[u8]) -> Vec<u8> {
        let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [b"k8s\0".to_vec(), field(1, &meta), field(2, fields)].concat()
    }

    #[test]
    fn protobuf_is_read_by_its_media_type() {
        let body = protobuf("apps/v1", "DeleteOptions", &[0x08, 5]);
        let options = json!({"apiVersion": "apps/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 5});
        for content_type in [PROTOBUF, "application/vnd.kubernetes.protobuf; charset=utf-8"] {
            assert_eq!(parse("DeleteOptions", content_type, &body).ok(), Some(options.clone()));
        }
        let error = parse("DeleteOptions", "application/cbor", &body).expect_err("not a body type");
        assert_eq!((error.code, error.reason), (415, "UnsupportedMediaType"));
    }

    /// Messages as Kubernetes 1.37 gives them.
    #[test]
    fn unreadable_protobuf_is_a_bad_request() {
        let message = |kind: &str, body: &[u8]| {
            let error = parse(kind, PROTOBUF, body).expect_err("unreadable");
            assert_eq!((error.code, error.reason), (400, "BadRequest"));
            error.message
        };
        assert_eq!(
            message("ConfigMap", b"hello"),
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a \
             protobuf message, expected prefix [107 56 115 0] (68656c6c6f)"
        );
        assert_eq!(
            message("ConfigMap", &protobuf("v1", "ConfigMap", &[0x0a, 0x55])),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: unexpected EOF"
        );
        assert_eq!(
            message("ConfigMap", &protobuf("x/v9", "ConfigMap", &[])),
            "ConfigMap in version \"v9\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for \
             version \"x/v9\" in scheme \"pkg/runtime/scheme.go:111\""
        );
        assert_eq!(message("DeleteOptions", b"k8s\0"), "empty body");
    }
}
