//! What is special about a kind: what the server adds to new objects, keeps from old ones, and resets.

use serde_json::{Map, Value, json};

use super::{Endpoint, defaults, metadata, qos};
use crate::apply::ResetFields;
use crate::cluster::Cluster;
use crate::crds;
use crate::kinds::{Resource, Selectable};
use crate::status::{ApiError, Cause};

/// Kinds whose status is kept when they are created, though it has a subresource.
const STATUS_ON_CREATE: [&str; 1] = ["nodes"];

/// The JSON pointer to the QoS class of a pod.
const CLASS: &str = "/status/qosClass";

/// Completes a new object.
pub(crate) fn before_create(
    cluster: &Cluster,
    resource: &Resource,
    endpoint: Endpoint,
    object: &mut Value,
) -> Result<(), ApiError> {
    if resource.traits.status
        && endpoint != Endpoint::Whole
        && !STATUS_ON_CREATE.contains(&&*resource.plural)
        && let Value::Object(fields) = object
    {
        fields.remove("status");
        defaults::status(resource, fields);
    }
    if resource.custom.is_some() {
        return Ok(());
    }
    match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => {
            let name = metadata::text(object, "name").to_owned();
            if !name.is_empty() {
                object["metadata"]["labels"]["kubernetes.io/metadata.name"] = json!(name);
            }
            object["spec"]["finalizers"] = json!(["kubernetes"]);
            start_in_phase(object, "Active");
        }
        ("", "pods") => {
            start_in_phase(object, "Pending");
            let class = qos::class(&object["spec"]);
            set_class(object, &json!(class));
        }
        ("", "persistentvolumes" | "persistentvolumeclaims") => start_in_phase(object, "Pending"),
        ("", "secrets") => complete_secret(object),
        ("apiextensions.k8s.io", "customresourcedefinitions") => crds::complete(cluster, object)?,
        _ => {}
    }
    Ok(())
}

/// Takes from the old object what this endpoint does not write.
pub(crate) fn before_update(resource: &Resource, endpoint: Endpoint, old: &Value, new: &mut Value) {
    match endpoint {
        Endpoint::Main => {
            if resource.traits.status {
                take(old, new, "status");
            }
            if resource.is("", "secrets") {
                complete_secret(new);
            }
            if resource.is("", "namespaces") {
                // Only the finalize subresource changes these.
                let finalizers = old.pointer("/spec/finalizers").cloned();
                match finalizers {
                    Some(finalizers) => new["spec"]["finalizers"] = finalizers,
                    None => take(old, new, "spec"),
                }
            }
        }
        Endpoint::Status if resource.custom.is_some() => keep_all_but(old, new, "status"),
        Endpoint::Status => {
            // Most built-in kinds take metadata through their status, too.
            let metadata = new.get("metadata").cloned();
            keep_all_but(old, new, "status");
            if let Some(mut metadata) = metadata {
                if &*resource.kind == "Deployment"
                    && let Some(labels) = old.pointer("/metadata/labels")
                {
                    metadata["labels"] = labels.clone();
                }
                new["metadata"] = metadata;
            }
            keep_class(resource, old, new);
        }
        Endpoint::Scale | Endpoint::Binding => {}
        Endpoint::Whole => keep_class(resource, old, new),
        Endpoint::Finalize => {
            keep_all_but(old, new, "spec");
            if let Some(Value::Object(spec)) = new.get_mut("spec") {
                spec.retain(|field, value| {
                    field != "finalizers" || value.as_array().is_none_or(|list| !list.is_empty())
                });
            }
        }
    }
}

/// What a client may not change after creation.
pub(crate) fn forbidden_changes(
    resource: &Resource,
    endpoint: Endpoint,
    old: &Value,
    new: &Value,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    if endpoint == Endpoint::Status && resource.is("", "pods") {
        let [before, after] = [old, new].map(|pod| pod.pointer(CLASS).unwrap_or(&Value::Null));
        if before != after && !before.is_null() {
            causes.push(Cause::invalid("status.qosClass", after, "field is immutable"));
        }
    }
    if endpoint != Endpoint::Main || resource.custom.is_some() {
        return causes;
    }
    match (&*resource.group, &*resource.plural) {
        ("", "configmaps" | "secrets") if old.get("immutable") == Some(&Value::Bool(true)) => {
            let why = "field is immutable when `immutable` is set";
            if new.get("immutable") != old.get("immutable") {
                causes.push(Cause::forbidden("immutable", why));
            }
            for field in ["data", "binaryData"] {
                if new.get(field) != old.get(field) {
                    causes.push(Cause::forbidden(field, why));
                }
            }
        }
        ("apps", "deployments" | "replicasets" | "daemonsets") => {
            let (before, after) = (old.pointer("/spec/selector"), new.pointer("/spec/selector"));
            if before != after {
                causes.push(Cause::invalid(
                    "spec.selector",
                    after.unwrap_or(&Value::Null),
                    "field is immutable",
                ));
            }
        }
        _ => {}
    }
    causes
}

/// Adds one to the generation if the desired state changed.
pub(crate) fn count_generation(resource: &Resource, endpoint: Endpoint, old: &Value, new: &mut Value) {
    if !resource.traits.generation || matches!(endpoint, Endpoint::Status | Endpoint::Binding) {
        return;
    }
    let (Value::Object(before), Value::Object(after)) = (old, &*new) else { return };
    let counted = |key: &&String| *key != "metadata" && !(resource.traits.status && *key == "status");
    let changed = before.keys().filter(counted).any(|key| before.get(key) != after.get(key))
        || after.keys().filter(counted).any(|key| !before.contains_key(key));
    if changed {
        let next = metadata::generation(old) + 1;
        metadata::of(new).insert("generation".to_owned(), json!(next));
    }
}

/// Nothing holds a deleted object any more.
pub(crate) fn may_go(object: &Value) -> bool {
    let grace = object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    let held = object.get("kind").is_some_and(|kind| kind == "Namespace")
        && object.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    metadata::finalizers(object).is_empty() && grace == 0 && !held
}

/// The fields that an endpoint does not write, and which nobody owns through it.
pub(crate) fn reset_fields(resource: &Resource, endpoint: Endpoint) -> ResetFields {
    match endpoint {
        // The server sets the finalizers, after it has worked out who owns what.
        Endpoint::Main if resource.is("", "namespaces") => {
            ResetFields::new(&[&["status"], &["spec", "finalizers"]])
        }
        Endpoint::Main if resource.traits.status => ResetFields::of_object(),
        Endpoint::Status if resource.custom.is_some() => ResetFields::of_custom_status(),
        Endpoint::Status => ResetFields::of_status(&resource.kind),
        _ => ResetFields::none(),
    }
}

/// The value of a selectable field, as selectors compare it.
pub(crate) fn field_text(object: &Map<String, Value>, field: &Selectable) -> String {
    let text = match value_at(object, &field.path) {
        None | Some(Value::Null) => field.absent.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    match value_at(object, &field.fallback) {
        Some(Value::String(fallback)) if text.is_empty() => fallback.clone(),
        _ => text,
    }
}

fn value_at<'a>(object: &'a Map<String, Value>, path: &[Box<str>]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.get(&**first)?, |value, step| value.get(&**step))
}

/// New objects are in this phase, unless a seed says otherwise.
fn start_in_phase(object: &mut Value, phase: &str) {
    if !object["status"].is_object() {
        object["status"] = json!({"phase": phase});
    }
}

/// Keeps the QoS class of a pod whose new status has none.
fn keep_class(resource: &Resource, old: &Value, new: &mut Value) {
    if let Some(class) = old.pointer(CLASS).filter(|_| resource.is("", "pods")) {
        set_class(new, class);
    }
}

/// Sets the QoS class of a pod that has none.
fn set_class(pod: &mut Value, class: &Value) {
    if !pod["status"].is_object() {
        pod["status"] = json!({});
    }
    if pod.pointer(CLASS).is_none_or(Value::is_null) {
        pod["status"]["qosClass"] = class.clone();
    }
}

fn take(old: &Value, new: &mut Value, field: &str) {
    let Value::Object(fields) = new else { return };
    match old.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

/// Keeps the old object but for one field, and for who owns what.
fn keep_all_but(old: &Value, new: &mut Value, field: &str) {
    let written = new.get(field).cloned();
    let owners = new.get("metadata").and_then(|metadata| metadata.get("managedFields")).cloned();
    let version = new.get("metadata").and_then(|metadata| metadata.get("resourceVersion")).cloned();
    *new = old.clone();
    if let Value::Object(fields) = new {
        match written {
            Some(written) => fields.insert(field.to_owned(), written),
            None => fields.remove(field),
        };
    }
    let metadata = metadata::of(new);
    for (key, value) in [("managedFields", owners), ("resourceVersion", version)] {
        match value {
            Some(value) => metadata.insert(key.to_owned(), value),
            None => metadata.remove(key),
        };
    }
}

/// `stringData` is for writing only: it ends up in `data`, in base64.
fn complete_secret(object: &mut Value) {
    use base64::Engine;
    let Value::Object(fields) = object else { return };
    if let Some(Value::Object(plain)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        for (key, value) in plain {
            let encoded = base64::engine::general_purpose::STANDARD.encode(value.as_str().unwrap_or(""));
            data[key] = Value::String(encoded);
        }
    }
    fields.entry("type").or_insert_with(|| json!("Opaque"));
}
