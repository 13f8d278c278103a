//! One rule of the access list.

use super::User;

/// Allows or denies requests. Every condition that is set must hold; one that is not set always holds.
///
/// ```
/// use kube_testserver::Rule;
///
/// let read_pods = Rule::allow().user("alice").verbs(["get", "list", "watch"]).resources(["pods"]).namespace("default");
/// let no_secrets = Rule::deny().resources(["secrets"]);
/// # let _ = (read_pods, no_secrets);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a rule does nothing until it is given to `Access`"]
pub struct Rule {
    allow: bool,
    users: Vec<String>,
    groups: Vec<String>,
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    namespaces: Vec<String>,
    paths: Vec<String>,
}

/// What a request wants to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// A path that is not a resource, such as `/version`.
    pub(crate) path: Option<&'a str>,
}

impl Rule {
    /// Matching requests are let through.
    pub fn allow() -> Self {
        Self::new(true)
    }

    /// Matching requests are answered with 403.
    pub fn deny() -> Self {
        Self::new(false)
    }

    /// For this user; may be called several times.
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.users.push(name.into());
        self
    }

    /// For members of this group; may be called several times.
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.groups.push(name.into());
        self
    }

    /// For these verbs: `get`, `list`, `watch`, `create`, …
    pub fn verbs(mut self, verbs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.verbs.extend(verbs.into_iter().map(Into::into));
        self
    }

    /// For these API groups; the core group is the empty string.
    pub fn api_groups(mut self, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.api_groups.extend(groups.into_iter().map(Into::into));
        self
    }

    /// For these resources: `pods`, `pods/status`, `*/scale`, `*`.
    pub fn resources(mut self, resources: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.resources.extend(resources.into_iter().map(Into::into));
        self
    }

    /// For the object of this name; may be called several times.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// For this namespace; may be called several times.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }

    /// For these paths that are not resources; a trailing `*` matches any rest.
    pub fn paths(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.paths.extend(paths.into_iter().map(Into::into));
        self
    }

    pub(crate) fn is_allow(&self) -> bool {
        self.allow
    }

    pub(crate) fn matches(&self, user: &User, what: &Attributes<'_>) -> bool {
        let who = (self.users.is_empty() && self.groups.is_empty())
            || self.users.contains(&user.name)
            || self.groups.iter().any(|group| user.groups.contains(group));
        if !who || !holds(&self.verbs, what.verb) {
            return false;
        }
        if let Some(path) = what.path {
            let about_resources = [&self.api_groups, &self.resources, &self.names, &self.namespaces]
                .into_iter()
                .any(|list| !list.is_empty());
            return !about_resources
                && (self.paths.is_empty() || self.paths.iter().any(|p| path_matches(p, path)));
        }
        self.paths.is_empty()
            && holds(&self.api_groups, what.group)
            && holds(&self.names, what.name)
            && holds(&self.namespaces, what.namespace)
            && (self.resources.is_empty() || self.resources.iter().any(|r| resource_matches(r, what)))
    }

    fn new(allow: bool) -> Self {
        Self {
            allow,
            users: Vec::new(),
            groups: Vec::new(),
            verbs: Vec::new(),
            api_groups: Vec::new(),
            resources: Vec::new(),
            names: Vec::new(),
            namespaces: Vec::new(),
            paths: Vec::new(),
        }
    }
}

fn holds(wanted: &[String], found: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|wanted| wanted == "*" || wanted == found)
}

fn path_matches(wanted: &str, path: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == path, |start| path.starts_with(start))
}

fn resource_matches(wanted: &str, what: &Attributes<'_>) -> bool {
    if wanted == "*" {
        return true;
    }
    let (resource, subresource) = wanted.split_once('/').unwrap_or((wanted, ""));
    (resource == "*" || resource == what.resource) && subresource == what.subresource
}
