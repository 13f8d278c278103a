//! Reads that ask the server.

use http::Request;
use kube_client::Client;
use kube_core::{DynamicObject, Resource};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::entry::About;
use super::{CacheError, Query};
use crate::lister::NotFound;
use crate::object::Object;
use crate::source::SourceError;

/// What a list has.
#[derive(Deserialize)]
struct Items<K> {
    items: Vec<K>,
}

/// The object of a name.
pub(super) async fn get<K: Resource + DeserializeOwned>(
    client: &Client,
    about: &About,
    namespace: &str,
    name: &str,
) -> Result<Object<K>, CacheError> {
    let path = format!("{}/{name}", path(about, Some(namespace)));
    match ask(client, about, &path).await {
        Err(CacheError::Server { cause, .. }) if cause.code == 404 => Err(CacheError::NotFound(NotFound {
            group: about.resource.group.clone(),
            plural: about.resource.resource.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })),
        found => found.map(Object::new),
    }
}

/// The objects that a query asks for. A server has no indexes.
pub(super) async fn list<K: Resource + DeserializeOwned>(
    client: &Client,
    about: &About,
    query: &Query,
) -> Result<Vec<Object<K>>, CacheError> {
    if let Some((name, _)) = query.terms.first() {
        return Err(CacheError::NoIndex { resource: about.name(), name: name.clone() });
    }
    let mut parameters = form_urlencoded::Serializer::new(String::new());
    if !query.labels.to_string().is_empty() {
        parameters.append_pair("labelSelector", &query.labels.to_string());
    }
    if let Some(limit) = query.limit {
        parameters.append_pair("limit", &limit.to_string());
    }
    let path = format!("{}?{}", path(about, query.namespace.as_deref()), parameters.finish());
    let list: Items<K> = ask(client, about, &path).await?;
    Ok(list.items.into_iter().map(Object::new).collect())
}

async fn ask<T: DeserializeOwned>(client: &Client, about: &About, path: &str) -> Result<T, CacheError> {
    let failed = |cause| CacheError::Server { resource: about.name(), cause };
    let request = Request::get(path).body(Vec::new());
    let request = request.map_err(|error| failed(SourceError::connection(&error)))?;
    client.request(request).await.map_err(|error| failed(SourceError::of_client(&error)))
}

fn path(about: &About, namespace: Option<&str>) -> String {
    let namespace = namespace.filter(|name| about.namespaced != Some(false) && !name.is_empty());
    DynamicObject::url_path(&about.api, namespace)
}
