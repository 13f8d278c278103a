//! The kinds that the server knows: built-in ones from a table, custom ones from their definitions.

mod builtin;

pub(crate) use builtin::builtin_resources;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;

use crate::crd::{Definition, compare_versions};
use crate::schema::{self, TypeRef};
use crate::status::About;
use crate::storage::TableId;

/// What a request does to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads many objects.
    List,
    /// Follows changes.
    Watch,
    /// Makes a new object.
    Create,
    /// Replaces an object (PUT).
    Update,
    /// Changes an object: JSON patch, merge patch, strategic merge patch or server-side apply.
    Patch,
    /// Removes one object.
    Delete,
    /// Removes many objects.
    DeleteCollection,
}

impl Verb {
    /// All verbs, in the order in which discovery lists them.
    pub(crate) const ALL: [Verb; 8] = [
        Verb::Create,
        Verb::Delete,
        Verb::DeleteCollection,
        Verb::Get,
        Verb::List,
        Verb::Patch,
        Verb::Update,
        Verb::Watch,
    ];

    /// The name in discovery and in access rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == name)
    }

    /// Changes nothing.
    pub fn is_read(self) -> bool {
        matches!(self, Verb::Get | Verb::List | Verb::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One resource in one version.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: Box<str>,
    pub(crate) version: Box<str>,
    pub(crate) kind: Box<str>,
    pub(crate) list_kind: Box<str>,
    pub(crate) plural: Box<str>,
    pub(crate) singular: Box<str>,
    pub(crate) short_names: Vec<Box<str>>,
    pub(crate) categories: Vec<Box<str>>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<Verb>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) table: TableId,
    pub(crate) selectable: Vec<Selectable>,
    pub(crate) traits: Traits,
    /// What every client of this version is told: that it is deprecated.
    pub(crate) warning: Option<Box<str>>,
    /// The definition and the place of this version in it, if the kind is custom.
    pub(crate) custom: Option<(Arc<Definition>, usize)>,
}

/// A part of an object with its own path.
#[derive(Debug)]
pub(crate) struct Subresource {
    pub(crate) name: Box<str>,
    /// The group and version of the kind, where they are not those of the resource.
    pub(crate) api_version: Option<(Box<str>, Box<str>)>,
    pub(crate) kind: Box<str>,
    pub(crate) verbs: Vec<Verb>,
}

/// A field that field selectors may name, beyond `metadata.name` and `metadata.namespace`.
#[derive(Debug)]
pub(crate) struct Selectable {
    /// What a selector says; empty for a field that another version of the resource selects on.
    pub(crate) label: Box<str>,
    /// Where the value is, as field names from the root.
    pub(crate) path: Vec<Box<str>>,
    /// The path to use instead when the field is absent or empty; empty if there is no such path.
    pub(crate) fallback: Vec<Box<str>>,
    /// The value of an absent field.
    pub(crate) absent: &'static str,
}

/// How the server treats objects of a kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traits {
    /// `metadata.generation` counts changes of the desired state.
    pub(crate) generation: bool,
    /// `status` is written through its own subresource only.
    pub(crate) status: bool,
    /// PUT of an absent object creates it.
    pub(crate) create_on_update: bool,
    /// PUT without a resource version replaces whatever is there.
    pub(crate) unconditional_update: bool,
    /// Deletion answers with the object instead of a `Status`.
    pub(crate) returns_deleted: bool,
    /// Finalizers need no domain.
    pub(crate) any_finalizer: bool,
}

impl Resource {
    /// `apps/v1`, or `v1` in the core group.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    pub(crate) fn about(&self) -> About<'_> {
        About { group: &self.group, plural: &self.plural, kind: &self.kind }
    }

    /// The kind, the singular and the short names.
    pub(crate) fn other_names(&self) -> Vec<Box<str>> {
        [&self.kind, &self.singular].into_iter().chain(&self.short_names).cloned().collect()
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| *sub.name == *name)
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        *self.group == *group && *self.plural == *plural
    }

    /// The types of the kind's fields.
    pub(crate) fn type_ref(&self) -> Option<TypeRef<'_>> {
        match &self.custom {
            Some((definition, at)) => definition.versions.get(*at)?.type_ref(),
            None => schema::builtin().root(&self.api_version(), &self.kind),
        }
    }

    /// Returns the group and version in which objects are stored, as discovery knows them. None for kinds that are not stored,
    /// and for custom kinds whose storage version is not served.
    fn storage_version<'a>(&'a self, catalog: &'a Catalog) -> Option<(&'a str, &'a str)> {
        if let Some((definition, _)) = &self.custom {
            let stored = definition.storage_version().filter(|version| version.served)?;
            return Some((&self.group, &stored.name));
        }
        if !self.verbs.contains(&Verb::Get) || !self.verbs.contains(&Verb::Create) {
            return None;
        }
        match (&*self.group, &*self.plural) {
            // Both event APIs share the objects of the core group.
            (_, "events") => Some(("", "v1")),
            ("apiextensions.k8s.io", "customresourcedefinitions") => Some((&self.group, "v1beta1")),
            (group, plural) => Some((group, &catalog.find_plural(group, plural)?.version)),
        }
    }

    /// Returns discovery's hash of the storage version: the first eight bytes of the SHA-256 of `GROUP/VERSION/KIND`, in
    /// base64. None without a storage version.
    pub(crate) fn storage_version_hash(&self, catalog: &Catalog) -> Option<String> {
        let (group, version) = self.storage_version(catalog)?;
        let stored = format!("{group}/{version}/{}", self.kind);
        let digest = ring::digest::digest(&ring::digest::SHA256, stored.as_bytes());
        let head = digest.as_ref().get(..8)?;
        Some(base64::engine::general_purpose::STANDARD.encode(head))
    }

    /// What a selector is told that names a field which cannot be selected on.
    pub(crate) fn unselectable(&self, path: &str) -> String {
        if self.custom.is_none() && self.selectable.is_empty() {
            return format!(
                "\"{path}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            );
        }
        match &*self.kind {
            "Job" if self.custom.is_none() => format!("field label \"{path}\" not supported for Job"),
            "ResourceSlice" if self.custom.is_none() => {
                format!("field label not supported for {}, Kind=ResourceSlice: {path}", self.api_version())
            }
            _ => format!("field label not supported: {path}"),
        }
    }

    /// The labels of the selectable fields, in the order in which objects keep their values.
    pub(crate) fn selectable_labels(&self) -> Vec<Box<str>> {
        self.selectable.iter().map(|field| field.label.clone()).collect()
    }
}

/// `group/version`, or the version alone in the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// All resources, in the order of discovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    resources: Vec<Arc<Resource>>,
    by_path: HashMap<String, Arc<Resource>>,
}

impl Catalog {
    pub(crate) fn add(&mut self, resource: Arc<Resource>) {
        let path = format!("{}/{}/{}", resource.group, resource.version, resource.plural);
        self.by_path.insert(path, Arc::clone(&resource));
        self.resources.push(resource);
    }

    /// Forgets the custom resources of a definition.
    pub(crate) fn remove(&mut self, group: &str, plural: &str) {
        self.resources.retain(|resource| !(resource.custom.is_some() && resource.is(group, plural)));
        self.by_path.retain(|_, resource| !(resource.custom.is_some() && resource.is(group, plural)));
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_path.get(&format!("{group}/{version}/{plural}"))
    }

    /// The resource of a kind, in any version if `version` is empty.
    pub(crate) fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|resource| {
            *resource.group == *group
                && (version.is_empty() || *resource.version == *version)
                && *resource.kind == *kind
        })
    }

    /// A resource by plural name, in its preferred version.
    pub(crate) fn find_plural(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|resource| resource.is(group, plural))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter()
    }

    /// The group has kinds of Kubernetes' own.
    pub(crate) fn is_builtin_group(&self, group: &str) -> bool {
        self.resources.iter().any(|resource| *resource.group == *group && resource.custom.is_none())
    }

    /// Groups with their versions, both in the order of preference.
    pub(crate) fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for resource in &self.resources {
            let at = groups.iter().position(|(group, _)| *group == &*resource.group).unwrap_or_else(|| {
                groups.push((&resource.group, Vec::new()));
                groups.len() - 1
            });
            if !groups[at].1.contains(&&*resource.version) {
                groups[at].1.push(&resource.version);
            }
        }
        // The order of built-in versions is that of the table; custom ones come in the order of their creation.
        for (_, versions) in groups.iter_mut().filter(|(group, _)| !self.is_builtin_group(group)) {
            versions.sort_by(|one, two| compare_versions(two, one));
        }
        groups
    }
}
