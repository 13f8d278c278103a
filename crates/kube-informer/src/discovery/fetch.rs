//! Asks a server: for everything in two answers, or else for each version of each group.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::join;
use futures::stream;
use http::{Request, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube_client::Client;
use kube_client::client::Body;
use kube_core::GroupVersionResource;
use serde::de::DeserializeOwned;

use super::wire::{Entry, Group, GroupVersions, OldResources, Root, Said, Version};
use super::{Resources, ServerResource};
use crate::redact::json_words;
use crate::reflector::Failure;
use crate::source::{SourceError, group_version};

/// The largest answer that is read. Two thousand custom resources need about a twentieth.
const MAX_ANSWER_BYTES: usize = 32 << 20;

/// How long an answer may take, to its last byte.
const PATIENCE: Duration = Duration::from_secs(32);

/// How many versions of groups are asked for at the same time, where there is no aggregated form.
const AT_ONCE: usize = 8;

/// The newest form first, then the one of Kubernetes 1.26 to 1.29, then the one that every server has.
const ACCEPT_AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
     application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Why nobody knows what resources a server has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot learn what resources the server has: {path}: {cause}{}", self.advice())]
#[non_exhaustive]
pub struct DiscoveryError {
    /// What was asked for: `/api` or `/apis`.
    pub path: String,
    /// Why there was no answer.
    pub cause: SourceError,
}

impl DiscoveryError {
    fn new(path: &str, cause: SourceError) -> Self {
        Self { path: path.to_owned(), cause }
    }

    fn advice(&self) -> &'static str {
        match self.cause.code {
            401 => "; check the credentials",
            403 => "; the user needs the cluster role system:discovery",
            400..500 if self.cause.code != 429 => {
                "; check that the address is that of a Kubernetes API server"
            }
            _ if self.cause.garbled => "; check that the address is that of a Kubernetes API server",
            _ if self.cause.failure == Failure::ConnectionRefused => "; check the address, and that it runs",
            _ => "; try again",
        }
    }
}

pub(super) async fn fetch(client: &Client) -> Result<Resources, DiscoveryError> {
    let (core, named) = join(below(client, "/api"), below(client, "/apis")).await;
    let groups = match (core, named) {
        // A server may be one of the two alone, as those behind an aggregated API are.
        (Err(error), Ok(groups)) | (Ok(groups), Err(error)) if error.cause.code == 404 => groups,
        (core, named) => {
            let mut groups = core?;
            groups.extend(named?);
            groups
        }
    };
    Ok(Resources::new(groups))
}

/// One resource, of which nothing but its name is known; none if the server does not have it.
pub(crate) async fn fetch_one(
    client: &Client,
    resource: &GroupVersionResource,
) -> Result<Option<ServerResource>, DiscoveryError> {
    let GroupVersionResource { group, version, resource: plural, .. } = resource;
    let root = if group.is_empty() { "/api" } else { "/apis" };
    let path = format!("{root}/{}", group_version(group, version));
    let found = match entries(client, &path).await {
        Err(error) if error.code == 404 => return Ok(None),
        answer => answer.map_err(|cause| DiscoveryError::new(&path, cause))?,
    };
    let mut found = found.into_iter().map(|entry| entry.named(group, version, false));
    Ok(found.find(|one| one.resource.plural == *plural))
}

/// The groups below `/api` or `/apis`.
async fn below(client: &Client, path: &str) -> Result<Vec<Group>, DiscoveryError> {
    let failed = |cause| DiscoveryError::new(path, cause);
    let root: Root = get(client, path, ACCEPT_AGGREGATED).await.map_err(failed)?;
    let kind = root.kind.clone();
    match root.said() {
        Some(Said::All(groups)) => Ok(groups),
        Some(Said::Groups(groups)) => Ok(one_by_one(client, path, groups).await),
        None => Err(failed(SourceError::garbled(format!("{kind:?} is no kind of discovery")))),
    }
}

/// Asks for each version of each group. One that does not answer takes nothing from the others.
async fn one_by_one(client: &Client, path: &str, groups: Vec<GroupVersions>) -> Vec<Group> {
    let asked = groups
        .iter()
        .flat_map(|group| group.versions.iter().map(|(version, _)| group_version(&group.name, version)))
        .map(|group_version| async move {
            let answer = entries(client, &format!("{path}/{group_version}")).await;
            answer.map_err(|error| error.to_string())
        });
    let asked: Vec<_> = asked.collect();
    let mut answers = stream::iter(asked).buffered(AT_ONCE);
    let mut found = Vec::with_capacity(groups.len());
    for group in groups {
        let mut versions = Vec::with_capacity(group.versions.len());
        for (name, preferred) in group.versions {
            // There are as many answers as questions, in the same order.
            let Some(resources) = answers.next().await else { return found };
            versions.push(Version { name, preferred, resources });
        }
        found.push(Group { name: group.name, versions });
    }
    found
}

async fn entries(client: &Client, path: &str) -> Result<Vec<Entry>, SourceError> {
    let list: OldResources = get(client, path, "application/json").await?;
    if list.kind == "APIResourceList" {
        Ok(list.entries())
    } else {
        Err(SourceError::garbled(format!("{:?} is no list of resources", list.kind)))
    }
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str, accept: &str) -> Result<T, SourceError> {
    let asked = tokio::time::timeout(PATIENCE, bytes(client, path, accept)).await;
    let silent = |_| SourceError::trouble(format!("no answer in {} seconds", PATIENCE.as_secs()));
    let bytes = asked.map_err(silent)??;
    serde_json::from_slice(&bytes).map_err(|error| SourceError::garbled(json_words(&error)))
}

async fn bytes(client: &Client, path: &str, accept: &str) -> Result<Bytes, SourceError> {
    let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty());
    let request = request.map_err(|error| SourceError::connection(&error))?;
    let response = client.send(request).await.map_err(|error| SourceError::connection(&error))?;
    let response = SourceError::unless_good(response).await?;
    match Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(SourceError::garbled(format!("it is larger than {} MiB", MAX_ANSWER_BYTES >> 20)))
        }
        Err(error) => Err(SourceError::connection(&*error)),
    }
}
