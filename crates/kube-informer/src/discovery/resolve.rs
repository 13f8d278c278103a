//! From what a person calls a resource to the resource.

use super::nearest::nearest;
use super::{Resources, ServerResource};

/// Why a name does not lead to a resource that can be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Nothing is called so.
    #[error("the server has no resource {name:?}{}{}", advice(.nearest), silent(.unanswered))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What is called nearly so, the nearest first: `deployments.apps`.
        nearest: Vec<String>,
        /// The versions of groups that did not answer, where it may be: `metrics.k8s.io/v1beta1`.
        unanswered: Vec<String>,
    },
    /// What was asked for is the kind of a list, and no resource.
    #[error("{name:?} is the kind of a list, and no resource; ask for {resource}, which is in the list")]
    ListKind {
        /// What was asked for: `PodList`.
        name: String,
        /// What is in the list: `pods`.
        resource: String,
    },
    /// There is such a resource, but it cannot be listed and watched.
    #[error(
        "{resource} cannot be followed: that needs the verbs list and watch, and it has {}",
        if .verbs.is_empty() { "none".to_owned() } else { .verbs.join(", ") }
    )]
    NotFollowable {
        /// What was asked for.
        name: String,
        /// What it is: `tokenreviews.authentication.k8s.io`.
        resource: String,
        /// What can be done with it.
        verbs: Vec<String>,
    },
}

fn advice(nearest: &[String]) -> String {
    match nearest {
        [] => "; `kubectl api-resources` lists those it has".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [some @ .., last] => format!("; did you mean {} or {last}?", some.join(", ")),
    }
}

fn silent(unanswered: &[String]) -> String {
    if unanswered.is_empty() {
        return String::new();
    }
    format!(" ({} did not answer, and may have it)", unanswered.join(", "))
}

pub(super) fn resolve<'a>(resources: &'a Resources, name: &str) -> Result<&'a ServerResource, ResolveError> {
    let wanted = name.trim().to_lowercase();
    let mut unfollowable = None;
    for form in Form::all(&wanted) {
        for whole_group in [true, false] {
            for names in [by_resource_name, by_short_name, by_kind] {
                let called = |one: &&ServerResource| {
                    form.is_about(one, whole_group) && names(one, form.name) && !form.name.is_empty()
                };
                let mut found = resources.all.iter().filter(called).peekable();
                unfollowable = unfollowable.or(found.peek().copied());
                if let Some(found) = found.find(|one| one.can_be_followed()) {
                    return Ok(found);
                }
            }
        }
    }
    if let Some(listed) = in_list(resources, &wanted) {
        return Err(ResolveError::ListKind { name: name.to_owned(), resource: listed.full_name() });
    }
    let name = name.to_owned();
    Err(match unfollowable {
        Some(found) => {
            ResolveError::NotFollowable { name, resource: found.full_name(), verbs: found.verbs.clone() }
        }
        None => {
            let asked = wanted.split('.').next().unwrap_or("");
            let unanswered = resources.unanswered.iter().map(super::Unanswered::group_version).collect();
            ResolveError::Unknown { name, nearest: nearest(resources, asked), unanswered }
        }
    })
}

/// What is in the list, if this is the kind of one: `podlist`, `deploymentlist.apps`.
fn in_list<'a>(resources: &'a Resources, wanted: &str) -> Option<&'a ServerResource> {
    let (name, rest) = wanted.split_once('.').map_or((wanted, ""), |(name, _)| (name, &wanted[name.len()..]));
    let kind = name.strip_suffix("list").filter(|kind| !kind.is_empty())?;
    let item = format!("{kind}{rest}");
    let forms: Vec<Form<'_>> = Form::all(&item).collect();
    let mut all = resources.all.iter().filter(|one| one.can_be_followed());
    all.find(|one| forms.iter().any(|form| form.is_about(one, false) && by_kind(one, form.name)))
}

/// One way to read `name`, `name.group` or `name.version.group`.
struct Form<'a> {
    name: &'a str,
    /// Any, if it is empty.
    version: &'a str,
    /// Any, if it is empty.
    group: &'a str,
}

impl<'a> Form<'a> {
    /// In the order of kubectl: what can be a version is one first.
    fn all(text: &'a str) -> impl Iterator<Item = Form<'a>> {
        let (name, rest) = text.split_once('.').unwrap_or((text, ""));
        let versioned = rest.split_once('.').map(|(version, group)| Form { name, version, group });
        versioned.into_iter().chain([Form { name, version: "", group: rest }])
    }

    /// The beginning of a group will do where no version is given: `ingresses.networking`.
    fn is_about(&self, one: &ServerResource, whole_group: bool) -> bool {
        let group = &one.resource.group;
        let is_group = if whole_group || !self.version.is_empty() {
            self.group.is_empty() || *group == self.group
        } else {
            group.starts_with(self.group)
        };
        is_group && (self.version.is_empty() || one.resource.version == self.version)
    }
}

fn by_resource_name(one: &ServerResource, name: &str) -> bool {
    one.resource.plural.eq_ignore_ascii_case(name) || one.singular.eq_ignore_ascii_case(name)
}

fn by_short_name(one: &ServerResource, name: &str) -> bool {
    one.short_names.iter().any(|short| short.eq_ignore_ascii_case(name))
}

fn by_kind(one: &ServerResource, name: &str) -> bool {
    one.resource.kind.eq_ignore_ascii_case(name)
}
