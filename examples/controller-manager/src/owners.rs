//! Who owns what: one controller for each object, taken and given up by patches.

use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_client::api::{Api, Patch, PatchParams};
use kube_core::{Resource, Selector, SelectorExt};
use kube_informer::Object;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::worker::{Outcome, SyncError, is_invalid, is_not_found};

/// The one owner that looks after an object.
pub fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// The value by which dependents are indexed: who looks after them, or in which namespace nobody does.
pub fn by_controller(meta: &ObjectMeta) -> String {
    match controller_of(meta) {
        Some(owner) => owner.uid.clone(),
        None => orphans_of(meta.namespace.as_deref().unwrap_or_default()),
    }
}

/// The value by which those of a namespace are indexed that nobody looks after.
pub fn orphans_of(namespace: &str) -> String {
    format!("orphans in {namespace}")
}

/// The reference by which an object is looked after by another.
pub fn reference_to<K: Resource<DynamicType = ()>>(owner: &K) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: owner.meta().name.clone().unwrap_or_default(),
        uid: owner.meta().uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Whether labels are selected.
pub fn selects(selector: &Selector, meta: &ObjectMeta) -> bool {
    static NONE: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    selector.matches(meta.labels.as_ref().unwrap_or(&NONE))
}

/// Finds out which dependents an owner looks after: takes those that it selects and nobody has, and gives up those that it
/// selects no more.
pub async fn claim<O, K>(
    owner: &O,
    owners: &Api<O>,
    dependents: &Api<K>,
    selector: &Selector,
    candidates: Vec<Object<K>>,
) -> Outcome<Vec<Object<K>>>
where
    O: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let uid = owner.meta().uid.as_deref().unwrap_or_default();
    let going = owner.meta().deletion_timestamp.is_some();
    let (mut claimed, mut may_adopt) = (Vec::new(), None);
    for candidate in candidates {
        let meta = candidate.meta();
        let selected = selects(selector, meta);
        match controller_of(meta) {
            Some(other) if other.uid != uid => {}
            Some(_) if selected => claimed.push(candidate),
            Some(_) if going => {}
            Some(_) => release(dependents, meta, uid).await?,
            None if going || !selected || meta.deletion_timestamp.is_some() => {}
            None => {
                // The cache may not know yet that the owner goes: ask once.
                if may_adopt.is_none() {
                    may_adopt = Some(is_still_there(owners, owner).await?);
                }
                if may_adopt == Some(true) && adopt(dependents, meta, &reference_to(owner)).await? {
                    claimed.push(candidate);
                }
            }
        }
    }
    Ok(claimed)
}

async fn is_still_there<O>(owners: &Api<O>, owner: &O) -> Outcome<bool>
where
    O: Resource + Clone + Debug + DeserializeOwned,
{
    let live = owners.get_metadata(owner.meta().name.as_deref().unwrap_or_default()).await;
    match live {
        Ok(live) => Ok(live.metadata.uid == owner.meta().uid && live.metadata.deletion_timestamp.is_none()),
        Err(error) if is_not_found(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// False if it is gone meanwhile.
async fn adopt<K>(dependents: &Api<K>, meta: &ObjectMeta, owner: &OwnerReference) -> Outcome<bool>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let patch = json!({"metadata": {"uid": meta.uid, "ownerReferences": [owner]}});
    match patch_metadata(dependents, meta, &patch).await {
        Ok(()) => Ok(true),
        Err(SyncError::Api(error)) if is_not_found(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn release<K>(dependents: &Api<K>, meta: &ObjectMeta, owner: &str) -> Outcome
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let gone = json!([{"$patch": "delete", "uid": owner}]);
    let patch = json!({"metadata": {"uid": meta.uid, "ownerReferences": gone}});
    match patch_metadata(dependents, meta, &patch).await {
        // It is gone, another one by the same name, or released already.
        Err(SyncError::Api(error)) if is_not_found(&error) || is_invalid(&error) => Ok(()),
        other => other,
    }
}

async fn patch_metadata<K>(dependents: &Api<K>, meta: &ObjectMeta, patch: &serde_json::Value) -> Outcome
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let name = meta.name.as_deref().unwrap_or_default();
    dependents.patch_metadata(name, &PatchParams::default(), &Patch::Strategic(patch)).await?;
    Ok(())
}
