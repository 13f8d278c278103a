//! The answers of a server, in the aggregated form and in the old one, and what both come to.

use kube_core::ApiResource;
use serde::{Deserialize, Deserializer};

use super::ServerResource;
use crate::source::group_version;

/// A group with its versions.
pub(super) struct Group {
    /// Empty for the core group.
    pub(super) name: String,
    /// In the order of the server.
    pub(super) versions: Vec<Version>,
}

pub(super) struct Version {
    pub(super) name: String,
    pub(super) preferred: bool,
    /// What is there, or why nobody knows.
    pub(super) resources: Result<Vec<Entry>, String>,
}

/// A resource, of whatever group and version.
pub(super) struct Entry {
    plural: String,
    singular: String,
    kind: String,
    namespaced: bool,
    short_names: Vec<String>,
    verbs: Vec<String>,
}

impl Entry {
    pub(super) fn named(self, group: &str, version: &str, preferred: bool) -> ServerResource {
        let Entry { plural, singular, kind, namespaced, short_names, verbs } = self;
        let (group, version, api_version) =
            (group.to_owned(), version.to_owned(), group_version(group, version));
        let resource = ApiResource { group, version, api_version, kind, plural };
        ServerResource { resource, namespaced, singular, short_names, verbs, preferred }
    }

    /// Subresources, and resources that only have some, are no resources of their own.
    fn is_resource(&self) -> bool {
        !self.plural.is_empty() && !self.plural.contains('/') && !self.kind.is_empty()
    }
}

/// The answer to `/api` or `/apis`; its kind says which fields it has.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Root {
    pub(super) kind: String,
    /// Of an `APIGroupDiscoveryList`.
    #[serde(deserialize_with = "or_none")]
    items: Vec<AggregatedGroup>,
    /// Of an `APIGroupList`.
    #[serde(deserialize_with = "or_none")]
    groups: Vec<OldGroup>,
    /// Of `APIVersions`.
    #[serde(deserialize_with = "or_none")]
    versions: Vec<String>,
}

/// What `/api` or `/apis` said.
pub(super) enum Said {
    /// Everything.
    All(Vec<Group>),
    /// Only groups and versions: each is to be asked for its resources.
    Groups(Vec<GroupVersions>),
}

/// A group whose resources are not known yet.
pub(super) struct GroupVersions {
    pub(super) name: String,
    /// With the one that is preferred.
    pub(super) versions: Vec<(String, bool)>,
}

impl Root {
    /// None if it is not an answer that a Kubernetes API server gives.
    pub(super) fn said(self) -> Option<Said> {
        match self.kind.as_str() {
            "APIGroupDiscoveryList" => {
                Some(Said::All(self.items.into_iter().map(AggregatedGroup::group).collect()))
            }
            "APIGroupList" => {
                Some(Said::Groups(self.groups.into_iter().map(OldGroup::group_versions).collect()))
            }
            "APIVersions" => {
                let versions = self.versions.into_iter().enumerate().map(|(at, name)| (name, at == 0));
                Some(Said::Groups(vec![GroupVersions { name: String::new(), versions: versions.collect() }]))
            }
            _ => None,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AggregatedGroup {
    metadata: Metadata,
    #[serde(deserialize_with = "or_none")]
    versions: Vec<AggregatedVersion>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AggregatedVersion {
    version: String,
    freshness: String,
    #[serde(deserialize_with = "or_none")]
    resources: Vec<AggregatedResource>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AggregatedResource {
    resource: String,
    #[serde(deserialize_with = "or_none")]
    response_kind: ResponseKind,
    scope: String,
    singular_resource: String,
    #[serde(deserialize_with = "or_none")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "or_none")]
    short_names: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseKind {
    kind: String,
}

impl AggregatedGroup {
    fn group(self) -> Group {
        let versions = self.versions.into_iter().enumerate().map(|(at, version)| {
            let resources = if version.freshness == "Stale" {
                Err("the API behind it does not answer".to_owned())
            } else {
                let entries = version.resources.into_iter().map(AggregatedResource::entry);
                Ok(entries.filter(Entry::is_resource).collect())
            };
            Version { name: version.version, preferred: at == 0, resources }
        });
        Group { name: self.metadata.name, versions: versions.collect() }
    }
}

impl AggregatedResource {
    fn entry(self) -> Entry {
        Entry {
            plural: self.resource,
            singular: self.singular_resource,
            kind: self.response_kind.kind,
            namespaced: self.scope == "Namespaced",
            short_names: self.short_names,
            verbs: self.verbs,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OldGroup {
    name: String,
    #[serde(deserialize_with = "or_none")]
    versions: Vec<OldVersion>,
    #[serde(deserialize_with = "or_none")]
    preferred_version: OldVersion,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OldVersion {
    version: String,
}

impl OldGroup {
    fn group_versions(self) -> GroupVersions {
        let preferred = self.preferred_version.version;
        let versions = self.versions.into_iter().enumerate().map(|(at, one)| {
            let is_preferred = if preferred.is_empty() { at == 0 } else { one.version == preferred };
            (one.version, is_preferred)
        });
        GroupVersions { versions: versions.collect(), name: self.name }
    }
}

/// The answer to `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OldResources {
    pub(super) kind: String,
    #[serde(deserialize_with = "or_none")]
    resources: Vec<OldResource>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OldResource {
    name: String,
    singular_name: String,
    namespaced: bool,
    kind: String,
    #[serde(deserialize_with = "or_none")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "or_none")]
    short_names: Vec<String>,
}

impl OldResources {
    pub(super) fn entries(self) -> Vec<Entry> {
        let entries = self.resources.into_iter().map(|one| Entry {
            plural: one.name,
            singular: one.singular_name,
            kind: one.kind,
            namespaced: one.namespaced,
            short_names: one.short_names,
            verbs: one.verbs,
        });
        entries.filter(Entry::is_resource).collect()
    }
}

/// Servers written in Go send `null` for what is empty.
fn or_none<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
