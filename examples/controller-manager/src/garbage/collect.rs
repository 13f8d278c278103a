//! What becomes of an object that may be garbage, and of the dependents of one that leaves them behind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_client::Api;
use kube_client::api::{DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube_core::DynamicObject;
use serde_json::{Value, json};

use super::Collector;
use super::graph::{FOREGROUND, Identity, Node, ORPHAN};
use crate::worker::{Again, Outcome, SyncError, is_conflict, is_not_found};

/// How many owners are remembered that are not there; when there are more, all are forgotten.
const MAX_ABSENT: usize = 500;

/// What an owner is to its dependent.
enum Owner {
    /// It is there.
    Solid,
    /// It is not.
    Dangling,
    /// It goes, and waits for its dependents.
    Waiting,
}

impl Collector {
    /// Looks whether an object has an owner left, and deletes it if not. One that waits for its dependents goes when there
    /// are none left that block it.
    pub(super) async fn attempt_to_delete(&self, uid: &str) -> Outcome<Again> {
        let Some(node) = self.node(uid) else { return Ok(None) };
        if node.is_going && !node.waits_for_dependents {
            return Ok(None);
        }
        let api = self.api(&node);
        let Some(live) = self.live(&api, &node).await? else { return Ok(None) };
        if node.waits_for_dependents {
            self.release_or_wait(&api, &node, &live).await?;
            return Ok(None);
        }
        let owners = live.owner_references.clone().unwrap_or_default();
        if owners.is_empty() {
            return Ok(None);
        }
        let (mut solid, mut others, mut waiting) = (Vec::new(), 0, 0);
        for owner in owners {
            match self.classify(&owner, &node.identity.namespace).await? {
                Owner::Solid => solid.push(owner),
                Owner::Dangling => others += 1,
                Owner::Waiting => {
                    others += 1;
                    waiting += 1;
                }
            }
        }
        if !solid.is_empty() {
            if others > 0 {
                // It lives on with those that are left.
                patch(&api, &live, &json!({"ownerReferences": solid})).await?;
            }
            return Ok(None);
        }
        let has_dependents = !self.graph.lock().dependents(uid).is_empty();
        let policy = if waiting > 0 && has_dependents {
            self.break_circle(&api, &node, &live).await?;
            PropagationPolicy::Foreground
        } else {
            policy(&live)
        };
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        let params = DeleteParams {
            propagation_policy: Some(policy),
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        };
        match api.delete(&node.identity.name, &params).await {
            // Gone, or another one by the same name: as good.
            Err(error) if !is_not_found(&error) && !is_conflict(&error) => Err(error.into()),
            _ => Ok(None),
        }
    }

    /// Lets go of all dependents of an owner, and then of the owner.
    pub(super) async fn attempt_to_orphan(&self, uid: &str) -> Outcome<Again> {
        let Some(node) = self.node(uid) else { return Ok(None) };
        let dependents: Vec<Node> = self.graph.lock().dependents(uid).into_iter().cloned().collect();
        for dependent in dependents {
            let api = self.api(&dependent);
            let Some(live) = self.live(&api, &dependent).await? else { continue };
            let mut owners = live.owner_references.clone().unwrap_or_default();
            let before = owners.len();
            owners.retain(|owner| owner.uid != uid);
            if owners.len() != before {
                patch(&api, &live, &json!({"ownerReferences": owners})).await?;
            }
        }
        let api = self.api(&node);
        if let Some(live) = self.live(&api, &node).await? {
            remove_finalizer(&api, &live, ORPHAN).await?;
        }
        Ok(None)
    }

    async fn release_or_wait(&self, api: &Api<DynamicObject>, node: &Node, live: &ObjectMeta) -> Outcome {
        let uid = &node.identity.uid;
        let blocking: Vec<Node> = {
            let graph = self.graph.lock();
            graph.dependents(uid).into_iter().filter(|dependent| dependent.blocks(uid)).cloned().collect()
        };
        if blocking.is_empty() {
            return remove_finalizer(api, live, FOREGROUND).await;
        }
        for dependent in blocking.into_iter().filter(|dependent| !dependent.waits_for_dependents) {
            self.to_delete.add(dependent.identity.uid);
        }
        Ok(())
    }

    async fn classify(&self, owner: &OwnerReference, namespace: &str) -> Outcome<Owner> {
        {
            let graph = self.graph.lock();
            if let Some(node) = graph.owner(owner, namespace) {
                // If that is old, its end will be seen, and this looked at again.
                return Ok(if node.waits_for_dependents { Owner::Waiting } else { Owner::Solid });
            }
        }
        let identity = |namespace: &str| Identity {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            namespace: namespace.to_owned(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
        };
        if self.absent.lock().contains(&identity(namespace)) {
            return Ok(Owner::Dangling);
        }
        let resource = self.context.mapper.resource_of(&owner.api_version, &owner.kind).await;
        let resource = resource.map_err(|error| SyncError::Other(error.to_string()))?;
        let Some(resource) = resource else {
            // The kind may come back: what it owns is not garbage yet.
            let what = format!("the server has no {} {}", owner.api_version, owner.kind);
            return Err(SyncError::Other(what));
        };
        let api: Api<DynamicObject> = match (resource.namespaced, namespace) {
            // A cluster-scoped object cannot have an owner in a namespace: such a reference means nothing.
            (true, "") => return Ok(Owner::Solid),
            (true, namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource.resource),
            (false, _) => Api::all_with(self.client.clone(), &resource.resource),
        };
        let live = api.get_metadata_opt(&owner.name).await?;
        let Some(live) = live.filter(|live| live.metadata.uid.as_deref() == Some(&owner.uid)) else {
            let mut absent = self.absent.lock();
            if absent.len() >= MAX_ABSENT {
                absent.clear();
            }
            absent.insert(identity(namespace));
            return Ok(Owner::Dangling);
        };
        let waits = live.metadata.deletion_timestamp.is_some() && has_finalizer(&live.metadata, FOREGROUND);
        Ok(if waits { Owner::Waiting } else { Owner::Solid })
    }

    /// Two that wait for each other would wait for ever: this one blocks nobody any more.
    async fn break_circle(&self, api: &Api<DynamicObject>, node: &Node, live: &ObjectMeta) -> Outcome {
        let uid = &node.identity.uid;
        let circle = self.graph.lock().dependents(uid).iter().any(|dependent| dependent.waits_for_dependents);
        if !circle {
            return Ok(());
        }
        let mut owners = live.owner_references.clone().unwrap_or_default();
        for owner in &mut owners {
            owner.block_owner_deletion = Some(false);
        }
        patch(api, live, &json!({"ownerReferences": owners})).await
    }

    fn node(&self, uid: &str) -> Option<Node> {
        self.graph.lock().node(uid).cloned()
    }

    fn api(&self, node: &Node) -> Api<DynamicObject> {
        let client = self.client.clone();
        match node.identity.namespace.as_str() {
            "" => Api::all_with(client, &node.resource),
            namespace => Api::namespaced_with(client, namespace, &node.resource),
        }
    }

    /// The object as it is now. If it is gone, that is as good as seen.
    async fn live(&self, api: &Api<DynamicObject>, node: &Node) -> Outcome<Option<ObjectMeta>> {
        let live = api.get_metadata_opt(&node.identity.name).await?.map(|live| live.metadata);
        let live = live.filter(|live| live.uid.as_deref() == Some(&node.identity.uid));
        if live.is_none() {
            let todo = self.graph.lock().gone(&node.identity.uid);
            self.take(todo);
        }
        Ok(live)
    }
}

/// How an object is deleted that nobody owns: as it says itself, and in the background if it does not.
fn policy(live: &ObjectMeta) -> PropagationPolicy {
    if has_finalizer(live, ORPHAN) {
        PropagationPolicy::Orphan
    } else if has_finalizer(live, FOREGROUND) {
        PropagationPolicy::Foreground
    } else {
        PropagationPolicy::Background
    }
}

fn has_finalizer(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().flatten().any(|one| one == finalizer)
}

async fn remove_finalizer(api: &Api<DynamicObject>, live: &ObjectMeta, finalizer: &str) -> Outcome {
    let mut finalizers = live.finalizers.clone().unwrap_or_default();
    let before = finalizers.len();
    finalizers.retain(|one| one != finalizer);
    if finalizers.len() == before {
        return Ok(());
    }
    patch(api, live, &json!({"finalizers": finalizers})).await
}

/// Changes metadata, if nobody else has meanwhile. A merge patch is what all kinds know.
async fn patch(api: &Api<DynamicObject>, live: &ObjectMeta, change: &Value) -> Outcome {
    let mut metadata = change.clone();
    metadata["uid"] = json!(live.uid);
    metadata["resourceVersion"] = json!(live.resource_version);
    let patch = json!({"metadata": metadata});
    let name = live.name.as_deref().unwrap_or_default();
    match api.patch_metadata(name, &PatchParams::default(), &Patch::Merge(&patch)).await {
        Err(error) if is_not_found(&error) => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}
