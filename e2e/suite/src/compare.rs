//! Whether a copy equals the server.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use kube_client::api::{Api, ListParams};
use kube_core::Resource;
use kube_informer::SharedInformer;
use serde::de::DeserializeOwned;

/// How often the server is asked again while a copy differs from it.
const POLL: Duration = Duration::from_millis(100);

/// Versions by key.
pub type Versions = BTreeMap<String, String>;

/// A copy that did not come to equal the server.
#[derive(Debug)]
#[non_exhaustive]
pub struct Different {
    /// What the copy has.
    pub store: Versions,
    /// What the server has.
    pub server: Versions,
    /// Why the server could not be asked, if it could not.
    pub error: Option<kube_client::Error>,
}

impl fmt::Display for Different {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only = |one: &Versions, two: &Versions| -> Vec<String> {
            let differs = |(key, version): &(&String, &String)| two.get(*key) != Some(*version);
            one.iter().filter(differs).map(|(key, version)| format!("{key}@{version}")).collect()
        };
        let (store, server) = (only(&self.store, &self.server), only(&self.server, &self.store));
        write!(f, "the copy has {store:?}, the server has {server:?}")?;
        self.error.as_ref().map_or(Ok(()), |error| write!(f, "; it could not be asked: {error}"))
    }
}

impl std::error::Error for Different {}

/// Key and version of everything in a copy.
pub fn in_store<K: Resource + Send + Sync + 'static>(informer: &SharedInformer<K>) -> Versions {
    let objects = informer.store().list();
    objects.iter().map(|object| (object.key().to_owned(), object.resource_version().to_owned())).collect()
}

/// Key and version of everything on the server, freshly listed.
pub async fn on_server<K>(api: &Api<K>) -> Result<Versions, kube_client::Error>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug,
{
    let list = api.list(&ListParams::default()).await?;
    Ok(versions(&list.items))
}

/// Key and version of some objects.
pub fn versions<'a, K: Resource + 'a>(objects: impl IntoIterator<Item = &'a K>) -> Versions {
    objects.into_iter().map(versioned).collect()
}

/// Waits until a copy equals what the server lists, but no longer than that.
pub async fn caught_up<K>(
    informer: &SharedInformer<K>,
    api: &Api<K>,
    patience: Duration,
) -> Result<(), Different>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug + Send + Sync + 'static,
{
    let mut different = Different { store: Versions::new(), server: Versions::new(), error: None };
    let equal = async {
        loop {
            match on_server(api).await {
                Ok(server) => different = Different { store: in_store(informer), server, error: None },
                Err(error) => different.error = Some(error),
            }
            if different.error.is_none() && different.store == different.server {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    if tokio::time::timeout(patience, equal).await.is_ok() { Ok(()) } else { Err(different) }
}

fn versioned<K: Resource>(object: &K) -> (String, String) {
    let meta = object.meta();
    let name = meta.name.clone().unwrap_or_default();
    let key = meta.namespace.as_ref().map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}"));
    (key, meta.resource_version.clone().unwrap_or_default())
}
