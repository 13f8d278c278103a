//! The metadata of objects: what the server sets, what it refuses, and what a client may not change.

use std::collections::HashSet;
use std::hash::Hash;

use serde_json::{Map, Value, json};

use crate::http::MAX_WARNINGS;
use crate::kinds::Resource;
use crate::names;
use crate::status::Cause;

pub(crate) type Object = Map<String, Value>;

/// All annotations of an object together.
const MAX_ANNOTATION_BYTES: usize = 256 << 10;

/// Finalizers that need no domain in front.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// The metadata, made if absent.
pub(crate) fn of(object: &mut Value) -> &mut Object {
    if !object.is_object() {
        *object = json!({});
    }
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    match &mut object["metadata"] {
        Value::Object(metadata) => metadata,
        // It was made an object above.
        _ => unreachable!("metadata is an object"),
    }
}

/// A field of the metadata as text; empty if absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or("")
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    match object.get("metadata").and_then(|metadata| metadata.get("finalizers")) {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The object has been asked to go.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

pub(crate) fn generation(object: &Value) -> i64 {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("generation"))
        .and_then(Value::as_i64)
        .unwrap_or(0)
}

/// Leaves out what says nothing: Kubernetes does not write empty metadata.
pub(crate) fn drop_empty(object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    for field in ["labels", "annotations", "finalizers", "ownerReferences", "generateName"] {
        let empty = match metadata.get(field) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(field);
        }
    }
}

/// What is wrong with an object's metadata.
pub(crate) fn problems(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = text(object, "name");
    let generate_name = text(object, "generateName");
    if !generate_name.is_empty() {
        // The generated part is yet to come, so a trailing dash is fine.
        let stem = generate_name.trim_end_matches('-');
        let value = Value::String(generate_name.to_owned());
        causes.extend(
            name_problems(resource, stem)
                .iter()
                .map(|why| Cause::invalid("metadata.generateName", &value, why)),
        );
    }
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        let value = Value::String(name.to_owned());
        causes.extend(
            name_problems(resource, name).iter().map(|why| Cause::invalid("metadata.name", &value, why)),
        );
    }
    let Some(Value::Object(metadata)) = object.get("metadata") else { return causes };
    if let Some(Value::Object(labels)) = metadata.get("labels") {
        for (key, value) in labels {
            let invalid = |value: &Value, why: &String| Cause::invalid("metadata.labels", value, why);
            let text = value.as_str().unwrap_or("");
            causes.extend(names::label_value(text).iter().map(|why| invalid(value, why)));
            let key = Value::String(key.clone());
            causes.extend(
                names::qualified_name(key.as_str().unwrap_or("")).iter().map(|why| invalid(&key, why)),
            );
        }
    }
    if let Some(Value::Object(annotations)) = metadata.get("annotations") {
        annotation_problems(annotations, &mut causes);
    }
    if let Some(Value::Array(owners)) = metadata.get("ownerReferences") {
        owner_problems(owners, &mut causes);
    }
    finalizer_problems(resource, &finalizers(object), &mut causes);
    causes
}

/// Returns warnings of the finalizers without a domain that a custom resource did not have before, ordered by name. There are no
/// more than an answer holds.
pub(crate) fn finalizer_warnings(resource: &Resource, old: Option<&Value>, new: &Value) -> Vec<String> {
    if resource.custom.is_none() {
        return Vec::new();
    }
    let mut added = added(old.map(finalizers).unwrap_or_default(), finalizers(new));
    added.sort_unstable();
    added.dedup();
    let warning = |name: &str| {
        // A dot makes it a domain, which lacks only the path.
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: \"{name}\": prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        )
    };
    added.into_iter().filter(|name| lacks_domain(name)).take(MAX_WARNINGS).map(warning).collect()
}

/// The new values that are not among the old ones.
fn added<T: Eq + Hash>(old: Vec<T>, new: Vec<T>) -> Vec<T> {
    let old: HashSet<T> = old.into_iter().collect();
    new.into_iter().filter(|value| !old.contains(value)).collect()
}

/// What of an object's metadata a client changed that it may not change.
pub(crate) fn forbidden_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in ["uid", "deletionTimestamp"] {
        let (before, after) = (text(old, field), text(new, field));
        if before != after && !after.is_empty() {
            let path = format!("metadata.{field}");
            causes.push(Cause::invalid(path, &Value::String(after.to_owned()), "field is immutable"));
        }
    }
    if is_deleting(old) {
        let added = added(finalizers(old), finalizers(new));
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|name| format!("\"{name}\"")).collect();
            causes.push(Cause::forbidden(
                "metadata.finalizers",
                &format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers \
                     []string{{{}}}",
                    list.join(", ")
                ),
            ));
        }
    }
    causes
}

/// Takes over what only the server sets.
pub(crate) fn keep_system_fields(old: &Value, new: &mut Value) {
    let metadata = of(new);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",
        "selfLink",
    ] {
        let before = old.get("metadata").and_then(|metadata| metadata.get(field));
        if field == "generateName" && metadata.contains_key(field) {
            continue;
        }
        match before {
            Some(value) => metadata.insert(field.to_owned(), value.clone()),
            None => metadata.remove(field),
        };
    }
}

fn name_problems(resource: &Resource, name: &str) -> Vec<String> {
    match (&*resource.group, &*resource.plural) {
        ("" | "networking.k8s.io", "namespaces" | "services") => names::label_1123(name),
        ("rbac.authorization.k8s.io" | "certificates.k8s.io" | "flowcontrol.apiserver.k8s.io", _)
        | ("networking.k8s.io", "ipaddresses") => names::path_segment(name),
        _ => names::subdomain_1123(name),
    }
}

fn annotation_problems(annotations: &Object, causes: &mut Vec<Cause>) {
    let mut bytes = 0;
    for (key, value) in annotations {
        bytes += key.len() + value.as_str().map_or(0, str::len);
        // Annotation keys may have capitals in their prefix.
        for why in names::qualified_name(&key.to_ascii_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", &Value::String(key.clone()), &why));
        }
    }
    if bytes > MAX_ANNOTATION_BYTES {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {MAX_ANNOTATION_BYTES} bytes"),
            field: "metadata.annotations".to_owned(),
        });
    }
}

fn finalizer_problems(resource: &Resource, finalizers: &[&str], causes: &mut Vec<Cause>) {
    const FIELD: &str = "metadata.finalizers";
    for finalizer in finalizers {
        let value = Value::from(*finalizer);
        causes.extend(names::qualified_name(finalizer).iter().map(|why| Cause::invalid(FIELD, &value, why)));
    }
    if ["orphan", "foregroundDeletion"].iter().all(|policy| finalizers.contains(policy)) {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(FIELD, &json!(finalizers), why));
    }
    if resource.traits.any_finalizer {
        return;
    }
    for (at, finalizer) in finalizers.iter().enumerate().filter(|(_, name)| lacks_domain(name)) {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        causes.push(Cause::invalid(format!("{FIELD}[{at}]"), &Value::from(*finalizer), why));
    }
}

fn lacks_domain(finalizer: &str) -> bool {
    !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer)
}

fn owner_problems(owners: &[Value], causes: &mut Vec<Cause>) {
    let mut controllers = 0;
    for (at, owner) in owners.iter().enumerate() {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or("");
        for field in ["apiVersion", "kind", "name", "uid"] {
            if text(field).is_empty() {
                let path = format!("metadata.ownerReferences[{at}].{field}");
                causes.push(Cause::required(path, "must not be empty"));
            }
        }
        controllers += usize::from(owner.get("controller") == Some(&Value::Bool(true)));
    }
    if controllers > 1 {
        let value = Value::Array(owners.to_vec());
        let why = "Only one reference can have Controller set to true";
        causes.push(Cause::invalid("metadata.ownerReferences", &value, why));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    #[test]
    fn finalizers_are_compared_a_bounded_number_of_times_each() {
        struct Counted<'a>(usize, &'a Cell<usize>);
        impl PartialEq for Counted<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.1.set(self.1.get() + 1);
                self.0 == other.0
            }
        }
        impl Eq for Counted<'_> {}
        impl Hash for Counted<'_> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }
        let comparisons = |count: usize| {
            let comparisons = Cell::new(0);
            let values =
                |from: usize| (from..from + count).map(|value| Counted(value, &comparisons)).collect();
            let new = added(values(0), values(count / 2));
            assert_eq!(new.first().map(|value| value.0), Some(count));
            assert_eq!(new.len(), count / 2);
            comparisons.get()
        };
        let (few, many) = (comparisons(2_000), comparisons(4_000));
        assert!(few <= 4_000 && many <= 8_000, "{few} and {many} comparisons");
    }
}
