//! OpenAPI documents, made from the catalog when they are asked for.

use std::sync::Arc;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::kinds::{Resource, Verb, api_version};
use crate::schema::builtin;
use crate::schema::openapi::{self, OpenApiResource, OpenApiSubresource};
use crate::storage::object_key;

/// `/openapi/v3`: one document for each group and version.
pub(crate) fn index(cluster: &Cluster) -> Value {
    let catalog = cluster.catalog();
    let mut documents = Vec::new();
    for (group, versions) in catalog.groups() {
        for version in versions {
            let text = v3(cluster, group, version).unwrap_or_default().to_string();
            documents.push((group, version, openapi::content_hash(text.as_bytes())));
        }
    }
    openapi::v3_index(documents.iter().map(|(group, version, hash)| (*group, *version, hash.as_str())))
}

/// `/openapi/v3/apis/GROUP/VERSION`.
pub(crate) fn v3(cluster: &Cluster, group: &str, version: &str) -> Option<Value> {
    let catalog = cluster.catalog();
    let served: Vec<&Arc<Resource>> =
        catalog.iter().filter(|one| *one.group == *group && *one.version == *version).collect();
    if served.is_empty() {
        return None;
    }
    Some(described(cluster, &served, |resources| openapi::v3(group, version, resources)))
}

/// `/openapi/v2`: everything in one document.
pub(crate) fn v2(cluster: &Cluster) -> Value {
    let catalog = cluster.catalog();
    let served: Vec<&Arc<Resource>> = catalog.iter().collect();
    described(cluster, &served, openapi::v2)
}

/// Describes resources to the writer of a document.
fn described(
    cluster: &Cluster,
    served: &[&Arc<Resource>],
    write: impl FnOnce(&[OpenApiResource<'_>]) -> Value,
) -> Value {
    // Each list borrows from the one before.
    let schemas: Vec<Option<Value>> =
        served.iter().map(|resource| custom_schema(cluster, resource)).collect();
    let verbs: Vec<Vec<&str>> = served.iter().map(|resource| names(&resource.verbs)).collect();
    let sub_verbs: Vec<Vec<Vec<&str>>> = served
        .iter()
        .map(|resource| resource.subresources.iter().map(|sub| names(&sub.verbs)).collect())
        .collect();
    let subresources: Vec<Vec<OpenApiSubresource<'_>>> = served
        .iter()
        .zip(&sub_verbs)
        .map(|(resource, verbs)| {
            resource
                .subresources
                .iter()
                .zip(verbs)
                .map(|(sub, verbs)| describe_sub(resource, sub, verbs))
                .collect()
        })
        .collect();
    let resources: Vec<OpenApiResource<'_>> = served
        .iter()
        .enumerate()
        .map(|(at, resource)| OpenApiResource {
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
            plural: &resource.plural,
            namespaced: resource.namespaced,
            verbs: &verbs[at],
            subresources: &subresources[at],
            ty: resource.type_ref(),
            raw_schema: schemas[at].as_ref(),
        })
        .collect();
    write(&resources)
}

fn describe_sub<'a>(
    resource: &'a Resource,
    sub: &'a crate::kinds::Subresource,
    verbs: &'a [&'a str],
) -> OpenApiSubresource<'a> {
    let own = (&*resource.group, &*resource.version);
    let (group, version) = sub.api_version.as_ref().map_or(own, |(group, version)| (&**group, &**version));
    OpenApiSubresource {
        name: &sub.name,
        group,
        version,
        kind: &sub.kind,
        verbs,
        ty: if sub.kind == resource.kind {
            None
        } else {
            builtin().root(&api_version(group, version), &sub.kind)
        },
    }
}

fn names(verbs: &[Verb]) -> Vec<&'static str> {
    verbs.iter().map(|verb| verb.as_str()).collect()
}

/// The schema of a custom resource, as its author wrote it.
fn custom_schema(cluster: &Cluster, resource: &Resource) -> Option<Value> {
    resource.custom.as_ref()?;
    let definitions = cluster.builtin("apiextensions.k8s.io", "customresourcedefinitions")?;
    let key = object_key("", &format!("{}.{}", resource.plural, resource.group));
    let definition = Value::Object(cluster.store.get(definitions.table, &key)?.object());
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let version = versions.iter().find(|version| version["name"] == *resource.version)?;
    version.pointer("/schema/openAPIV3Schema").cloned()
}
