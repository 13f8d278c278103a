//! Create: a new object, with everything the server adds to it.

use std::sync::Arc;

use http::Response;
use serde_json::{Value, json};

use super::conform::{conform, violations};
use super::read::object_reply;
use super::{Call, Endpoint, WriteOptions, decode, metadata, rules, with_warnings};
use crate::apply::{self, Manager, Operation};
use crate::cluster::Cluster;
use crate::crds;
use crate::http::{Body, parse_version};
use crate::kinds::Resource;
use crate::represent::to_storage;
use crate::status::{About, ApiError};
use crate::storage::{Draft, Expect, Stored, object_key};

/// How often a generated name is drawn again when it is taken.
const GENERATE_NAME_TRIES: usize = 8;

/// A new object, and what a client should be warned of.
pub(crate) type Created = (Arc<Stored>, Vec<String>);

pub(crate) fn create(call: &Call) -> Result<Response<Body>, ApiError> {
    let mut options = WriteOptions::of(call, "CreateOptions")?;
    let (object, document) = decode::object(&call.resource, &call.content_type, &call.body)?;
    options.document = Some(document);
    let (stored, warnings) = create_object(&call.cluster, &call.resource, &call.namespace, object, &options)?;
    Ok(with_warnings(object_reply(call, 201, &stored)?, &warnings))
}

/// Stores a new object; returns it and what a client should be warned of.
pub(crate) fn create_object(
    cluster: &Arc<Cluster>,
    resource: &Arc<Resource>,
    namespace: &str,
    object: Value,
    options: &WriteOptions,
) -> Result<Created, ApiError> {
    store_new(cluster, resource, namespace, object, options, false)
}

/// Stores a new object whose field owners are already worked out: server-side apply.
pub(super) fn create_owned(
    cluster: &Arc<Cluster>,
    resource: &Arc<Resource>,
    namespace: &str,
    object: Value,
    options: &WriteOptions,
) -> Result<Created, ApiError> {
    store_new(cluster, resource, namespace, object, options, true)
}

fn store_new(
    cluster: &Arc<Cluster>,
    resource: &Arc<Resource>,
    namespace: &str,
    mut object: Value,
    options: &WriteOptions,
    owned: bool,
) -> Result<Created, ApiError> {
    place(resource, namespace, &mut object)?;
    let mut warnings = conform(resource, &mut object, options)?;
    warnings.extend(metadata::finalizer_warnings(resource, None, &object));
    if resource.namespaced {
        check_namespace(cluster, resource, namespace, &object)?;
    }
    let _definitions = crds::lock(cluster, resource);
    crds::check_create(cluster, resource, metadata::text(&object, "name"))?;
    let generated =
        metadata::text(&object, "name").is_empty() && !metadata::text(&object, "generateName").is_empty();
    set_system_fields(cluster, resource, &mut object);
    rules::before_create(cluster, resource, options.endpoint, &mut object)?;
    for _ in 0..GENERATE_NAME_TRIES {
        let mut object = object.clone();
        if generated {
            generate_name(cluster, &mut object);
        }
        match insert(cluster, resource, namespace, object, options, owned)? {
            Some((stored, more)) => {
                warnings.extend(more);
                return Ok((stored, warnings));
            }
            None if generated => {}
            None => break,
        }
    }
    Err(taken(cluster, resource, namespace, metadata::text(&object, "name")))
}

/// Checks and stores one try; none if the name is taken.
fn insert(
    cluster: &Arc<Cluster>,
    resource: &Arc<Resource>,
    namespace: &str,
    mut object: Value,
    options: &WriteOptions,
    owned: bool,
) -> Result<Option<Created>, ApiError> {
    let causes = violations(resource, &object);
    if !causes.is_empty() {
        return Err(ApiError::invalid(resource.about(), metadata::text(&object, "name"), causes));
    }
    if !owned {
        track(cluster, resource, None, &mut object, options);
    }
    let expected = Expect::Absent;
    let name = metadata::text(&object, "name").to_owned();
    let prepared = crds::before_write(cluster, resource, None, &mut object)?;
    crds::own_status(cluster, resource, &mut object);
    // A dry run repeats the version that it was given.
    if !options.dry_run {
        take_version(&mut object)?;
    }
    let draft = draft(resource, namespace, &name, object);
    if options.dry_run {
        let exists = cluster.store.get(resource.table, &draft.key).is_some();
        return Ok((!exists).then(|| (Arc::new(Stored::preview(draft, None)), prepared.warnings())));
    }
    let Ok(stored) = cluster.store.put(resource.table, draft, expected) else { return Ok(None) };
    let warnings = prepared.warnings();
    prepared.commit(cluster);
    Ok(Some((stored, warnings)))
}

/// Removes the version of a new object if it is 0 or no number; fails if it is another. Kubernetes refuses it in the store,
/// after all other checks.
fn take_version(object: &mut Value) -> Result<(), ApiError> {
    if parse_version(metadata::text(object, "resourceVersion")).is_ok_and(|version| version > 0) {
        return Err(ApiError::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    metadata::of(object).remove("resourceVersion");
    Ok(())
}

/// Records who wrote what.
pub(super) fn track(
    cluster: &Cluster,
    resource: &Resource,
    live: Option<&Value>,
    object: &mut Value,
    options: &WriteOptions,
) {
    let Some(ty) = resource.type_ref() else { return };
    let now = cluster.clock.now_text();
    let manager = Manager {
        name: &options.manager,
        operation: Operation::Update,
        api_version: &resource.api_version(),
        subresource: options.endpoint.subresource(),
        // Writes of a scale have no time, as in Kubernetes.
        time: if options.endpoint == Endpoint::Scale { "" } else { &now },
    };
    apply::track_update(live, object, ty, &manager, &rules::reset_fields(resource, options.endpoint));
}

/// An object, ready for the store.
pub(super) fn draft(resource: &Resource, namespace: &str, name: &str, object: Value) -> Draft {
    let custom = resource.custom.as_ref().and_then(|(definition, _)| definition.storage_version());
    let custom_fields =
        custom.map(|stored| stored.selectable.iter().map(|field| field.value(&object)).collect());
    let mut object = match object {
        Value::Object(object) => object,
        _ => serde_json::Map::new(),
    };
    to_storage(resource, &mut object);
    let fields = custom_fields.unwrap_or_else(|| {
        resource.selectable.iter().map(|field| rules::field_text(&object, field)).collect()
    });
    Draft { key: object_key(namespace, name), object, fields }
}

/// Puts the object where the path says.
pub(super) fn place(resource: &Resource, namespace: &str, object: &mut Value) -> Result<(), ApiError> {
    let metadata = metadata::of(object);
    if !resource.namespaced {
        metadata.remove("namespace");
        return Ok(());
    }
    match metadata.get("namespace") {
        Some(Value::String(said)) if !said.is_empty() && said != namespace => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ => {
            metadata.insert("namespace".to_owned(), json!(namespace));
            Ok(())
        }
    }
}

fn check_namespace(
    cluster: &Arc<Cluster>,
    resource: &Resource,
    namespace: &str,
    object: &Value,
) -> Result<(), ApiError> {
    let Some(namespaces) = cluster.builtin("", "namespaces") else { return Ok(()) };
    let Some(found) = cluster.store.get(namespaces.table, &object_key("", namespace)) else {
        if cluster.options.create_namespaces {
            let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            let made =
                create_object(cluster, &namespaces, "", home, &WriteOptions::internal("kube-testserver"));
            return match made {
                Err(error) if error.reason != "AlreadyExists" => Err(error),
                _ => Ok(()),
            };
        }
        let about = About { group: "", plural: "namespaces", kind: "Namespace" };
        return Err(ApiError::not_found(about, namespace));
    };
    if found.is_deleting() {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = ApiError::forbidden(resource.about(), metadata::text(object, "name"), &why);
        if let Some(details) = &mut error.details {
            details.causes.push(crate::status::Cause {
                reason: "NamespaceTerminating",
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".to_owned(),
            });
        }
        return Err(error);
    }
    Ok(())
}

fn set_system_fields(cluster: &Cluster, resource: &Resource, object: &mut Value) {
    let metadata = metadata::of(object);
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(field);
    }
    metadata.insert("uid".to_owned(), json!(cluster.random.uuid()));
    metadata.insert("creationTimestamp".to_owned(), json!(cluster.clock.now_text()));
    if resource.traits.generation {
        metadata.insert("generation".to_owned(), json!(1));
    }
}

fn generate_name(cluster: &Cluster, object: &mut Value) {
    /// Kubernetes cuts the stem so that the whole fits into a label.
    const MAX_STEM: usize = 58;
    let stem: String = metadata::text(object, "generateName").chars().take(MAX_STEM).collect();
    let name = format!("{stem}{}", cluster.random.name_suffix());
    metadata::of(object).insert("name".to_owned(), json!(name));
}

fn taken(cluster: &Cluster, resource: &Resource, namespace: &str, name: &str) -> ApiError {
    let mut error = ApiError::already_exists(resource.about(), name);
    let there = cluster.store.get(resource.table, &object_key(namespace, name));
    if there.is_some_and(|there| there.is_deleting()) {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}
