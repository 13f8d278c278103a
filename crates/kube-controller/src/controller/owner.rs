//! From an object to those who own it.

use std::any::TypeId;

use k8s_openapi::ClusterResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_core::Resource;
use kube_informer::object::ObjectName;

/// The kind that owns others. Owners are told by group and kind, in whatever version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    group: String,
    kind: String,
    namespaced: bool,
}

/// Which owners of an object are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owners {
    /// The one that controls it.
    #[default]
    Controller,
    /// Each of them.
    Every,
}

impl Owner {
    /// A kind as its type says it.
    pub fn of<K: Resource<DynamicType = (), Scope: 'static>>() -> Self {
        let cluster = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        Self::new(K::group(&()), K::kind(&()), !cluster)
    }

    /// A kind by name; the group is empty for the core group.
    pub fn new(group: impl Into<String>, kind: impl Into<String>, namespaced: bool) -> Self {
        Self { group: group.into(), kind: kind.into(), namespaced }
    }

    /// The owners of an object that are of this kind, each once.
    pub fn find(&self, object: &ObjectMeta, which: Owners) -> Vec<ObjectName> {
        let mut found: Vec<ObjectName> = Vec::new();
        for reference in object.owner_references.iter().flatten().filter(|one| self.is_meant(one, which)) {
            let namespace = object.namespace.as_ref().filter(|_| self.namespaced);
            let owner = ObjectName::new(namespace.cloned().unwrap_or_default(), reference.name.as_str());
            if !found.contains(&owner) {
                found.push(owner);
            }
        }
        found
    }

    fn is_meant(&self, reference: &OwnerReference, which: Owners) -> bool {
        (which == Owners::Every || reference.controller == Some(true))
            && reference.kind == self.kind
            && group_of(&reference.api_version).is_some_and(|group| group == self.group)
    }
}

/// The group in `apps/v1`, or the core group in `v1`; none if it is neither.
fn group_of(api_version: &str) -> Option<&str> {
    match api_version.split_once('/') {
        None => Some(""),
        Some((group, version)) => (!version.contains('/')).then_some(group),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::Node;
    use serde_json::json;

    use super::*;

    fn owned(references: &serde_json::Value) -> ObjectMeta {
        let meta = json!({"namespace": "shop", "name": "x", "ownerReferences": references});
        serde_json::from_value(meta).unwrap()
    }

    fn found(owner: &Owner, meta: &ObjectMeta, which: Owners) -> Vec<String> {
        owner.find(meta, which).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_owner_is_told_by_group_and_kind_in_whatever_version() {
        let meta = owned(&json!([
            {"apiVersion": "apps/v1beta7", "kind": "ReplicaSet", "name": "a", "uid": "1", "controller": true},
            {"apiVersion": "other/v1", "kind": "ReplicaSet", "name": "b", "uid": "2"},
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "c", "uid": "3"},
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "d", "uid": "4"},
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "d", "uid": "5"},
        ]));
        let owner = Owner::of::<ReplicaSet>();
        assert_eq!(found(&owner, &meta, Owners::Controller), ["shop/a"]);
        assert_eq!(found(&owner, &meta, Owners::Every), ["shop/a", "shop/d"]);
        assert!(found(&Owner::of::<Node>(), &meta, Owners::Every).is_empty());
        assert!(found(&owner, &ObjectMeta::default(), Owners::Every).is_empty());
    }

    #[test]
    fn an_owner_without_a_namespace_is_named_without_one() {
        let meta = owned(&json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "1"}]));
        assert_eq!(found(&Owner::of::<Node>(), &meta, Owners::Every), ["n1"]);
        assert_eq!(found(&Owner::new("", "Node", true), &meta, Owners::Every), ["shop/n1"]);
    }

    #[test]
    fn a_version_that_is_none_owns_nothing() {
        let meta =
            owned(&json!([{"apiVersion": "apps/v1/x", "kind": "ReplicaSet", "name": "a", "uid": "1"}]));
        assert!(found(&Owner::of::<ReplicaSet>(), &meta, Owners::Every).is_empty());
    }
}
