//! Garbage collection: objects go when the last of their owners is gone; owners that are deleted in the
//! foreground wait for their dependents, and owners that are deleted with `orphan` leave them behind.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::feed::Feed;
use crate::cluster::Cluster;
use crate::kinds::Resource;
use crate::storage::object_key;
use crate::verbs::{
    Change, DeleteOptions, Propagation, WriteOptions, delete_object, live_object, update_object,
};

/// An object: its resource, namespace and name.
type Place = (String, String, String, String);

#[derive(Debug, Default)]
struct Graph {
    /// For each uid, the objects that name it as their owner.
    dependents: HashMap<String, BTreeSet<Place>>,
    /// For each object, the owners it names.
    owners: HashMap<Place, Vec<String>>,
    /// Objects that are being deleted and may be waiting for their dependents, by uid.
    going: HashMap<String, Place>,
    /// Objects to look at: something about them or their owners changed.
    dirty: BTreeSet<Place>,
}

pub(super) async fn collect(cluster: Arc<Cluster>) {
    let mut feeds: Vec<Feed> = Vec::new();
    let mut graph = Graph::default();
    let mut versions = cluster.store.subscribe();
    loop {
        versions.borrow_and_update();
        let catalog = cluster.catalog();
        for resource in catalog.iter() {
            let at = feeds.iter().position(|feed| feed.table() == resource.table).unwrap_or_else(|| {
                feeds.push(Feed::new(resource.table));
                feeds.len() - 1
            });
            for seen in feeds[at].take(&cluster.store) {
                graph.see(resource, &seen.object.object(), seen.deleted);
            }
        }
        for place in std::mem::take(&mut graph.dirty) {
            graph.look_at(&cluster, &place);
        }
        if versions.changed().await.is_err() {
            return;
        }
    }
}

impl Graph {
    fn see(&mut self, resource: &Resource, object: &serde_json::Map<String, Value>, deleted: bool) {
        let Some(metadata) = object.get("metadata") else { return };
        let text = |field: &str| metadata[field].as_str().unwrap_or("").to_owned();
        let place =
            (resource.group.to_string(), resource.plural.to_string(), text("namespace"), text("name"));
        for owner in self.owners.remove(&place).unwrap_or_default() {
            if let Some(dependents) = self.dependents.get_mut(&owner) {
                dependents.remove(&place);
                // An owner may be waiting for this one.
                self.dirty.extend(self.going.get(&owner).cloned());
            }
        }
        let uid = text("uid");
        if deleted {
            self.going.remove(&uid);
            self.dirty.extend(self.dependents.get(&uid).into_iter().flatten().cloned());
            return;
        }
        let named: Vec<String> =
            references(metadata).iter().map(|owner| owner["uid"].as_str().unwrap_or("").to_owned()).collect();
        for owner in &named {
            self.dependents.entry(owner.clone()).or_default().insert(place.clone());
        }
        if !named.is_empty() {
            self.owners.insert(place.clone(), named);
            self.dirty.insert(place.clone());
        }
        if metadata["deletionTimestamp"].is_string() {
            self.going.insert(uid, place.clone());
            self.dirty.insert(place);
        }
    }

    fn look_at(&mut self, cluster: &Arc<Cluster>, place: &Place) {
        let (group, plural, namespace, name) = place;
        let catalog = cluster.catalog();
        let Some(resource) = catalog.find_plural(group, plural) else { return };
        let Some(stored) = cluster.store.get(resource.table, &object_key(namespace, name)) else { return };
        let object = live_object(resource, &stored);
        let metadata = &object["metadata"];
        let finalizers: Vec<&str> =
            metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if metadata["deletionTimestamp"].is_string() {
            let uid = metadata["uid"].as_str().unwrap_or("");
            let dependents = self.dependents.get(uid).cloned().unwrap_or_default();
            if finalizers.contains(&"orphan") {
                for dependent in &dependents {
                    disown(cluster, dependent, uid);
                }
                release(cluster, resource, namespace, name, "orphan");
            } else if finalizers.contains(&"foregroundDeletion") {
                let mut waiting = false;
                for dependent in &dependents {
                    waiting |= self.delete_dependent(cluster, dependent, uid);
                }
                if !waiting {
                    release(cluster, resource, namespace, name, "foregroundDeletion");
                }
            }
            return;
        }
        let (there, gone): (Vec<_>, Vec<_>) =
            references(metadata).into_iter().partition(|owner| exists(cluster, namespace, owner));
        if there.is_empty() && !gone.is_empty() {
            let uid = metadata["uid"].as_str().map(str::to_owned);
            let options =
                DeleteOptions { propagation: Some(Propagation::Background), uid, ..DeleteOptions::default() };
            // If it is gone or another one by now, that is as good.
            let _ = delete_object(cluster, resource, namespace, name, &options);
        }
        if !there.is_empty() {
            for owner in gone {
                disown(cluster, place, owner["uid"].as_str().unwrap_or(""));
            }
        }
    }

    /// Deletes a dependent of an owner that waits; true if the owner has to go on waiting for it.
    fn delete_dependent(&self, cluster: &Arc<Cluster>, place: &Place, owner: &str) -> bool {
        let (group, plural, namespace, name) = place;
        let catalog = cluster.catalog();
        let Some(resource) = catalog.find_plural(group, plural) else { return false };
        let key = object_key(namespace, name);
        let Some(stored) = cluster.store.get(resource.table, &key) else { return false };
        let object = live_object(resource, &stored);
        let metadata = &object["metadata"];
        let (this, others): (Vec<_>, Vec<_>) =
            references(metadata).into_iter().partition(|reference| reference["uid"] == *owner);
        if !this.iter().any(|reference| reference["blockOwnerDeletion"] == true) {
            return false;
        }
        let stays = |other: &Value| {
            !self.going.contains_key(other["uid"].as_str().unwrap_or("")) && exists(cluster, namespace, other)
        };
        if others.iter().any(stays) {
            // It lives on with the other owner.
            disown(cluster, place, owner);
            return false;
        }
        if !metadata["deletionTimestamp"].is_string() {
            let uid = metadata["uid"].as_str().unwrap_or("");
            let parent = self.dependents.get(uid).is_some_and(|dependents| !dependents.is_empty());
            let propagation = if parent { Propagation::Foreground } else { Propagation::Background };
            let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
            // If somebody else was faster, that is as good.
            let _ = delete_object(cluster, resource, namespace, name, &options);
        }
        cluster.store.get(resource.table, &key).is_some()
    }
}

fn references(metadata: &Value) -> Vec<Value> {
    metadata["ownerReferences"].as_array().cloned().unwrap_or_default()
}

/// Whether the owner that a reference names is there, under the same uid.
fn exists(cluster: &Cluster, namespace: &str, owner: &Value) -> bool {
    let text = |field: &str| owner[field].as_str().unwrap_or("");
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let catalog = cluster.catalog();
    // A kind that nobody serves may come back; what it owns is not garbage yet.
    let Some(resource) = catalog.find_kind(group, version, text("kind")) else { return true };
    // A cluster-scoped object cannot have an owner in a namespace: such a reference means nothing.
    if resource.namespaced && namespace.is_empty() {
        return true;
    }
    let home = if resource.namespaced { namespace } else { "" };
    let Some(stored) = cluster.store.get(resource.table, &object_key(home, text("name"))) else {
        return false;
    };
    stored.object().get("metadata").is_some_and(|metadata| metadata["uid"] == owner["uid"])
}

/// Takes an owner out of a dependent.
fn disown(cluster: &Arc<Cluster>, (group, plural, namespace, name): &Place, uid: &str) {
    change_metadata(cluster, (group, plural, namespace, name), |metadata| {
        retain(metadata, "ownerReferences", |owner| owner["uid"] != *uid);
    });
}

/// Takes away the finalizer that made an owner wait.
fn release(cluster: &Arc<Cluster>, resource: &Resource, namespace: &str, name: &str, finalizer: &str) {
    change_metadata(cluster, (&resource.group, &resource.plural, namespace, name), |metadata| {
        retain(metadata, "finalizers", |one| one != finalizer);
    });
}

/// Takes entries out of a list, and with the last one the list.
fn retain(metadata: &mut Value, field: &str, keep: impl Fn(&Value) -> bool) {
    let Value::Object(fields) = metadata else { return };
    let Some(Value::Array(list)) = fields.get_mut(field) else { return };
    list.retain(keep);
    if list.is_empty() {
        fields.remove(field);
    }
}

fn change_metadata(
    cluster: &Arc<Cluster>,
    (group, plural, namespace, name): (&str, &str, &str, &str),
    change: impl Fn(&mut Value),
) {
    let catalog = cluster.catalog();
    let Some(resource) = catalog.find_plural(group, plural) else { return };
    let options = WriteOptions::internal("garbage-collector");
    // Fails only if the object is not there any more.
    let _ = update_object(cluster, resource, namespace, name, &options, |live| {
        let mut object = live.clone();
        change(&mut object["metadata"]);
        Ok(Change::from(object))
    });
}
