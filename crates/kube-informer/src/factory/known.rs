//! The built-in resources, and what is wrong with names of others.

use std::sync::OnceLock;

use kube_core::{ApiResource, GroupVersionResource, Resource};
use kube_wire::Codec;

use super::FactoryError;
use crate::accessors::{BuiltIn, Kinds, Visit};
use crate::discovery::{MAX_NEAREST, typing_errors};
use crate::source::{group_version, is_cluster_scoped};

/// A resource for which k8s-openapi has a type.
struct Known {
    group: String,
    version: String,
    plural: String,
    kind: String,
    cluster_scoped: bool,
}

/// The same resource, made the same way: one that was read from somewhere may lack a part that is made of the others.
pub(super) fn as_key(resource: &GroupVersionResource) -> GroupVersionResource {
    GroupVersionResource::gvr(&resource.group, &resource.version, &resource.resource)
}

/// Whether it is one of the built-in resources that have no namespaces.
pub(super) fn is_known_cluster_scoped(resource: &GroupVersionResource) -> bool {
    built_in().iter().any(|known| known.cluster_scoped && known.is(resource))
}

/// A built-in resource, and whether it has no namespaces.
pub(super) fn built_in_kind(resource: &GroupVersionResource) -> Option<(ApiResource, bool)> {
    let known = built_in().iter().find(|known| known.is(resource))?;
    let Known { group, version, plural, kind, cluster_scoped } = known;
    let api_version = group_version(group, version);
    let [group, version, plural, kind] = [group, version, plural, kind].map(Clone::clone);
    Some((ApiResource { group, version, api_version, kind, plural }, *cluster_scoped))
}

/// Refuses what cannot be the name of a resource.
pub(super) fn check(resource: &GroupVersionResource) -> Result<(), FactoryError> {
    let GroupVersionResource { version, resource: name, .. } = resource;
    let refused = |why: &str| {
        let nearest = nearest(resource, []);
        Err(FactoryError::NotAResource { given: in_words(resource), why: why.to_owned(), nearest })
    };
    if name.is_empty() || version.is_empty() || name.contains('/') {
        return refused(impossible(resource).unwrap_or_default());
    }
    if let Some(kind) = name.strip_suffix("List").filter(|_| name.contains(char::is_uppercase)) {
        return refused(&format!("it is the kind of a list; follow the resource whose kind is {kind}"));
    }
    if built_in().iter().any(|known| known.is_listed_as(resource)) {
        return refused("it is the kind of a list; follow the resource of what is in the list");
    }
    if name.contains(char::is_uppercase) {
        return refused("it is a kind; resources are named in the plural and in small letters");
    }
    impossible(resource).map_or(Ok(()), refused)
}

/// Why something cannot be asked of any server.
pub(crate) fn impossible(resource: &GroupVersionResource) -> Option<&'static str> {
    let GroupVersionResource { group, version, resource: name, .. } = resource;
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let leads_elsewhere = |text: &str| matches!(text, "." | "..");
    if name.is_empty() || version.is_empty() {
        Some("the resource and its version must be named")
    } else if name.contains('/') {
        Some("a part of a resource cannot be followed; follow the resource")
    } else if ![group, version, name].iter().all(|text| is_plain(text) && !leads_elsewhere(text)) {
        Some("names are made of letters, digits, dots and dashes")
    } else {
        None
    }
}

/// Says that there is no type for a resource among those that are known.
pub(super) fn unknown<'a>(
    resource: &GroupVersionResource,
    known: impl IntoIterator<Item = &'a GroupVersionResource>,
) -> FactoryError {
    match check(resource) {
        Err(why) => why,
        Ok(()) => {
            FactoryError::UnknownResource { given: in_words(resource), nearest: nearest(resource, known) }
        }
    }
}

/// `apps/v1 deployments`, `v1 pods`.
pub(crate) fn in_words(resource: &GroupVersionResource) -> String {
    full_name(&resource.group, &resource.version, &resource.resource)
}

fn full_name(group: &str, version: &str, plural: &str) -> String {
    if group.is_empty() { format!("{version} {plural}") } else { format!("{group}/{version} {plural}") }
}

/// The resources that are called nearly so, the nearest first, among the built-in ones and others that are known.
fn nearest<'a>(
    asked: &GroupVersionResource,
    others: impl IntoIterator<Item = &'a GroupVersionResource>,
) -> Vec<String> {
    let letters: Vec<char> = asked.resource.to_lowercase().chars().collect();
    let built_in = built_in().iter().filter(|known| !known.is(asked)).filter_map(|known| {
        let same = known.is_called(&asked.resource).then_some(0);
        let errors = same.or_else(|| typing_errors(&letters, &known.plural))?;
        Some((errors, known.group != asked.group, full_name(&known.group, &known.version, &known.plural)))
    });
    let others = others.into_iter().filter_map(|known| {
        let errors = typing_errors(&letters, &known.resource)?;
        Some((errors, known.group != asked.group, in_words(known)))
    });
    let mut near: Vec<(usize, bool, String)> = built_in.chain(others).collect();
    near.sort();
    near.dedup();
    // What is called just so leaves no room for guesses.
    if near.first().is_some_and(|(errors, ..)| *errors == 0) {
        near.retain(|(errors, ..)| *errors == 0);
    }
    near.into_iter().take(MAX_NEAREST).map(|(.., name)| name).collect()
}

impl Known {
    fn is(&self, resource: &GroupVersionResource) -> bool {
        self.is_in_group_of(resource) && self.plural == resource.resource
    }

    fn is_in_group_of(&self, resource: &GroupVersionResource) -> bool {
        self.group == resource.group && self.version == resource.version
    }

    /// By plural, kind, or the kind of the list.
    fn is_called(&self, name: &str) -> bool {
        let of_list = listed(name).is_some_and(|kind| kind.eq_ignore_ascii_case(&self.kind));
        name.eq_ignore_ascii_case(&self.plural) || name.eq_ignore_ascii_case(&self.kind) || of_list
    }

    /// What is named is no resource, but the kind of a list of this.
    fn is_listed_as(&self, resource: &GroupVersionResource) -> bool {
        let kind = listed(&resource.resource);
        kind.is_some_and(|kind| self.is_in_group_of(resource) && kind.eq_ignore_ascii_case(&self.kind))
    }
}

/// What is in a list of this kind: `Pod` if it is `PodList`, `podlist` or `podlists`.
fn listed(name: &str) -> Option<&str> {
    const LIST: &str = "list";
    let name = name.strip_suffix('s').unwrap_or(name);
    let (kind, list) = name.split_at_checked(name.len().checked_sub(LIST.len())?)?;
    list.eq_ignore_ascii_case(LIST).then_some(kind)
}

/// All of them, in the order of groups, versions and kinds.
fn built_in() -> &'static [Known] {
    static ALL: OnceLock<Vec<Known>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut collect = Collect(Vec::new());
        BuiltIn::each(&mut collect);
        collect.0
    })
}

struct Collect(Vec<Known>);

impl Visit for Collect {
    fn visit<K>(&mut self, _: impl FnOnce() -> Codec<K>)
    where
        K: Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        self.0.push(Known {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            cluster_scoped: is_cluster_scoped::<K>(),
        });
    }
}
