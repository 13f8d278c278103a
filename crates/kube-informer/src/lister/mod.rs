//! Reading the copy the way controllers do: by name, by namespace, by label.

mod generic;

pub use generic::GenericLister;

use std::fmt;

use kube_core::{Resource, Selector};

use crate::object::{Object, key};
use crate::source::{Scope, resource_name};
use crate::store::{Selected, Store};

/// Reads objects of a kind from a store.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::Selector;
/// use kube_informer::lister::Lister;
/// use kube_informer::store::Store;
///
/// let pods = Lister::new(Store::<Pod>::new(), &());
/// let web: Selector = [("app", "web")].into_iter().collect();
/// assert!(pods.namespaced("default").list(&web).is_empty());
/// let missing = pods.namespaced("default").get("web-1").unwrap_err();
/// assert_eq!(missing.to_string(), "pods \"default/web-1\" not found");
/// ```
pub struct Lister<K> {
    store: Store<K>,
    group: String,
    plural: String,
}

/// Reads objects of a kind in one namespace from a store.
pub struct NamespacedLister<'a, K> {
    lister: &'a Lister<K>,
    namespace: &'a str,
}

/// There is no object of that name in the copy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {:?} not found", self.resource(), key(&self.namespace, &self.name))]
#[non_exhaustive]
pub struct NotFound {
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural name of the resource.
    pub plural: String,
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// The name that was asked for.
    pub name: String,
}

impl NotFound {
    /// `deployments.apps`, or `pods` in the core group.
    pub fn resource(&self) -> String {
        resource_name(&self.plural, &self.group)
    }
}

impl<K: Resource> Lister<K> {
    /// Reads from a store.
    pub fn new(store: Store<K>, kind: &K::DynamicType) -> Self {
        Self { store, group: K::group(kind).into_owned(), plural: K::plural(kind).into_owned() }
    }

    /// Reads from a store of which it is known elsewhere what it has.
    pub(crate) fn named(store: Store<K>, scope: &Scope) -> Self {
        Self { store, group: scope.group.clone(), plural: scope.plural.clone() }
    }

    /// What is listed: `deployments.apps`, or `pods` in the core group.
    pub fn resource(&self) -> String {
        resource_name(&self.plural, &self.group)
    }

    /// All objects with these labels, in no order.
    pub fn list(&self, selector: &Selector) -> Vec<Object<K>> {
        self.select(selector).to_vec()
    }

    /// All objects with these labels, in no order, to be looked at: none of them is touched before it is.
    pub fn select(&self, selector: &Selector) -> Selected<K> {
        Selected::new(self.store.snapshot(), None, selector)
    }

    /// A cluster-scoped object.
    pub fn get(&self, name: &str) -> Result<Object<K>, NotFound> {
        self.find("", name)
    }

    /// The objects of one namespace; of all if it is empty.
    pub fn namespaced<'a>(&'a self, namespace: &'a str) -> NamespacedLister<'a, K> {
        NamespacedLister { lister: self, namespace }
    }

    /// All objects with these labels, or those of one namespace.
    fn within(&self, namespace: Option<&str>, selector: &Selector) -> Vec<Object<K>> {
        Selected::new(self.store.snapshot(), namespace, selector).to_vec()
    }

    fn find(&self, namespace: &str, name: &str) -> Result<Object<K>, NotFound> {
        self.store.get(namespace, name).ok_or_else(|| NotFound {
            group: self.group.clone(),
            plural: self.plural.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl<K: Resource> NamespacedLister<'_, K> {
    /// All objects of the namespace with these labels, in no order.
    pub fn list(&self, selector: &Selector) -> Vec<Object<K>> {
        self.select(selector).to_vec()
    }

    /// All objects of the namespace with these labels, in no order, to be looked at: none of them is touched before it
    /// is.
    pub fn select(&self, selector: &Selector) -> Selected<K> {
        let namespace = Some(self.namespace).filter(|namespace| !namespace.is_empty());
        Selected::new(self.lister.store.snapshot(), namespace, selector)
    }

    /// An object of the namespace.
    pub fn get(&self, name: &str) -> Result<Object<K>, NotFound> {
        self.lister.find(self.namespace, name)
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), group: self.group.clone(), plural: self.plural.clone() }
    }
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister")
            .field("plural", &self.plural)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for NamespacedLister<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespacedLister")
            .field("namespace", &self.namespace)
            .field("lister", &self.lister)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{Node, Pod};
    use kube_core::Expression;
    use serde_json::json;

    use super::*;
    use crate::store::Write;

    fn pods() -> Lister<Pod> {
        let store = Store::new();
        let pod = |namespace: &str, name: &str, app: &str| {
            let metadata = json!({"namespace": namespace, "name": name, "labels": {"app": app}});
            let object = serde_json::from_value(json!({"metadata": metadata})).unwrap();
            Write::Put(Object::new(object))
        };
        store.write(vec![pod("a", "x", "web"), pod("a", "y", "db"), pod("b", "x", "web")], None);
        Lister::new(store, &())
    }

    fn keys(objects: &[Object<Pod>]) -> Vec<&str> {
        let mut keys: Vec<&str> = objects.iter().map(Object::key).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn objects_are_listed_by_namespace_and_label() {
        let pods = pods();
        let web = Selector::from(Expression::Equal("app".to_owned(), "web".to_owned()));
        assert_eq!(keys(&pods.list(&Selector::default())), ["a/x", "a/y", "b/x"]);
        assert_eq!(keys(&pods.list(&web)), ["a/x", "b/x"]);
        assert_eq!(keys(&pods.namespaced("a").list(&web)), ["a/x"]);
        assert_eq!(keys(&pods.namespaced("a").list(&Selector::default())), ["a/x", "a/y"]);
        assert_eq!(keys(&pods.namespaced("nowhere").list(&web)), Vec::<&str>::new());
        let nothing = Selector::from(Expression::In("app".to_owned(), [].into()));
        assert_eq!(keys(&pods.list(&nothing)), Vec::<&str>::new());
    }

    #[test]
    fn what_is_not_there_says_which_resource_it_is() {
        let pods = pods();
        assert_eq!(pods.namespaced("a").get("x").unwrap().key(), "a/x");
        let error = pods.namespaced("b").get("y").unwrap_err();
        assert_eq!(
            (error.resource().as_str(), error.namespace.as_str(), error.name.as_str()),
            ("pods", "b", "y")
        );
        let nodes = Lister::new(Store::<Node>::new(), &());
        assert_eq!(nodes.get("n").unwrap_err().to_string(), "nodes \"n\" not found");
        let deployments = Lister::new(Store::<Deployment>::new(), &());
        assert_eq!(deployments.namespaced("a").get("d").unwrap_err().resource(), "deployments.apps");
    }

    #[test]
    fn a_generic_lister_reads_without_knowing_the_type_and_finds_it_again() {
        let generic = GenericLister::from(pods());
        assert_eq!(generic.resource(), "pods");
        let web = Selector::from(Expression::Equal("app".to_owned(), "web".to_owned()));
        assert_eq!((generic.list(&web).len(), generic.list_namespaced("a", &web).len()), (2, 1));
        let object = generic.get("a", "x").unwrap();
        assert_eq!(object.metadata().labels.as_ref().unwrap()["app"], "web");
        assert!(object.downcast::<Pod>().unwrap().is_same(&pods_object(&generic)));
        assert!(object.downcast::<Node>().is_none());
        assert_eq!(generic.get("a", "z").unwrap_err().to_string(), "pods \"a/z\" not found");
    }

    fn pods_object(generic: &GenericLister) -> Object<Pod> {
        generic.get("a", "x").unwrap().downcast().unwrap()
    }
}
