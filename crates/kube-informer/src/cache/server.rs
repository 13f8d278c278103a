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
    said: tokio::sync::Mutex<Option<Said>>,
}

/// What the server has said of its resources, and when.
struct Said {
    resources: Resources,
    at: Instant,
}

/// For so long nobody asks again whether a kind has namespaces: a program that reads many kinds asks once.
const FRESH: Duration = Duration::from_secs(10);

impl Said {
    async fn fetch(client: &Client) -> Result<Self, DiscoveryError> {
        let resources = Resources::fetch(client).await?;
        Ok(Self { resources, at: Instant::now() })
    }

    fn is_fresh(&self) -> bool {
        self.at.elapsed() < FRESH
    }
}

impl Server {
    pub(super) fn new(client: Client) -> Self {
        Self { client, said: tokio::sync::Mutex::default() }
    }

    /// The resource that a person means.
    pub(super) async fn find(&self, name: &str) -> Result<ApiResource, CacheError> {
        let mut said = self.said.lock().await;
        if let Some(found) = said.as_ref().and_then(|said| said.resources.resolve(name).ok()) {
            return Ok(found.resource.clone());
        }
        // What was not there a moment ago may be now.
        let fresh = Said::fetch(&self.client).await?;
        let found = fresh.resources.resolve(name)?.resource.clone();
        *said = Some(fresh);
        Ok(found)
    }

    /// Whether objects of a kind have namespaces: what its type says, or else the server; none if that does not know the
    /// kind.
    pub(super) async fn is_namespaced(&self, about: &About) -> Result<Option<bool>, CacheError> {
        if about.namespaced.is_some() {
            return Ok(about.namespaced);
        }
        let mut said = self.said.lock().await;
        let first = said.is_none();
        if first {
            *said = Some(Said::fetch(&self.client).await?);
        }
        let known = said.as_ref();
        let resources = || known.into_iter().flat_map(|said| said.resources.iter());
        let found = resources().find(|one| about.is_it(&one.resource));
        if let Some(found) = found.filter(|_| known.is_some_and(Said::is_fresh)) {
            return Ok(Some(found.namespaced));
        }
        if let Some(of) = about.api.kind.strip_suffix("List").filter(|_| found.is_none())
            && resources().any(|one| about.is_beside(&one.resource) && one.resource.kind == of)
        {
            return Err(CacheError::ListKind { kind: about.api.kind.clone(), of: of.to_owned() });
        }
        drop(said);
        if first { Ok(None) } else { Ok(self.ask(about).await?) }
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

    /// No longer than so long from the same moment on.
    pub(super) fn at_most(self, time: Duration) -> Self {
        Self { time: self.time.min(time), ..self }
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
