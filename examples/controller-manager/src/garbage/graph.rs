//! Who owns what. No I/O: what is seen goes in, and what is to be done comes out.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_core::ApiResource;

/// The finalizer of an owner that waits for its dependents.
pub const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer of an owner that leaves its dependents behind.
pub const ORPHAN: &str = "orphan";

/// An object, as an owner reference names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Empty for those without.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: String,
}

/// An object that is there.
#[derive(Clone, Debug)]
pub struct Node {
    /// What requests for it need.
    pub resource: ApiResource,
    /// Which it is.
    pub identity: Identity,
    /// Whom it names as its owners.
    pub owners: Vec<OwnerReference>,
    /// It was told to go.
    pub is_going: bool,
    /// It was told to go, and waits for its dependents.
    pub waits_for_dependents: bool,
    /// It was told to go, and leaves its dependents behind.
    leaves_dependents: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Todo {
    /// Look whether the object of this uid has an owner left, or what it waits for.
    Delete(String),
    /// Let go of the dependents of the owner of this uid.
    Orphan(String),
}

/// All objects that are there, and who owns them.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: HashMap<String, Node>,
    /// For each uid, whether it is there or not, those who name it as their owner.
    dependents: HashMap<String, BTreeSet<String>>,
}

impl Graph {
    /// An object is there, or has changed.
    pub fn seen(&mut self, resource: &ApiResource, meta: &ObjectMeta) -> Vec<Todo> {
        let node = Node::new(resource, meta);
        let uid = node.identity.uid.clone();
        let mut todo = BTreeSet::new();
        let before = self.nodes.remove(&uid);
        let known = |node: Option<&Node>| -> BTreeSet<String> {
            node.iter().flat_map(|node| node.owners.iter().map(|owner| owner.uid.clone())).collect()
        };
        let (had, has) = (known(before.as_ref()), known(Some(&node)));
        for owner in had.difference(&has) {
            self.disown(owner, &uid, &mut todo);
        }
        for owner in has.difference(&had) {
            self.dependents.entry(owner.clone()).or_default().insert(uid.clone());
        }
        // One that blocks its owner no more may have been what the owner waits for.
        for owner in has.intersection(&had).filter(|owner| self.waits(owner)) {
            todo.insert(Todo::Delete(owner.clone()));
        }
        let is_there = |owner: &OwnerReference| {
            // One of another namespace, or with another name, is not the one that is meant.
            self.nodes.get(&owner.uid).map(|node| &node.identity).is_some_and(|there| {
                let reachable = there.namespace.is_empty() || there.namespace == node.identity.namespace;
                reachable && there.name == owner.name && there.kind == owner.kind
            })
        };
        let orphans = !node.owners.iter().all(is_there);
        let owner_waits = has.iter().any(|owner| self.waits(owner));
        let other_owners = before.is_some() && had != has;
        if (before.is_none() && orphans) || other_owners || owner_waits {
            todo.insert(Todo::Delete(uid.clone()));
        }
        let waited = before.as_ref().is_some_and(|before| before.waits_for_dependents);
        let left = before.as_ref().is_some_and(|before| before.leaves_dependents);
        if node.waits_for_dependents && !waited {
            let dependents = self.dependents.get(&uid).into_iter().flatten();
            todo.extend(dependents.map(|dependent| Todo::Delete(dependent.clone())));
            todo.insert(Todo::Delete(uid.clone()));
        }
        if node.leaves_dependents && !left {
            todo.insert(Todo::Orphan(uid.clone()));
        }
        self.nodes.insert(uid, node);
        todo.into_iter().collect()
    }

    /// An object is gone.
    pub fn gone(&mut self, uid: &str) -> Vec<Todo> {
        let mut todo = BTreeSet::new();
        if let Some(node) = self.nodes.remove(uid) {
            for owner in &node.owners {
                self.disown(&owner.uid, uid, &mut todo);
            }
        }
        let dependents = self.dependents.get(uid).into_iter().flatten();
        todo.extend(dependents.map(|dependent| Todo::Delete(dependent.clone())));
        todo.into_iter().collect()
    }

    /// An object that is there.
    pub fn node(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// Those that are there and name this one as their owner.
    pub fn dependents(&self, uid: &str) -> Vec<&Node> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        dependents.filter_map(|dependent| self.nodes.get(dependent)).collect()
    }

    /// The owner that a reference of an object in a namespace names, if it is there and is what the reference says.
    pub fn owner(&self, reference: &OwnerReference, namespace: &str) -> Option<&Node> {
        let group = |api_version: &str| api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
        self.nodes.get(&reference.uid).filter(|node| {
            let identity = &node.identity;
            identity.name == reference.name
                && identity.kind == reference.kind
                && group(&identity.api_version) == group(&reference.api_version)
                && (identity.namespace.is_empty() || identity.namespace == namespace)
        })
    }

    fn waits(&self, uid: &str) -> bool {
        self.nodes.get(uid).is_some_and(|owner| owner.waits_for_dependents)
    }

    fn disown(&mut self, owner: &str, dependent: &str, todo: &mut BTreeSet<Todo>) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
        if self.waits(owner) {
            todo.insert(Todo::Delete(owner.to_owned()));
        }
    }
}

impl Node {
    fn new(resource: &ApiResource, meta: &ObjectMeta) -> Self {
        let is_going = meta.deletion_timestamp.is_some();
        let has = |finalizer: &str| meta.finalizers.iter().flatten().any(|one| one == finalizer);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            resource: resource.clone(),
            identity: Identity {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
                namespace: text(&meta.namespace),
                name: text(&meta.name),
                uid: text(&meta.uid),
            },
            owners: meta.owner_references.clone().unwrap_or_default(),
            is_going,
            waits_for_dependents: is_going && has(FOREGROUND),
            leaves_dependents: is_going && has(ORPHAN),
        }
    }

    /// It keeps this owner from going.
    pub fn blocks(&self, owner: &str) -> bool {
        self.owners
            .iter()
            .any(|reference| reference.uid == owner && reference.block_owner_deletion == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use kube_core::GroupVersionKind;
    use serde_json::{Value, json};

    use super::*;

    fn see(graph: &mut Graph, uid: &str, owners: &[&str], more: &Value) -> Vec<Todo> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let owners: Vec<Value> = owners
            .iter()
            .map(|uid| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid, "blockOwnerDeletion": true}))
            .collect();
        let mut meta = json!({"name": uid, "namespace": "a", "uid": uid, "ownerReferences": owners});
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        graph.seen(&resource, &serde_json::from_value(meta).unwrap())
    }

    fn delete(uids: &[&str]) -> Vec<Todo> {
        uids.iter().map(|uid| Todo::Delete((*uid).to_owned())).collect()
    }

    fn going(finalizer: &str) -> Value {
        json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer]})
    }

    #[test]
    fn dependents_of_one_that_is_gone_are_looked_at_also_if_they_came_first() {
        let mut graph = Graph::default();
        assert_eq!(
            see(&mut graph, "child", &["parent"], &json!({})),
            delete(&["child"]),
            "where is its owner?"
        );
        assert_eq!(see(&mut graph, "parent", &[], &json!({})), []);
        assert_eq!(see(&mut graph, "second", &["parent"], &json!({})), []);
        assert_eq!(graph.dependents("parent").len(), 2);
        assert_eq!(graph.gone("parent"), delete(&["child", "second"]));
        assert_eq!(graph.gone("child"), []);
        assert_eq!(graph.gone("nobody"), []);
    }

    #[test]
    fn one_that_waits_for_its_dependents_is_looked_at_when_one_of_them_goes() {
        let mut graph = Graph::default();
        see(&mut graph, "parent", &[], &json!({}));
        see(&mut graph, "child", &["parent"], &json!({}));
        see(&mut graph, "other", &["parent"], &json!({}));
        let todo = see(&mut graph, "parent", &[], &going(FOREGROUND));
        assert_eq!(todo, delete(&["child", "other", "parent"]));
        assert_eq!(see(&mut graph, "parent", &[], &going(FOREGROUND)), [], "told once");
        assert_eq!(graph.gone("child"), delete(&["parent"]));
        assert_eq!(see(&mut graph, "other", &[], &json!({})), delete(&["other", "parent"]), "let go");
    }

    #[test]
    fn one_that_leaves_its_dependents_behind_is_told_once() {
        let mut graph = Graph::default();
        see(&mut graph, "parent", &[], &json!({}));
        assert_eq!(see(&mut graph, "parent", &[], &going(ORPHAN)), [Todo::Orphan("parent".to_owned())]);
        assert_eq!(see(&mut graph, "parent", &[], &going(ORPHAN)), []);
    }

    #[test]
    fn an_owner_is_only_who_the_reference_says() {
        let mut graph = Graph::default();
        see(&mut graph, "parent", &[], &json!({}));
        let reference = |change: &Value| -> OwnerReference {
            let mut reference =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": "parent"});
            reference.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            serde_json::from_value(reference).unwrap()
        };
        assert!(graph.owner(&reference(&json!({})), "a").is_some());
        assert!(graph.owner(&reference(&json!({})), "b").is_none(), "of another namespace");
        for wrong in [json!({"kind": "Secret"}), json!({"name": "other"}), json!({"uid": "other"})] {
            assert!(graph.owner(&reference(&wrong), "a").is_none(), "{wrong}");
        }
    }
}
