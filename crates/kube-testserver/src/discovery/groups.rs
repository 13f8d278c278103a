//! Groups, versions and resources, in the old form and the aggregated one.

use serde_json::{Map, Value, json};

use crate::kinds::{Catalog, Resource, Subresource, Verb, api_version};

/// `/apis`.
pub(crate) fn group_list(catalog: &Catalog) -> Value {
    let groups: Vec<Value> = catalog
        .groups()
        .into_iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, versions)| group_object(name, &versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub(crate) fn group(catalog: &Catalog, name: &str) -> Option<Value> {
    let (_, versions) = catalog.groups().into_iter().find(|(found, _)| *found == name)?;
    let mut group = group_object(name, &versions);
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Some(group)
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resource_list(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for resource in served(catalog, group, version) {
        resources.push(resource_object(catalog, resource));
        resources.extend(resource.subresources.iter().map(|sub| subresource_object(resource, sub)));
    }
    if resources.is_empty() {
        return None;
    }
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version(group, version),
        "resources": resources,
    }))
}

/// `/api` or `/apis`, with everything below them in one answer.
pub(crate) fn aggregated(catalog: &Catalog, core: bool) -> Value {
    let items: Vec<Value> = catalog
        .groups()
        .into_iter()
        .filter(|(name, _)| name.is_empty() == core)
        .map(|(name, versions)| {
            let versions: Vec<Value> =
                versions.iter().map(|version| aggregated_version(catalog, name, version)).collect();
            let metadata = if core { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

/// `/`.
pub(crate) fn paths(catalog: &Catalog) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in catalog.groups().into_iter().filter(|(group, _)| !group.is_empty()) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(
        ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned),
    );
    paths.sort();
    paths
}

fn served<'a>(catalog: &'a Catalog, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Resource> {
    catalog
        .iter()
        .map(|resource| &**resource)
        .filter(move |resource| *resource.group == *group && *resource.version == *version)
}

fn group_object(name: &str, versions: &[&str]) -> Value {
    let entry = |version: &&str| json!({"groupVersion": api_version(name, version), "version": version});
    let entries: Vec<Value> = versions.iter().map(entry).collect();
    json!({"name": name, "preferredVersion": entries.first(), "versions": entries})
}

fn resource_object(catalog: &Catalog, resource: &Resource) -> Value {
    let mut object = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource_verbs(resource),
    });
    if !resource.short_names.is_empty() {
        object["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        object["categories"] = json!(resource.categories);
    }
    if let Some(hash) = resource.storage_version_hash(catalog) {
        object["storageVersionHash"] = json!(hash);
    }
    object
}

fn subresource_object(resource: &Resource, sub: &Subresource) -> Value {
    let mut object = json!({
        "name": format!("{}/{}", resource.plural, sub.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": sub.kind,
        "verbs": verbs(&sub.verbs),
    });
    if let Some((group, version)) = &sub.api_version {
        object["group"] = json!(group);
        object["version"] = json!(version);
    }
    object
}

fn aggregated_version(catalog: &Catalog, group: &str, version: &str) -> Value {
    let mut listed: Vec<&Resource> = served(catalog, group, version).collect();
    // Built-in resources are in order already; custom ones come as they were defined.
    listed.sort_by_key(|resource| resource.custom.is_some().then(|| resource.plural.clone()));
    let resources: Vec<Value> = listed
        .into_iter()
        .map(|resource| {
            // Group and version are left empty where they are those of the list, but not for custom resources.
            let own = resource.custom.is_some().then(|| (resource.group.clone(), resource.version.clone()));
            let mut object = Map::new();
            object.insert("resource".to_owned(), json!(resource.plural));
            object.insert("responseKind".to_owned(), response_kind(&own, &resource.kind));
            let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
            object.insert("scope".to_owned(), json!(scope));
            object.insert("singularResource".to_owned(), json!(resource.singular));
            object.insert("verbs".to_owned(), json!(resource_verbs(resource)));
            if !resource.short_names.is_empty() {
                object.insert("shortNames".to_owned(), json!(resource.short_names));
            }
            if !resource.categories.is_empty() {
                object.insert("categories".to_owned(), json!(resource.categories));
            }
            if !resource.subresources.is_empty() {
                let subresource = |sub: &Subresource| {
                    json!({
                        "subresource": sub.name,
                        "responseKind": response_kind(if sub.api_version.is_some() { &sub.api_version } else { &own }, &sub.kind),
                        "verbs": verbs(&sub.verbs),
                    })
                };
                let all: Vec<Value> = resource.subresources.iter().map(subresource).collect();
                object.insert("subresources".to_owned(), Value::Array(all));
            }
            Value::Object(object)
        })
        .collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn response_kind(api_version: &Option<(Box<str>, Box<str>)>, kind: &str) -> Value {
    let (group, version) = api_version.as_ref().map_or(("", ""), |(group, version)| (group, version));
    json!({"group": group, "version": version, "kind": kind})
}

/// Custom resources list their verbs in an order of their own.
fn resource_verbs(resource: &Resource) -> Vec<&'static str> {
    if resource.custom.is_some() {
        return vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    }
    verbs(&resource.verbs)
}

fn verbs(verbs: &[Verb]) -> Vec<&'static str> {
    let mut names: Vec<&str> = verbs.iter().map(|verb| verb.as_str()).collect();
    names.sort_unstable();
    names
}
