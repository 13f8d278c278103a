//! Moving from `kubectl apply` to `kubectl apply --server-side`.
//!
//! Client-side apply keeps the configuration in an annotation and writes as an ordinary updater. When kubectl
//! then applies on the server, fields that still are as the annotation says are its own, whoever is recorded
//! as their owner. This is only for the manager `kubectl`, as in Kubernetes.

use serde_json::Value;

use super::error::Conflicts;
use super::{Changes, FieldSet, field_set, validate};
use crate::schema::TypeRef;

/// The manager this is for.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How long all annotations of an object may be together.
const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

/// The conflicts that the annotation of the live object does not explain; none if it explains all.
pub(super) fn unexplained(
    conflicts: Conflicts,
    live: &Value,
    ty: TypeRef<'_>,
    api_version: &str,
) -> Option<Conflicts> {
    match own_fields(live, ty, api_version) {
        Some(explained) => conflicts.without(&explained),
        None => Some(conflicts),
    }
}

/// Brings the annotation up to date, if there is one, so that client-side apply keeps working.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    let mut config = config.clone();
    if let Some(annotations) = annotations(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) = annotations(object) else { return };
    if annotations.get(ANNOTATION).and_then(Value::as_str).is_none_or(str::is_empty) {
        return;
    }
    annotations.insert(ANNOTATION.to_owned(), Value::String(format!("{config}\n")));
    let bytes: usize =
        annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if bytes > MAX_ANNOTATIONS_BYTES {
        annotations.remove(ANNOTATION);
    }
}

/// The fields that are as the annotation says; none without a usable annotation.
fn own_fields(live: &Value, ty: TypeRef<'_>, api_version: &str) -> Option<FieldSet> {
    let text = live.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    let config: Value = serde_json::from_str(text).ok()?;
    if config.get("apiVersion")?.as_str()? != api_version || validate::validate(&config, Some(ty)).is_some() {
        return None;
    }
    let mut fields = field_set(&config, Some(ty));
    let changes = Changes::between(Some(&config), live, Some(ty));
    fields.subtract(&changes.changed);
    fields.subtract(&changes.removed);
    Some(fields)
}

fn annotations(object: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
