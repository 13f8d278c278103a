//! What requests do: read, watch, create, update, patch and delete.

mod conform;
mod create;
mod decode;
mod defaults;
mod delete;
mod json;
mod metadata;
mod patch;
mod qos;
mod read;
mod review;
mod rules;
mod subresource;
mod update;
mod watch;

pub(crate) use create::create_object;
use decode::Document;
pub(crate) use delete::{DeleteOptions, Propagation, delete_object};
pub(crate) use update::{Change, live_object, update_object};

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::access::User;
use crate::cluster::Cluster;
use crate::faults::Plan;
use crate::http::{Body, Encoding, Form, Query, reply};
use crate::kinds::{Resource, Verb};
use crate::represent::View;
use crate::status::ApiError;

/// A request for a resource that exists, by somebody who may ask.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) verb: Verb,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    pub(crate) query: Query,
    pub(crate) form: Form,
    pub(crate) encoding: Encoding,
    pub(crate) user: User,
    pub(crate) user_agent: String,
    pub(crate) content_type: String,
    /// The client takes compressed answers.
    pub(crate) gzip: bool,
    pub(crate) body: Bytes,
    pub(crate) plan: Plan,
    /// Breaks the connection.
    pub(crate) cut: CancellationToken,
}

impl Call {
    /// The resource in the form that the client asked for.
    pub(crate) fn view(&self) -> View {
        View::new(&self.resource, (self.form, self.encoding), &self.query, self.cluster.clock.now())
    }

    /// An answer with something that says what it is, and is no object of the resource.
    pub(crate) fn value(&self, code: u16, value: &Value) -> Response<Body> {
        reply::value(code, self.encoding, value)
    }
}

pub(crate) async fn dispatch(call: Call) -> Result<Response<Body>, ApiError> {
    if !call.subresource.is_empty() && call.subresource != "status" {
        return subresource::dispatch(&call).await;
    }
    match call.verb {
        Verb::Get => read::get(&call).await,
        Verb::List => read::list(call).await,
        Verb::Watch => watch::watch(call).await,
        Verb::Create if review::is_review(&call.resource) => review::review(&call),
        Verb::Create => create::create(&call),
        Verb::Update => update::update(&call),
        Verb::Patch => patch::patch(&call),
        Verb::Delete => delete::delete(&call),
        Verb::DeleteCollection => delete::delete_collection(&call).await,
    }
}

/// How a write is to be done: who writes, through which endpoint, and what becomes of unknown fields.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) endpoint: Endpoint,
    /// The field manager.
    pub(crate) manager: String,
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// What the client sent, where that is the object itself.
    pub(crate) document: Option<Document>,
}

/// The part of an object that a write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Main,
    Status,
    /// `spec.replicas` through the scale subresource.
    Scale,
    /// `spec.finalizers` of a namespace.
    Finalize,
    /// The node of a pod, which nobody owns and which is no new wish.
    Binding,
    /// Everything, status included: for seeds and the server's own writes.
    Whole,
}

impl Endpoint {
    /// The name in `managedFields`.
    pub(crate) fn subresource(self) -> &'static str {
        match self {
            Endpoint::Main | Endpoint::Whole | Endpoint::Binding => "",
            Endpoint::Status => "status",
            Endpoint::Scale => "scale",
            Endpoint::Finalize => "finalize",
        }
    }
}

/// What becomes of fields that the kind does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The longest name of a field manager.
const MAX_MANAGER_BYTES: usize = 128;

impl WriteOptions {
    /// Reads the options of a request; `kind` is what Kubernetes calls them.
    fn of(call: &Call, kind: &str) -> Result<Self, ApiError> {
        let validation = match call.query.get("fieldValidation") {
            None | Some("" | "Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                let message = format!(
                    "Unsupported value: \"{other}\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
                );
                let reason = "FieldValueNotSupported";
                return Err(crate::http::invalid_options(kind, reason, "fieldValidation", &message));
            }
        };
        let manager = match call.query.get("fieldManager") {
            Some(name) if !name.is_empty() => check_manager(name, kind)?.to_owned(),
            _ => default_manager(&call.user_agent),
        };
        Ok(Self {
            endpoint: if call.subresource == "status" { Endpoint::Status } else { Endpoint::Main },
            manager,
            dry_run: call.query.dry_run(kind)?,
            validation,
            document: None,
        })
    }

    /// The server's own writes.
    pub(crate) fn internal(manager: &str) -> Self {
        Self {
            endpoint: Endpoint::Whole,
            manager: manager.to_owned(),
            dry_run: false,
            validation: FieldValidation::Ignore,
            document: None,
        }
    }
}

fn check_manager<'a>(name: &'a str, kind: &str) -> Result<&'a str, ApiError> {
    if name.len() > MAX_MANAGER_BYTES {
        let message = format!("Too long: may not be more than {MAX_MANAGER_BYTES} bytes");
        return Err(crate::http::invalid_options(kind, "FieldValueTooLong", "fieldManager", &message));
    }
    if let Some((at, bad)) = name.char_indices().find(|(_, c)| c.is_control()) {
        let message =
            format!("Invalid value: {name:?}: invalid character U+{:04X} (at position {at})", u32::from(bad));
        return Err(crate::http::invalid_options(kind, "FieldValueInvalid", "fieldManager", &message));
    }
    Ok(name)
}

/// Without a name, the first word of the user agent owns what is written.
fn default_manager(user_agent: &str) -> String {
    let name = user_agent.split('/').next().unwrap_or("");
    if name.is_empty() { "unknown".to_owned() } else { name.chars().take(MAX_MANAGER_BYTES).collect() }
}

/// Adds warnings to an answer.
fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    reply::warn(&mut response, warnings);
    response
}
