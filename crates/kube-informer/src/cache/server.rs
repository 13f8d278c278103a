//! What a cache asks the server beside lists and watches: what a kind is called, and whether it has namespaces.

use std::time::Duration;

use kube_client::Client;
use kube_core::ApiResource;
use tokio::time::Instant;

use super::CacheError;
use super::entry::About;
use crate::discovery::{DiscoveryError, Resources, ServerResource, fetch_one};
use crate::source::SourceError;

/// The server, and what it has said of its resources.
pub(super) struct Server {
    pub(super) client: Client,
    resources: tokio::sync::Mutex<Option<Resources>>,
}

impl Server {
    pub(super) fn new(client: Client) -> Self {
        Self { client, resources: tokio::sync::Mutex::default() }
    }

    /// The resource that a person means.
    pub(super) async fn find(&self, name: &str) -> Result<ApiResource, CacheError> {
        let mut resources = self.resources.lock().await;
        if let Some(found) = resources.as_ref().and_then(|known| known.resolve(name).ok()) {
            return Ok(found.resource.clone());
        }
        // What was not there a moment ago may be now.
        let fresh = Resources::fetch(&self.client).await?;
        let found = fresh.resolve(name)?.resource.clone();
        *resources = Some(fresh);
        Ok(found)
    }

    /// Whether objects of a kind have namespaces: what its type says, or else the server; none if that does not know the
    /// kind.
    pub(super) async fn is_namespaced(&self, about: &About) -> Result<Option<bool>, CacheError> {
        if about.namespaced.is_some() {
            return Ok(about.namespaced);
        }
        let mut resources = self.resources.lock().await;
        let fetched = match &*resources {
            Some(_) => None,
            None => Some(Resources::fetch(&self.client).await?),
        };
        let is_fresh = fetched.is_some();
        let known = match fetched {
            Some(fresh) => resources.insert(fresh),
            None => resources.get_or_insert_default(),
        };
        let found = known.iter().find(|one| about.is_it(&one.resource));
        if let Some(found) = found {
            return Ok(Some(found.namespaced));
        }
        if let Some(of) = about.api.kind.strip_suffix("List")
            && known.iter().any(|one| about.is_beside(&one.resource) && one.resource.kind == of)
        {
            return Err(CacheError::ListKind { kind: about.api.kind.clone(), of: of.to_owned() });
        }
        drop(resources);
        if is_fresh { Ok(None) } else { Ok(self.ask(about).await?) }
    }

    /// The same, but the server is asked, and for nothing else.
    pub(super) async fn ask(&self, about: &About) -> Result<Option<bool>, DiscoveryError> {
        let found: Option<ServerResource> = fetch_one(&self.client, &about.resource).await?;
        Ok(found.map(|one| one.namespaced))
    }
}

/// How long something is waited for, in all its parts together.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    pub(super) time: Duration,
    began: Instant,
}

impl Patience {
    /// From now on.
    pub(super) fn new(time: Duration) -> Self {
        Self { time, began: Instant::now() }
    }

    pub(super) fn left(&self) -> Duration {
        self.time.saturating_sub(self.began.elapsed())
    }

    /// What the server says of a resource, if it says it in time.
    pub(super) async fn wait<T>(
        &self,
        resource: &str,
        answer: impl Future<Output = Result<T, CacheError>>,
    ) -> Result<T, CacheError> {
        let silent = |_| CacheError::TimedOut {
            resource: resource.to_owned(),
            after: self.time,
            cause: Some(SourceError::trouble("the server does not say what resources it has".to_owned())),
        };
        tokio::time::timeout(self.left(), answer).await.map_err(silent)?
    }
}
