//! From a kind to what requests for it need.

use std::sync::Arc;
use std::time::Duration;

use kube_client::Client;
use kube_informer::discovery::{DiscoveryError, Resources, ServerResource};
use parking_lot::Mutex;
use tokio::time::Instant;

/// What a server said about its resources is asked for again after so much time.
pub const MAPPER_LIFE: Duration = Duration::from_secs(30);

/// Knows the resources of a server, as they were at most [`MAPPER_LIFE`] ago. Asks when it is first asked. Clones are the
/// same.
#[derive(Clone)]
pub struct RestMapper {
    client: Client,
    known: Arc<Mutex<Option<Known>>>,
}

/// What the server said, and until when that is taken for true.
struct Known {
    until: Instant,
    resources: Arc<Resources>,
}

impl RestMapper {
    /// Of this server.
    pub fn new(client: Client) -> Self {
        Self { client, known: Arc::default() }
    }

    /// All resources of the server.
    pub async fn resources(&self) -> Result<Arc<Resources>, DiscoveryError> {
        let now = Instant::now();
        if let Some(known) = &*self.known.lock()
            && now < known.until
        {
            return Ok(Arc::clone(&known.resources));
        }
        let fetched = Arc::new(Resources::fetch(&self.client).await?);
        *self.known.lock() = Some(Known { until: now + MAPPER_LIFE, resources: Arc::clone(&fetched) });
        Ok(fetched)
    }

    /// The resource of a kind, in the version that is asked for or, if the server has that no more, in the one that it
    /// prefers. None if it has neither, even if it is asked anew.
    pub async fn resource_of(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<ServerResource>, DiscoveryError> {
        let found = find(&*self.resources().await?, api_version, kind);
        if found.is_some() {
            return Ok(found);
        }
        self.reset();
        Ok(find(&*self.resources().await?, api_version, kind))
    }

    /// Asks the server anew when it is next asked.
    pub fn reset(&self) {
        *self.known.lock() = None;
    }
}

fn find(resources: &Resources, api_version: &str, kind: &str) -> Option<ServerResource> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    // Parts of resources, such as `deployments/scale`, have kinds too.
    let of_kind = || {
        resources.iter().filter(|found| {
            found.resource.group == group
                && found.resource.kind == kind
                && !found.resource.plural.contains('/')
        })
    };
    of_kind().find(|found| found.resource.api_version == api_version).or_else(|| of_kind().next()).cloned()
}

impl std::fmt::Debug for RestMapper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RestMapper").field("known", &self.known.lock().is_some()).finish_non_exhaustive()
    }
}
