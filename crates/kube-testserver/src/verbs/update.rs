//! Update: one object replaced by another, by PUT, patch or apply.

use std::sync::Arc;

use http::Response;
use serde_json::Value;

use super::conform::{conform, update_violations};
use super::create::{draft, place, track};
use super::read::object_reply;
use super::{Call, Endpoint, WriteOptions, create_object, decode, metadata, rules, with_warnings};
use crate::apply;
use crate::cluster::Cluster;
use crate::crds;
use crate::http::{Body, parse_version};
use crate::kinds::Resource;
use crate::represent::from_storage;
use crate::status::{About, ApiError, Cause};
use crate::storage::{Expect, Mismatch, Stored, object_key};

/// How often a change is tried again when somebody else was faster: each time somebody else has got on.
const TRIES: usize = 10_000;

/// The result of an update.
#[derive(Debug)]
pub(crate) struct Updated {
    pub(crate) object: Arc<Stored>,
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}

/// What becomes of an object.
pub(crate) struct Change {
    /// The object as it shall be.
    pub(crate) object: Value,
    /// The field owners are already worked out: server-side apply.
    pub(crate) owned: bool,
}

impl From<Value> for Change {
    fn from(object: Value) -> Self {
        Self { object, owned: false }
    }
}

pub(crate) fn update(call: &Call) -> Result<Response<Body>, ApiError> {
    let mut options = WriteOptions::of(call, "UpdateOptions")?;
    let (object, document) = decode::object(&call.resource, &call.content_type, &call.body)?;
    options.document = Some(document);
    check_name(&call.name, &object)?;
    let updated = put(&call.cluster, &call.resource, &call.namespace, &call.name, &object, &options)?;
    let code = if updated.created { 201 } else { 200 };
    Ok(with_warnings(object_reply(call, code, &updated.object)?, &updated.warnings))
}

/// Replaces an object by another, which may name the version it replaces.
pub(crate) fn put(
    cluster: &Arc<Cluster>,
    resource: &Arc<Resource>,
    namespace: &str,
    name: &str,
    object: &Value,
    options: &WriteOptions,
) -> Result<Updated, ApiError> {
    let mut object = object.clone();
    place(resource, namespace, &mut object)?;
    let there = cluster.store.get(resource.table, &object_key(namespace, name)).is_some();
    if !there && resource.traits.create_on_update && options.endpoint == Endpoint::Main {
        if !options.dry_run {
            metadata::of(&mut object).remove("resourceVersion");
        }
        let (object, warnings) = create_object(cluster, resource, namespace, object, options)?;
        return Ok(Updated { object, created: true, warnings });
    }
    let unversioned = matches!(metadata::text(&object, "resourceVersion"), "" | "0");
    if there && unversioned && !resource.traits.unconditional_update {
        let about = About { kind: &resource.plural, ..resource.about() };
        let cause =
            Cause::invalid("metadata.resourceVersion", &Value::from(0), "must be specified for an update");
        return Err(ApiError::invalid(about, name, vec![cause]));
    }
    let uid = metadata::text(&object, "uid").to_owned();
    update_object(cluster, resource, namespace, name, options, |live| {
        let found = metadata::text(live, "uid");
        if !uid.is_empty() && uid != found {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{}{}/{namespace}/{name}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {found}",
                if resource.custom.is_some() { format!("{}/", resource.group) } else { String::new() },
                resource.plural
            );
            return Err(ApiError::conflict(resource.about(), name, &why));
        }
        Ok(Change::from(object.clone()))
    })
}

/// Changes an object. `change` is asked again if somebody else was faster.
pub(crate) fn update_object(
    cluster: &Arc<Cluster>,
    resource: &Arc<Resource>,
    namespace: &str,
    name: &str,
    options: &WriteOptions,
    mut change: impl FnMut(&Value) -> Result<Change, ApiError>,
) -> Result<Updated, ApiError> {
    let _definitions = crds::lock(cluster, resource);
    let key = object_key(namespace, name);
    for _ in 0..TRIES {
        let Some(current) = cluster.store.get(resource.table, &key) else {
            return Err(ApiError::not_found(resource.about(), name));
        };
        let live = live_object(resource, &current);
        let Change { object: mut new, owned } = change(&live)?;
        check_name(name, &new)?;
        place(resource, namespace, &mut new)?;
        check_version(resource, name, &current, &new)?;
        let mut warnings = conform(resource, &mut new, options)?;
        rules::before_update(resource, options.endpoint, &live, &mut new);
        // The status of a custom resource keeps the finalizers that there were.
        warnings.extend(metadata::finalizer_warnings(resource, Some(&live), &new));
        let mut causes = metadata::forbidden_changes(&live, &new);
        metadata::keep_system_fields(&live, &mut new);
        causes.extend(update_violations(resource, options.endpoint, &new, &live));
        causes.extend(rules::forbidden_changes(resource, options.endpoint, &live, &new));
        if !causes.is_empty() {
            return Err(ApiError::invalid(resource.about(), name, causes));
        }
        if !owned {
            track(cluster, resource, Some(&live), &mut new, options);
        }
        rules::count_generation(resource, options.endpoint, &live, &mut new);
        // With the live version in it, an object that was not changed is equal to the live one.
        metadata::of(&mut new).insert("resourceVersion".to_owned(), current.version().to_string().into());
        apply::keep_times(&live, &mut new);
        if live == new {
            return Ok(Updated { object: current, created: false, warnings });
        }
        let expect = Expect::Version(current.version());
        let gone = metadata::is_deleting(&new) && rules::may_go(&new);
        let prepared = crds::before_write(cluster, resource, Some(&live), &mut new)?;
        warnings.extend(prepared.warnings());
        let draft = draft(resource, namespace, name, new);
        if options.dry_run {
            let object = Arc::new(Stored::preview(draft, Some(current.version())));
            return Ok(Updated { object, created: false, warnings });
        }
        let written = if gone {
            // The change itself is never stored: watches see the object go as it was, the writer sees its own.
            let removed = cluster.store.remove(resource.table, &draft.key, expect);
            removed.map(|_| Arc::new(Stored::preview(draft, Some(current.version()))))
        } else {
            cluster.store.put(resource.table, draft, expect)
        };
        match written {
            Ok(object) => {
                prepared.commit(cluster);
                if gone {
                    crds::after_removal(cluster, resource);
                }
                return Ok(Updated { object, created: false, warnings });
            }
            // Tried again on what is there now; a change that names its version is refused then.
            Err(Mismatch::Changed | Mismatch::Exists) => {}
            Err(Mismatch::Missing) => return Err(ApiError::not_found(resource.about(), name)),
        }
    }
    Err(ApiError::modified(resource.about(), name))
}

/// The object as clients of this version see it.
pub(crate) fn live_object(resource: &Resource, stored: &Stored) -> Value {
    let mut object = stored.object();
    from_storage(resource, &mut object);
    object.insert("apiVersion".to_owned(), Value::String(resource.api_version()));
    object.insert("kind".to_owned(), Value::String(resource.kind.to_string()));
    Value::Object(object)
}

/// Refuses a change that names another version than the present one.
fn check_version(resource: &Resource, name: &str, current: &Stored, new: &Value) -> Result<(), ApiError> {
    let said = metadata::text(new, "resourceVersion");
    if matches!(said, "" | "0") {
        return Ok(());
    }
    match parse_version(said) {
        Ok(version) if version == current.version() => Ok(()),
        Ok(_) => Err(ApiError::modified(resource.about(), name)),
        Err(why) => Err(ApiError::new(500, "", why)),
    }
}

pub(super) fn check_name(name: &str, object: &Value) -> Result<(), ApiError> {
    match metadata::text(object, "name") {
        "" => Err(ApiError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        said if said != name => Err(ApiError::bad_request(format!(
            "the name of the object ({said}) does not match the name on the URL ({name})"
        ))),
        _ => Ok(()),
    }
}
