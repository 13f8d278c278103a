//! Errors as Kubernetes says them: an HTTP code and a `Status` object with reason, message and details.

use std::fmt;

use serde_json::{Map, Value, json};

/// An error that is sent to the client as a `Status` object.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) code: u16,
    /// `NotFound`, `Conflict`, …: what clients decide by.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// In a box, because every fallible function carries the size of its error.
    pub(crate) details: Option<Box<Details>>,
    /// `metadata.continue`, which only an expired page has.
    pub(crate) continue_token: Option<String>,
}

/// What a `Status` says beyond its message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    pub(crate) name: String,
    pub(crate) group: String,
    /// The plural name of the resource, or the kind for invalid objects.
    pub(crate) kind: String,
    pub(crate) uid: String,
    pub(crate) causes: Vec<Cause>,
    pub(crate) retry_after_seconds: Option<u32>,
}

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// `FieldValueInvalid`, `FieldValueRequired`, `FieldManagerConflict`, …; may be empty.
    pub(crate) reason: &'static str,
    /// What is wrong, without the field's path.
    pub(crate) message: String,
    /// The path, for example `spec.replicas`; may be empty.
    pub(crate) field: String,
}

/// The resource an error is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
    pub(crate) kind: &'a str,
}

impl About<'_> {
    /// `deployments.apps`, or `pods` in the core group.
    fn qualified(&self) -> String {
        qualify(self.plural, self.group)
    }

    fn details(&self, name: &str) -> Option<Box<Details>> {
        Some(Box::new(Details {
            name: name.to_owned(),
            group: self.group.to_owned(),
            kind: self.plural.to_owned(),
            ..Details::default()
        }))
    }
}

fn qualify(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

impl ApiError {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, continue_token: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(about: About<'_>, name: &str, why: &str) -> Self {
        let subject = if about.plural.is_empty() {
            "forbidden: ".to_owned()
        } else if name.is_empty() {
            format!("{} is forbidden: ", about.qualified())
        } else {
            format!("{} \"{name}\" is forbidden: ", about.qualified())
        };
        Self { details: about.details(name), ..Self::new(403, "Forbidden", subject + why) }
    }

    /// A path that no handler serves.
    pub(crate) fn no_such_path() -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::new(404, "NotFound", "the server could not find the requested resource")
        }
    }

    pub(crate) fn not_found(about: About<'_>, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", about.qualified());
        Self { details: about.details(name), ..Self::new(404, "NotFound", message) }
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::new(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )
        }
    }

    /// A custom resource's path that knows the method, but not for this subresource.
    pub(crate) fn method_not_supported(about: About<'_>, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{}\"", about.qualified());
        Self { details: about.details(""), ..Self::new(405, "MethodNotAllowed", message) }
    }

    pub(crate) fn not_acceptable(why: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", why)
    }

    /// A path whose answers have one media type, which the client does not accept.
    pub(crate) fn no_such_representation(media_type: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {media_type}");
        Self { details: Some(Box::default()), ..Self::not_acceptable(message) }
    }

    pub(crate) fn already_exists(about: About<'_>, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", about.qualified());
        Self { details: about.details(name), ..Self::new(409, "AlreadyExists", message) }
    }

    pub(crate) fn conflict(about: About<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", about.qualified());
        Self { details: about.details(name), ..Self::new(409, "Conflict", message) }
    }

    /// Somebody else wrote the object since the version the client had.
    pub(crate) fn modified(about: About<'_>, name: &str) -> Self {
        Self::conflict(
            about,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// The version is no longer in the history.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn body_too_large(limit: usize) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}"))
    }

    /// A patch type that a built-in kind does not know.
    pub(crate) fn unsupported_patch_type() -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
        }
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: {accepted}"
            ),
        )
    }

    pub(crate) fn invalid(about: About<'_>, name: &str, causes: Vec<Cause>) -> Self {
        let each: Vec<String> = causes.iter().map(Cause::to_string).collect();
        let list = match &each[..] {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} \"{name}\" is invalid: {list}", qualify(about.kind, about.group));
        Self {
            details: Some(Box::new(Details {
                name: name.to_owned(),
                group: about.group.to_owned(),
                kind: about.kind.to_owned(),
                causes,
                ..Details::default()
            })),
            ..Self::new(422, "Invalid", message)
        }
    }

    /// The request was not there in time.
    pub(crate) fn timeout() -> Self {
        let message = "Timeout: request did not complete within the allotted timeout";
        Self { details: Some(Box::default()), ..Self::new(504, "Timeout", message) }
    }

    pub(crate) fn too_many_requests(retry_after_seconds: u32) -> Self {
        Self {
            details: Some(Box::new(Details {
                retry_after_seconds: Some(retry_after_seconds),
                ..Details::default()
            })),
            ..Self::new(
                429,
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            )
        }
    }

    pub(crate) fn internal(why: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {why}");
        let cause = Cause { reason: "", message: why.to_string(), field: String::new() };
        Self {
            details: Some(Box::new(Details { causes: vec![cause], ..Details::default() })),
            ..Self::new(500, "InternalError", message)
        }
    }

    /// A client asked for a version that has not happened yet.
    pub(crate) fn version_too_large(asked: u64, current: u64) -> Self {
        let cause = Cause {
            reason: "ResourceVersionTooLarge",
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        Self {
            details: Some(Box::new(Details {
                causes: vec![cause],
                retry_after_seconds: Some(1),
                ..Details::default()
            })),
            ..Self::new(
                504,
                "Timeout",
                format!("Timeout: Too large resource version: {asked}, current: {current}"),
            )
        }
    }

    /// The `Status` object.
    pub(crate) fn to_status(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".to_owned(), json!(token));
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.to_value();
        }
        status
    }

    /// What the `Retry-After` header says.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        self.details.as_ref()?.retry_after_seconds
    }
}

impl Details {
    /// The JSON form; empty parts are left out.
    pub(crate) fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, text) in
            [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)]
        {
            if !text.is_empty() {
                out.insert(key.to_owned(), json!(text));
            }
        }
        if !self.causes.is_empty() {
            let causes: Vec<Value> = self.causes.iter().map(Cause::to_value).collect();
            out.insert("causes".to_owned(), Value::Array(causes));
        }
        if let Some(seconds) = self.retry_after_seconds {
            out.insert("retryAfterSeconds".to_owned(), json!(seconds));
        }
        Value::Object(out)
    }
}

impl Cause {
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {value}: {detail}"),
            field: field.into(),
        }
    }

    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message =
            if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {detail}"), field: field.into() }
    }

    fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, text) in
            [("reason", self.reason), ("message", self.message.as_str()), ("field", self.field.as_str())]
        {
            if !text.is_empty() {
                out.insert(key.to_owned(), json!(text));
            }
        }
        Value::Object(out)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.message, self.code, self.reason)
    }
}

impl std::error::Error for ApiError {}
