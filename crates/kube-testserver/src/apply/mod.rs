//! Server-side apply and the bookkeeping behind it.
//!
//! Every field of an object can have owners, which `metadata.managedFields` names. Two functions keep that
//! list:
//!
//! - [`apply`] merges a configuration into an object. The manager who applies owns exactly what its
//!   configuration mentions; what it mentioned before and does not mention any more is removed, unless others
//!   own it too. Changing what others own is a conflict, unless forced.
//! - [`track_update`] looks at the result of every other write and gives what it changed to who wrote it.
//!
//! Both follow [structured-merge-diff], the library behind Kubernetes, step by step, because its results are
//! visible to clients in every object. What owns what depends on the type of a field: structs and maps have
//! an owner per field, lists an owner per element if the schema says how to tell elements apart, and
//! everything else is owned as a whole. Where there is no schema, objects have an owner per field and lists
//! are owned as a whole.
//!
//! Owners are recorded with the version of the object they wrote. Kubernetes converts the object to that
//! version before it compares; here all versions of a kind are taken to have the same fields.
//!
//! [structured-merge-diff]: https://github.com/kubernetes-sigs/structured-merge-diff

mod compare;
mod element;
mod error;
mod extract;
mod fieldset;
mod last_applied;
mod managers;
mod merge;
mod reset;
mod shape;
mod validate;

use std::sync::LazyLock;

use serde_json::{Map, Value};

pub(crate) use error::ApplyError;
pub(crate) use fieldset::FieldSet;
pub(crate) use reset::ResetFields;

use crate::schema::TypeRef;
use compare::{Changes, UNOWNED_METADATA};
use error::Conflicts;
use extract::{field_set, with_named_fields};
use managers::{Entry, Identity, Managers};
use shape::{Ty, empty_object, same};

/// Who writes, how and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manager<'a> {
    /// The field manager; an empty one counts as `unknown`.
    pub(crate) name: &'a str,
    pub(crate) operation: Operation,
    /// The version in which the object is written.
    pub(crate) api_version: &'a str,
    /// `status`, `scale`, …; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Now, as in `2026-10-01T12:34:56Z`; empty if the entry shall have no time.
    pub(crate) time: &'a str,
}

/// How fields came to their owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// By applying a configuration that mentions them.
    Apply,
    /// By any other write that changed them.
    Update,
}

impl Operation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Merges an applied configuration into an object, or makes the object if there is none.
///
/// The result is the new object with its `managedFields`. Defaults are not filled in, and fields that the
/// endpoint resets are merged like all others: both are up to the caller, before the object is stored.
pub(crate) fn apply(
    live: Option<&Value>,
    config: &Value,
    ty: TypeRef<'_>,
    manager: &Manager<'_>,
    force: bool,
    ignore: &ResetFields,
) -> Result<Value, ApplyError> {
    let manager = &Manager { operation: Operation::Apply, ..*manager };
    check_config(config, ty, manager)?;
    let mut live = live.cloned();
    let mut managers = Managers::trusted(live.as_mut().and_then(take_managed_fields).unwrap_or_default());
    if managers.is_empty()
        && let Some(live) = &live
    {
        // Nobody was recorded so far: what is there came from before.
        let before = Manager { name: "before-first-apply", operation: Operation::Update, ..*manager };
        let mut changes = Changes::between(None, live, Some(ty));
        changes.ignore(&ignore.0);
        managers.grant(&before, changes.changed);
        managers.drop_empty();
    }
    let live = live.unwrap_or_else(|| empty_object().clone());
    let request = Request { live: &live, config, ty: Some(ty), manager, ignore };
    if manager.name != last_applied::MANAGER {
        let (mut merged, managers) = request.run(managers, force)?;
        set_managed_fields(&mut merged, managers);
        return Ok(merged);
    }
    let result = match request.run(managers.clone(), force) {
        Err(ApplyError::Conflict(conflicts)) => {
            match last_applied::unexplained(conflicts, &live, ty, manager.api_version) {
                Some(left) => Err(ApplyError::Conflict(left)),
                None => request.run(managers, true),
            }
        }
        result => result,
    };
    let (mut merged, managers) = result?;
    last_applied::refresh(&mut merged, config);
    set_managed_fields(&mut merged, managers);
    Ok(merged)
}

/// Records who owns what after a create, an update or a patch: fields that are not as they were in the live
/// object belong to the manager, and fields that are gone belong to nobody.
///
/// `managedFields` that the client sent count: an empty list, or one empty entry, forgets all owners. Lists
/// that make no sense are as good as none, and then those of the live object count. Writes to a subresource
/// never change the list by hand. An object that was updated without owners stays without.
///
/// To be called with the object as the client meant it: after defaults, before the server adds what it
/// allocates (cluster IPs, finalizers, …), because nobody owns those.
pub(crate) fn track_update(
    live: Option<&Value>,
    new: &mut Value,
    ty: TypeRef<'_>,
    manager: &Manager<'_>,
    ignore: &ResetFields,
) {
    let manager = &Manager { operation: Operation::Update, ..*manager };
    let sent = take_managed_fields(new);
    let known = live.and_then(|live| live.get("metadata")?.get("managedFields"));
    let untouched = sent.is_some() && sent.as_ref() == known;
    let mut changes = Changes::between(live, new, Some(ty));
    changes.ignore(&ignore.0);
    if untouched && changes.is_empty() {
        return put_managed_fields(new, sent);
    }
    let mut managers = match sent {
        Some(sent) if untouched => Managers::trusted(sent),
        Some(sent) if manager.subresource.is_empty() && is_reset(&sent) => Managers::default(),
        Some(sent) if manager.subresource.is_empty() => match Managers::decode(&sent) {
            Ok(managers) if !managers.is_empty() => managers,
            _ => Managers::trusted(known.cloned().unwrap_or_default()),
        },
        _ => Managers::trusted(known.cloned().unwrap_or_default()),
    };
    if managers.is_empty() && live.is_some() {
        return;
    }
    managers.take(&changes.removed);
    managers.take(&changes.changed);
    if !changes.changed.is_empty() {
        managers.grant(manager, changes.changed);
    }
    managers.squash();
    set_managed_fields(new, managers);
}

/// Takes back new times in `managedFields` if nothing else is new, so that a write which changes nothing is
/// one: to be called with the object as it would be stored, after defaults.
pub(crate) fn keep_times(live: &Value, new: &mut Value) {
    fn entries(object: &Value) -> Option<&Vec<Value>> {
        object.get("metadata")?.get("managedFields")?.as_array()
    }
    fn but<'a>(object: &'a Value, skip: &'static [&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let fields = object.as_object().into_iter().flatten();
        fields.filter(|(name, _)| !skip.contains(&name.as_str()))
    }
    let (Some(old), Some(entries)) = (entries(live), entries(new)) else { return };
    let mut pairs = old.iter().zip(entries);
    let skip = &["managedFields", "resourceVersion"];
    if old.len() == entries.len()
        && pairs.clone().any(|(old, new)| old.get("time") != new.get("time"))
        && pairs.all(|(old, new)| but(old, &["time"]).eq(but(new, &["time"])))
        && but(live, &["metadata"]).eq(but(new, &["metadata"]))
        && but(&live["metadata"], skip).eq(but(&new["metadata"], skip))
    {
        put_managed_fields(new, Some(Value::Array(old.clone())));
    }
}

/// One attempt to apply, with everything it looks at.
struct Request<'a> {
    /// Without `managedFields`.
    live: &'a Value,
    config: &'a Value,
    ty: Ty<'a>,
    manager: &'a Manager<'a>,
    ignore: &'a ResetFields,
}

impl Request<'_> {
    fn run(&self, mut managers: Managers, force: bool) -> Result<(Value, Managers), ApplyError> {
        let merged = merge::merge(self.live.clone(), self.config, self.ty)
            .map_err(|error| ApplyError::Internal(format!("failed to merge config: {error}")))?;
        let mut fields = field_set(self.config, self.ty);
        fields.subtract_recursive(&self.ignore.0);
        let last = managers.position(self.manager).map(|at| managers.0.remove(at));
        let mut merged = match &last {
            Some(last) if !last.fields.is_within(&fields) => {
                self.prune(merged, &last.fields, &fields, &managers)
            }
            _ => merged,
        };
        let mut changes = Changes::between(Some(self.live), &merged, self.ty);
        changes.ignore(&self.ignore.0);
        if !force && let Some(conflicts) = Conflicts::between(&managers, &changes.changed) {
            return Err(ApplyError::Conflict(conflicts));
        }
        managers.take(&changes.changed);
        managers.take(&changes.removed);
        fields.subtract(unowned());
        let time = if same(self.live, &merged) {
            last.and_then(|last| last.time)
        } else {
            Some(self.manager.time.to_owned())
        };
        managers.0.push(Entry {
            id: Identity::of(self.manager),
            api_version: self.manager.api_version.to_owned(),
            time,
            fields,
        });
        managers.drop_empty();
        // Only now: whoever owns a field that was left empty keeps it.
        merge::drop_nulls(&mut merged, self.ty);
        Ok((merged, managers))
    }

    /// Removes what the manager applied last time, does not apply now, and nobody else owns.
    ///
    /// In three steps, which differ in what happens to branches: take out all that was applied last time; put
    /// back what anybody owns; put back what was not applied last time and only went with its branch.
    fn prune(&self, merged: Value, last: &FieldSet, fields: &FieldSet, others: &Managers) -> Value {
        let last = with_named_fields(last, self.ty);
        let mut owned = fields.clone();
        for other in &others.0 {
            owned.union(other.fields.clone());
        }
        let everything = with_named_fields(&field_set(&merged, self.ty), self.ty);

        let pruned = merge::remove(merged.clone(), last.as_view(), self.ty);
        let mut unowned = everything.clone();
        unowned.subtract(&with_named_fields(&field_set(&pruned, self.ty), self.ty));
        unowned.subtract(&with_named_fields(&owned, self.ty));

        let pruned = merge::remove(merged.clone(), unowned.as_view(), self.ty);
        let mut gone = everything;
        gone.subtract(&with_named_fields(&field_set(&pruned, self.ty), self.ty));
        merge::remove(merged, gone.intersection(&last).as_view(), self.ty)
    }
}

fn check_config(config: &Value, ty: TypeRef<'_>, manager: &Manager<'_>) -> Result<(), ApplyError> {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text(config, "apiVersion"), text(config, "kind"));
    // The core group has no name, which Kubernetes prints like this.
    let slash = if api_version.contains('/') { "" } else { "/" };
    if api_version != manager.api_version {
        let message = format!("invalid object type: {slash}{api_version}, Kind={kind}");
        return Err(ApplyError::BadRequest(message));
    }
    let metadata = config.get("metadata").unwrap_or(&Value::Null);
    if metadata.get("managedFields").is_some_and(|fields| !fields.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    match validate::validate(config, Some(ty)) {
        None => Ok(()),
        Some(problem) => {
            let (namespace, name) = (text(metadata, "namespace"), text(metadata, "name"));
            Err(ApplyError::Internal(format!(
                "failed to create typed patch object ({namespace}/{name}; {slash}{api_version}, Kind={kind}): \
                 {problem}"
            )))
        }
    }
}

/// The fields that nobody ever owns.
fn unowned() -> &'static FieldSet {
    static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
        let mut set = FieldSet::of_fields(&[&["apiVersion"], &["kind"], &["metadata"]]);
        for name in UNOWNED_METADATA {
            set.union(FieldSet::of_fields(&[&["metadata", name]]));
        }
        set
    });
    &UNOWNED
}

/// Whether a client asks to forget all owners.
fn is_reset(managed_fields: &Value) -> bool {
    match managed_fields.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

fn take_managed_fields(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}

fn set_managed_fields(object: &mut Value, managers: Managers) {
    put_managed_fields(object, managers.encode());
}

fn put_managed_fields(object: &mut Value, managed_fields: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    let Some(managed_fields) = managed_fields else { return };
    let metadata = object.entry("metadata").or_insert_with(|| empty_object().clone());
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), managed_fields);
    }
}

#[cfg(test)]
mod tests;
