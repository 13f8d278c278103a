//! Objects put in, changed and read without a request: seeding from YAML and direct mutation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::TestServer;
use crate::cluster::Cluster;
use crate::kinds::Resource;
use crate::selector::Selector;
use crate::status::ApiError;
use crate::storage::{PageQuery, object_key};
use crate::verbs::{
    Change, DeleteOptions, WriteOptions, create_object, delete_object, live_object, update_object,
};
use crate::yaml;

/// The namespaces that every cluster has.
const SYSTEM_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Why objects could not be put in, changed or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// The text is not YAML.
    #[error("the seed is not valid YAML: {0}")]
    Yaml(String),
    /// The object has no JSON form.
    #[error("the object cannot be written as JSON: {0}")]
    Json(String),
    /// A document has no `apiVersion` or `kind`.
    #[error("document {document} has no apiVersion or kind, so nobody knows what it is")]
    Untyped {
        /// Counted from 1.
        document: usize,
    },
    /// The server does not know the kind.
    #[error(
        "the server does not know the kind {kind:?} in {api_version}; kinds are written like Pod, and custom ones \
         need their CustomResourceDefinition first"
    )]
    UnknownKind {
        /// For example `example.com/v1`.
        api_version: String,
        /// For example `Widget`.
        kind: String,
    },
    /// The server refused the object.
    #[error("{kind} {name:?} was refused: {message}")]
    Refused {
        /// For example `Widget`.
        kind: String,
        /// The object's name.
        name: String,
        /// What a client would have been told.
        message: String,
        /// The HTTP code a client would have got.
        code: u16,
    },
}

impl TestServer {
    /// Creates the objects in a YAML (or JSON) text: one or many documents, `List`s taken apart.
    ///
    /// Unlike a create through the API, `status` is kept, namespaces that are missing are created, and objects
    /// that exist are replaced. Returns how many objects there were. If one is refused, those before it stay.
    pub fn seed(&self, yaml: &str) -> Result<usize, SeedError> {
        let documents = parse(yaml)?;
        let mut count = 0;
        for (at, document) in documents.into_iter().enumerate() {
            count += self.seed_document(at + 1, document)?;
        }
        Ok(count)
    }

    /// Creates or replaces one object, with its status. See [`seed`](Self::seed).
    pub fn put(&self, object: &impl serde::Serialize) -> Result<(), SeedError> {
        let value = serde_json::to_value(object).map_err(|error| SeedError::Json(error.to_string()))?;
        self.seed_document(1, value).map(|_| ())
    }

    /// Changes an object in place, as if somebody had updated it, whatever part of it: spec, status, metadata.
    ///
    /// `kind` is `v1/Pod` or `apps/v1/Deployment`; `namespace` is empty for cluster-scoped kinds.
    pub fn mutate(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        change: impl Fn(&mut Value),
    ) -> Result<(), SeedError> {
        let resource = self.resource(kind)?;
        let options = WriteOptions::internal("kube-testserver");
        update_object(&self.cluster, &resource, namespace, name, &options, |live| {
            let mut object = live.clone();
            change(&mut object);
            Ok(Change::from(object))
        })
        .map(|_| ())
        .map_err(|error| refuse(&resource.kind, name, &error))
    }

    /// Deletes an object, as a client would.
    pub fn delete(&self, kind: &str, namespace: &str, name: &str) -> Result<(), SeedError> {
        let resource = self.resource(kind)?;
        delete_object(&self.cluster, &resource, namespace, name, &DeleteOptions::default())
            .map(|_| ())
            .map_err(|error| refuse(&resource.kind, name, &error))
    }

    /// An object as it is now; none if it is not there.
    pub fn object(&self, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, SeedError> {
        let resource = self.resource(kind)?;
        let found = self.cluster.store.get(resource.table, &object_key(namespace, name));
        Ok(found.map(|stored| live_object(&resource, &stored)))
    }

    /// All objects of a kind, in the order of namespace and name.
    pub fn objects(&self, kind: &str) -> Result<Vec<Value>, SeedError> {
        let resource = self.resource(kind)?;
        let all = Selector::default();
        let query = PageQuery { namespace: "", selector: &all, at: None, after: None, limit: None };
        // The present is always there to be listed.
        let items =
            self.cluster.store.page(resource.table, &query).map(|page| page.items).unwrap_or_default();
        Ok(items.iter().map(|stored| live_object(&resource, stored)).collect())
    }

    /// Finds `v1/Pod` or `apps/v1/Deployment`.
    fn resource(&self, kind: &str) -> Result<Arc<Resource>, SeedError> {
        let (api_version, kind) = kind.rsplit_once('/').unwrap_or(("v1", kind));
        find(&self.cluster, api_version, kind)
    }

    fn seed_document(&self, number: usize, document: Value) -> Result<usize, SeedError> {
        if document.is_null() {
            return Ok(0);
        }
        let text = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or("").to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        // A kind of its own may be called a list: only what the server does not know is taken apart.
        if let Some(item_kind) = kind.strip_suffix("List")
            && let Some(Value::Array(items)) = document.get("items")
            && find(&self.cluster, &api_version, &kind).is_err()
        {
            let mut count = 0;
            for item in items {
                let Value::Object(mut item) = item.clone() else {
                    return Err(SeedError::Untyped { document: number });
                };
                // Items of a typed list leave out what the list says.
                if !item.contains_key("kind") {
                    item.insert("kind".to_owned(), json!(item_kind));
                    item.insert("apiVersion".to_owned(), json!(api_version));
                }
                count += self.seed_document(number, Value::Object(item))?;
            }
            return Ok(count);
        }
        if api_version.is_empty() || kind.is_empty() {
            return Err(SeedError::Untyped { document: number });
        }
        let resource = find(&self.cluster, &api_version, &kind)?;
        self.seed_object(&resource, document)?;
        Ok(1)
    }

    fn seed_object(&self, resource: &Arc<Resource>, mut object: Value) -> Result<(), SeedError> {
        let field = |object: &Value, field: &str| {
            object.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or("").to_owned()
        };
        let name = field(&object, "name");
        let namespace = match (resource.namespaced, field(&object, "namespace")) {
            (false, _) => String::new(),
            (true, namespace) if namespace.is_empty() => "default".to_owned(),
            (true, namespace) => namespace,
        };
        let refused = |error: ApiError| refuse(&resource.kind, &name, &error);
        if resource.namespaced {
            self.ensure_namespace(&namespace).map_err(refused)?;
        }
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("resourceVersion");
            metadata.remove("uid");
        }
        let options = WriteOptions::internal("kube-testserver");
        match create_object(&self.cluster, resource, &namespace, object.clone(), &options) {
            Ok(_) => Ok(()),
            Err(error) if error.reason == "AlreadyExists" => {
                let replace = |_: &Value| Ok(Change::from(object.clone()));
                update_object(&self.cluster, resource, &namespace, &name, &options, replace)
                    .map(|_| ())
                    .map_err(refused)
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn ensure_namespace(&self, name: &str) -> Result<(), ApiError> {
        let Some(namespaces) = self.cluster.builtin("", "namespaces") else { return Ok(()) };
        if self.cluster.store.get(namespaces.table, &object_key("", name)).is_some() {
            return Ok(());
        }
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let options = WriteOptions::internal("kube-testserver");
        match create_object(&self.cluster, &namespaces, "", home, &options) {
            Err(error) if error.reason != "AlreadyExists" => Err(error),
            _ => Ok(()),
        }
    }
}

/// Makes the namespaces that every cluster has.
pub(super) fn create_system_namespaces(cluster: &Arc<Cluster>) {
    let Some(namespaces) = cluster.builtin("", "namespaces") else { return };
    for name in SYSTEM_NAMESPACES {
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let options = WriteOptions::internal("kube-apiserver");
        if let Err(error) = create_object(cluster, &namespaces, "", home, &options) {
            tracing::error!(%error, name, "a system namespace could not be created");
        }
    }
}

fn parse(text: &str) -> Result<Vec<Value>, SeedError> {
    // JSON is YAML, but a JSON reader is many times faster.
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(vec![value]);
    }
    yaml::documents(text).map_err(|why| SeedError::Yaml(one_line(&why)))
}

/// Errors are one line, whatever their source makes of them.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn find(cluster: &Cluster, api_version: &str, kind: &str) -> Result<Arc<Resource>, SeedError> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    cluster
        .catalog()
        .find_kind(group, version, kind)
        .cloned()
        .ok_or_else(|| SeedError::UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() })
}

fn refuse(kind: &str, name: &str, error: &ApiError) -> SeedError {
    SeedError::Refused {
        kind: kind.to_owned(),
        name: name.to_owned(),
        message: error.message.clone(),
        code: error.code,
    }
}
