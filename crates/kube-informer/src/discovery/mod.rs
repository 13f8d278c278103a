//! What resources a server has, and what people call them.
//!
//! [`Resources::fetch`] asks a server once, in two requests where it can answer so; [`Resources::resolve`] finds a
//! resource by the names that kubectl knows: `deploy`, `deployments`, `Deployment`, `deployments.apps`,
//! `deployments.v1.apps`.

mod fetch;
mod nearest;
mod resolve;
mod wire;

pub use fetch::DiscoveryError;
pub(crate) use fetch::fetch_one;
pub(crate) use nearest::{MAX_NEAREST, errors as typing_errors};
pub use resolve::ResolveError;

use std::collections::HashSet;

use kube_client::Client;
use kube_core::{ApiResource, GroupVersionResource};

use crate::source::{group_version, resource_name};

use wire::Group;

/// The resources of a server, as they were when it was asked.
///
/// ```
/// use kube_core::DynamicObject;
/// use kube_informer::SharedInformer;
/// use kube_informer::discovery::Resources;
/// use kube_informer::source::KubeSource;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # let client = server.client()?;
/// let resources = Resources::fetch(&client).await?;
/// let deployments = resources.resolve("deploy")?;
/// assert_eq!(deployments.full_name(), "deployments.apps");
/// let source = KubeSource::<DynamicObject>::all(client, &deployments.resource);
/// let informer = SharedInformer::new(source);
/// # drop(informer);
/// let unknown = resources.resolve("deploymets").unwrap_err();
/// assert_eq!(unknown.to_string(), "the server has no resource \"deploymets\"; did you mean deployments.apps?");
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// In the order in which a name is looked for.
    all: Vec<ServerResource>,
    unanswered: Vec<Unanswered>,
}

/// A resource of a server, and its names.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerResource {
    /// Group, version, kind and plural: what requests for it need.
    pub resource: ApiResource,
    /// Its objects live in namespaces.
    pub namespaced: bool,
    /// `deployment`.
    pub singular: String,
    /// `deploy`.
    pub short_names: Vec<String>,
    /// What can be done with it: `list`, `watch`, …
    pub verbs: Vec<String>,
    /// The version is the one that the server prefers in its group.
    pub preferred: bool,
}

/// A version of a group whose resources could not be learnt. An aggregated API that is down looks so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unanswered {
    /// `metrics.k8s.io`.
    pub group: String,
    /// `v1beta1`.
    pub version: String,
    /// For people.
    pub why: String,
}

impl Resources {
    /// Asks a server what resources it has.
    ///
    /// Servers since Kubernetes 1.26 say it in two answers; others are asked for each version of each group. A group
    /// that does not answer is left out, and [named](Self::unanswered).
    pub async fn fetch(client: &Client) -> Result<Self, DiscoveryError> {
        fetch::fetch(client).await
    }

    /// The resource that a person means: by plural, singular, short name or kind, in upper or lower case, alone or with
    /// its group (`deployments.apps`, where the beginning of the group will do), or its version and group
    /// (`deployments.v1.apps`).
    ///
    /// Only resources that can be listed and watched are found. Where several have the name, the first is meant:
    /// preferred versions before others, then groups in the order of the server, of which the core group is the first.
    pub fn resolve(&self, name: &str) -> Result<&ServerResource, ResolveError> {
        resolve::resolve(self, name)
    }

    /// All resources in all versions, in the order in which a name is looked for, whether they can be watched or not.
    pub fn iter(&self) -> impl Iterator<Item = &ServerResource> {
        self.all.iter()
    }

    /// What the server could not say.
    pub fn unanswered(&self) -> &[Unanswered] {
        &self.unanswered
    }

    /// Puts groups together that come in the order of the server.
    fn new(groups: Vec<Group>) -> Self {
        let (mut preferred, mut others, mut unanswered) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for group in groups {
            for version in group.versions {
                let all = if version.preferred { &mut preferred } else { &mut others };
                match version.resources {
                    Ok(resources) => all.extend(
                        resources
                            .into_iter()
                            .map(|entry| entry.named(&group.name, &version.name, version.preferred))
                            .filter(|named| seen.insert(named.resource.clone())),
                    ),
                    Err(why) => {
                        let (group, version) = (group.name.clone(), version.name);
                        unanswered.push(Unanswered { group, version, why });
                    }
                }
            }
        }
        preferred.append(&mut others);
        Self { all: preferred, unanswered }
    }
}

impl ServerResource {
    /// `deployments.apps`, or `pods` in the core group.
    pub fn full_name(&self) -> String {
        resource_name(&self.resource.plural, &self.resource.group)
    }

    /// What the [factories](crate::factory) that need no type are asked with.
    pub fn group_version_resource(&self) -> GroupVersionResource {
        let ApiResource { group, version, plural, .. } = &self.resource;
        GroupVersionResource::gvr(group, version, plural)
    }

    /// Whether something can be done with it: `list`, `watch`, …
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|found| found == verb)
    }

    /// An informer can follow it.
    pub fn can_be_followed(&self) -> bool {
        self.can("list") && self.can("watch")
    }
}

impl Unanswered {
    /// `metrics.k8s.io/v1beta1`, or `v1` in the core group.
    pub fn group_version(&self) -> String {
        group_version(&self.group, &self.version)
    }
}
