//! Delete: at once, after a grace period, or when the last finalizer is gone.

use std::sync::Arc;

use http::Response;
use serde_json::{Value, json};

use super::create::draft;
use super::read::{listed, object_reply};
use super::update::live_object;
use super::{Call, decode, metadata, rules};
use crate::clock::timestamp_text;
use crate::cluster::Cluster;
use crate::crds;
use crate::http::{Body, Query, invalid_options};
use crate::kinds::Resource;
use crate::represent::list_reply;
use crate::status::{About, ApiError, Details};
use crate::storage::{Expect, Mismatch, Stored, object_key};

/// How often a deletion is tried again when somebody else was faster.
const TRIES: usize = 10_000;

/// Namespaces that cannot be deleted.
const IMMORTAL_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

/// What becomes of an object's dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// How an object is to be deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) dry_run: bool,
}

/// What is left after a deletion.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// Nothing: this was its last state.
    Gone(Arc<Stored>),
    /// The object stays until its finalizers or its grace period are over.
    Pending(Arc<Stored>),
}

impl DeleteOptions {
    /// Reads the options from the body, or from the query if there is no body.
    fn of(call: &Call) -> Result<Self, ApiError> {
        if call.body.is_empty() {
            return Self::from_query(&call.query);
        }
        let content_type = call.content_type.as_str();
        let value = decode::parse("DeleteOptions", content_type, &call.body).map_err(|error| match error
            .message
            .split_once("couldn't get version/kind")
        {
            Some((_, rest)) => {
                let rest = rest.rsplit_once(" (").map_or(rest, |(rest, _)| rest);
                ApiError::bad_request(format!("couldn't get version/kind{rest}"))
            }
            None => error,
        })?;
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let (kind, version) = (text("kind").unwrap_or("DeleteOptions"), text("apiVersion").unwrap_or("v1"));
        if kind != "DeleteOptions" {
            return Err(ApiError::bad_request(format!(
                "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
            )));
        }
        let dry_run = match value.get("dryRun") {
            Some(Value::Array(list)) if !list.is_empty() => {
                if list.iter().any(|entry| entry != "All") {
                    let message = format!(
                        "Unsupported value: {}: supported values: \"All\"",
                        Value::Array(list.clone())
                    );
                    return Err(invalid_options(
                        "DeleteOptions",
                        "FieldValueNotSupported",
                        "dryRun",
                        &message,
                    ));
                }
                true
            }
            _ => false,
        };
        let precondition = |field: &str| {
            value.pointer(&format!("/preconditions/{field}")).and_then(Value::as_str).map(str::to_owned)
        };
        Ok(Self {
            grace_period_seconds: value.get("gracePeriodSeconds").and_then(Value::as_i64),
            propagation: propagation(
                text("propagationPolicy"),
                value.get("orphanDependents").and_then(Value::as_bool),
            )?,
            uid: precondition("uid"),
            version: precondition("resourceVersion"),
            dry_run,
        })
    }

    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let grace = match query.get("gracePeriodSeconds") {
            None | Some("") => None,
            Some(text) => Some(text.parse::<i64>().map_err(|_| {
                ApiError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"))
            })?),
        };
        let orphan = query.get("orphanDependents").map(|_| query.flag("orphanDependents"));
        Ok(Self {
            grace_period_seconds: grace,
            propagation: propagation(query.get("propagationPolicy"), orphan)?,
            uid: None,
            version: None,
            dry_run: query.dry_run("DeleteOptions")?,
        })
    }
}

pub(crate) fn delete(call: &Call) -> Result<Response<Body>, ApiError> {
    let options = DeleteOptions::of(call)?;
    let deleted = delete_object(&call.cluster, &call.resource, &call.namespace, &call.name, &options)?;
    match deleted {
        Deleted::Gone(last) if !call.resource.traits.returns_deleted => {
            let details = Details {
                name: call.name.clone(),
                group: call.resource.group.to_string(),
                kind: call.resource.plural.to_string(),
                uid: uid_of(&last),
                ..Details::default()
            };
            Ok(call.value(
                200,
                &json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {},
                    "status": "Success", "details": details.to_value(),
                }),
            ))
        }
        Deleted::Gone(object) | Deleted::Pending(object) => object_reply(call, 200, &object),
    }
}

pub(crate) async fn delete_collection(call: &Call) -> Result<Response<Body>, ApiError> {
    let options = DeleteOptions::of(call)?;
    // What a list with the same parameters shows: a page of it, if it has a limit.
    let (meta, items) = listed(call).await?;
    for item in &items {
        match delete_object(&call.cluster, &call.resource, item.namespace(), item.name(), &options) {
            Ok(Deleted::Gone(_) | Deleted::Pending(_)) => {}
            // Somebody else was faster; the wish is fulfilled.
            Err(error) if error.reason == "NotFound" => {}
            Err(error) => return Err(error),
        }
    }
    // The answer shows the objects as they were before.
    list_reply(call.view(), &meta, items, call.gzip).await
}

/// Deletes an object, or marks it for deletion.
pub(crate) fn delete_object(
    cluster: &Arc<Cluster>,
    resource: &Arc<Resource>,
    namespace: &str,
    name: &str,
    options: &DeleteOptions,
) -> Result<Deleted, ApiError> {
    if resource.is("", "namespaces") && IMMORTAL_NAMESPACES.contains(&name) {
        return Err(ApiError::forbidden(resource.about(), name, "this namespace may not be deleted"));
    }
    let _definitions = crds::lock(cluster, resource);
    let key = object_key(namespace, name);
    for _ in 0..TRIES {
        let Some(current) = cluster.store.get(resource.table, &key) else {
            return Err(ApiError::not_found(resource.about(), name));
        };
        let live = live_object(resource, &current);
        check_preconditions(resource, name, &live, &current, options)?;
        let mut marked = live.clone();
        mark(cluster, resource, &mut marked, options);
        let gone = rules::may_go(&marked);
        let expect = Expect::Version(current.version());
        if !gone && marked == live {
            return Ok(Deleted::Pending(current));
        }
        let draft = draft(resource, namespace, name, marked);
        if options.dry_run {
            let preview = Arc::new(Stored::preview(draft, Some(current.version())));
            return Ok(if gone { Deleted::Gone(preview) } else { Deleted::Pending(preview) });
        }
        let written = match gone {
            // Pods are marked even if nothing holds them, in a step of its own that watches see.
            true if resource.is("", "pods") => {
                cluster.store.put(resource.table, draft, expect).and_then(|marked| {
                    cluster.store.remove(resource.table, &key, Expect::Version(marked.version()))
                })
            }
            true => cluster.store.remove(resource.table, &key, expect),
            false => cluster.store.put(resource.table, draft, expect),
        };
        let written = written.map(if gone { Deleted::Gone } else { Deleted::Pending });
        match written {
            Ok(deleted) => {
                match &deleted {
                    Deleted::Gone(_) => crds::after_removal(cluster, resource),
                    Deleted::Pending(_) => crds::after_marking(cluster, resource, name),
                }
                return Ok(deleted);
            }
            Err(Mismatch::Missing) => return Err(ApiError::not_found(resource.about(), name)),
            Err(Mismatch::Changed | Mismatch::Exists) => {}
        }
    }
    Err(ApiError::modified(resource.about(), name))
}

fn check_preconditions(
    resource: &Resource,
    name: &str,
    live: &Value,
    current: &Stored,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    // Kubernetes names the kind here, not the resource.
    let about = About { plural: &resource.kind, ..resource.about() };
    let found = metadata::text(live, "uid");
    if let Some(uid) = &options.uid
        && uid != found
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({found}). The object might have \
             been deleted and then recreated"
        );
        return Err(ApiError::conflict(about, name, &why));
    }
    if let Some(version) = &options.version
        && *version != current.version().to_string()
    {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
             The object might have been modified",
            current.version()
        );
        return Err(ApiError::conflict(about, name, &why));
    }
    Ok(())
}

/// Sets the time of deletion, the grace period and the finalizers that the propagation asks for.
fn mark(cluster: &Cluster, resource: &Resource, object: &mut Value, options: &DeleteOptions) {
    let grace = grace_period(resource, object, options);
    let already = metadata::is_deleting(object);
    let old_grace =
        object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    if resource.is("", "namespaces") && object.get("status").is_some() {
        object["status"]["phase"] = json!("Terminating");
    }
    if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        crds::hold(cluster, object);
    }
    propagate(object, options.propagation);
    // A grace period can be shortened, never prolonged.
    if !already || grace < old_grace {
        let at = cluster.clock.now().checked_add(jiff::SignedDuration::from_secs(grace));
        let at = timestamp_text(at.unwrap_or(jiff::Timestamp::MAX));
        let generation = metadata::generation(object);
        let fields = metadata::of(object);
        fields.insert("deletionTimestamp".to_owned(), json!(at));
        // These two are deleted in ways of their own, in Kubernetes.
        let plain = !resource.is("", "namespaces")
            && !resource.is("apiextensions.k8s.io", "customresourcedefinitions");
        if plain {
            fields.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
        }
        if plain && !already && generation > 0 {
            fields.insert("generation".to_owned(), json!(generation + 1));
        }
    }
}

/// Only pods take time to stop, and only those that have been given to a node and still run.
fn grace_period(resource: &Resource, object: &Value, options: &DeleteOptions) -> i64 {
    const DEFAULT_GRACE_SECONDS: i64 = 30;
    if !resource.is("", "pods") {
        return 0;
    }
    let asked = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let own = object.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    let unscheduled = object.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or("").is_empty();
    let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or("");
    if unscheduled || matches!(phase, "Succeeded" | "Failed") {
        return 0;
    }
    asked.or(own).unwrap_or(DEFAULT_GRACE_SECONDS)
}

fn propagate(object: &mut Value, propagation: Option<Propagation>) {
    let wanted = match propagation {
        Some(Propagation::Orphan) => Some("orphan"),
        Some(Propagation::Foreground) => Some("foregroundDeletion"),
        Some(Propagation::Background) => None,
        None => return,
    };
    let mut finalizers: Vec<String> = metadata::finalizers(object).into_iter().map(str::to_owned).collect();
    finalizers.retain(|name| !matches!(name.as_str(), "orphan" | "foregroundDeletion"));
    finalizers.extend(wanted.map(str::to_owned));
    let fields = metadata::of(object);
    if finalizers.is_empty() {
        fields.remove("finalizers");
    } else {
        fields.insert("finalizers".to_owned(), json!(finalizers));
    }
}

fn propagation(policy: Option<&str>, orphan: Option<bool>) -> Result<Option<Propagation>, ApiError> {
    let field = "propagationPolicy";
    let policy = match policy {
        None | Some("") => None,
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(other) => {
            let message = format!(
                "Unsupported value: \"{other}\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
            );
            return Err(invalid_options("DeleteOptions", "FieldValueNotSupported", field, &message));
        }
    };
    match (policy, orphan) {
        (Some(_), Some(_)) => {
            let message =
                "Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set";
            Err(invalid_options("DeleteOptions", "FieldValueInvalid", field, message))
        }
        (None, Some(true)) => Ok(Some(Propagation::Orphan)),
        (None, Some(false)) => Ok(Some(Propagation::Background)),
        (policy, None) => Ok(policy),
    }
}

fn uid_of(object: &Stored) -> String {
    let fields = object.object();
    fields.get("metadata").and_then(|m| m.get("uid")).and_then(Value::as_str).unwrap_or("").to_owned()
}
