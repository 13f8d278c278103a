//! Reads that ask the server.

use http::{Request, header};
use kube_client::Client;
use kube_core::{DynamicObject, Resource};
use kube_wire::DecodeOptions;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::entry::About;
use super::{CacheError, Query};
use crate::lister::NotFound;
use crate::object::{Lens, Object};
use crate::source::{SourceError, is_segment};

/// What a list has.
#[derive(Deserialize)]
struct Items<K> {
    items: Vec<K>,
}

/// The object of a name.
pub(super) async fn get<K: Resource + DeserializeOwned + 'static>(
    client: &Client,
    about: &About,
    lens: &Lens<K>,
    namespace: &str,
    name: &str,
) -> Result<Object<K>, CacheError> {
    let not_found = || {
        CacheError::NotFound(NotFound {
            group: about.resource.group.clone(),
            plural: about.resource.resource.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    };
    if !is_segment(name) || !(namespace.is_empty() || is_segment(namespace)) {
        return Err(not_found());
    }
    let path = format!("{}/{name}", path(about, Some(namespace)));
    match ask(client, about, &path, Form::of(lens, "PartialObjectMetadata")).await {
        Err(CacheError::Server { cause, .. }) if cause.code == 404 => Err(not_found()),
        found => found.map(|object| Object::new(lens.completed(object))),
    }
}

/// The objects that a query asks for. A server has no indexes.
pub(super) async fn list<K: Resource + DeserializeOwned + 'static>(
    client: &Client,
    about: &About,
    lens: &Lens<K>,
    namespace: Option<&str>,
    query: &Query,
) -> Result<Vec<Object<K>>, CacheError> {
    if let Some((name, _)) = query.terms.first() {
        return Err(CacheError::NoIndex { resource: about.name(), name: name.clone() });
    }
    if query.limit == Some(0) || namespace.is_some_and(|namespace| !is_segment(namespace)) {
        return Ok(Vec::new());
    }
    let path = format!("{}?{}", path(about, namespace), parameters(query));
    let list: Items<K> = ask(client, about, &path, Form::of(lens, "PartialObjectMetadataList")).await?;
    Ok(list.items.into_iter().map(|object| Object::new(lens.completed(object))).collect())
}

/// Apart from what waits: a serializer cannot be sent from one thread to another.
fn parameters(query: &Query) -> String {
    let mut parameters = form_urlencoded::Serializer::new(String::new());
    let labels = query.labels.to_string();
    if !labels.is_empty() {
        parameters.append_pair("labelSelector", &labels);
    }
    if let Some(limit) = query.limit {
        parameters.append_pair("limit", &limit.to_string());
    }
    parameters.finish()
}

/// What is requested of an object or a list.
enum Form {
    Whole,
    /// The metadata alone, as this kind.
    Metadata(&'static str),
}

impl Form {
    /// The form that a type needs; `kind` is the one that has the metadata alone.
    fn of<K>(lens: &Lens<K>, kind: &'static str) -> Self {
        if lens.is_whole() { Self::Whole } else { Self::Metadata(kind) }
    }
}

async fn ask<T: DeserializeOwned + 'static>(
    client: &Client,
    about: &About,
    path: &str,
    form: Form,
) -> Result<T, CacheError> {
    let failed = |cause| CacheError::Server { resource: about.name(), cause };
    let accept = match form {
        Form::Whole => "application/json".to_owned(),
        Form::Metadata(kind) => format!("application/json;as={kind};g=meta.k8s.io;v=v1"),
    };
    let request = Request::get(path).header(header::ACCEPT, accept).body(Vec::new());
    let request = request.map_err(|error| failed(SourceError::connection(&error)))?;
    let said = client.request_text(request).await;
    let said = said.map_err(|error| failed(SourceError::of_client(&error)))?;
    read(&said).map_err(failed)
}

/// What a server's answer is as a type.
pub(super) fn read<T: DeserializeOwned + 'static>(said: &str) -> Result<T, SourceError> {
    let options = DecodeOptions::default().keep_managed_fields(true);
    kube_wire::decode_object(said.as_bytes(), options).map_err(|error| SourceError::garbled(error.why))
}

fn path(about: &About, namespace: Option<&str>) -> String {
    DynamicObject::url_path(&about.api, namespace.filter(|name| !name.is_empty()))
}
