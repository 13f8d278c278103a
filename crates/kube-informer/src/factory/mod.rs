//! One informer for each type, shared by everybody who asks for it.

mod builder;
mod shared;

pub use builder::FactoryBuilder;

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::join_all;
use kube_client::Client;
use kube_core::Resource;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::informer::SharedInformer;
use crate::lister::Lister;
use crate::source::{KubeSource, SourceError};
use builder::Settings;
use shared::AnyInformer;

/// Makes informers, one for each type, and starts and stops them together.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kube_informer::factory::SharedInformerFactory;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # let client = server.client()?;
/// let factory = SharedInformerFactory::builder(client).namespace("default").build();
/// let pods = factory.of::<Pod>()?;
/// let configs = factory.of::<ConfigMap>()?;
/// factory.start();
/// factory.wait_for_cache_sync().await?; // an error names each type that cannot sync, and why
/// assert!(pods.store().list().is_empty() && configs.has_synced());
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct SharedInformerFactory {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    settings: Settings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    informers: HashMap<TypeId, Arc<dyn AnyInformer>>,
    /// What is asked for from now on is refused.
    shut_down: bool,
}

/// Why a factory cannot do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FactoryError {
    /// It has been shut down.
    #[error("the informer factory has been shut down; make a new one")]
    ShutDown,
    /// Some informers cannot sync, or were stopped before they had.
    #[error("{}", in_words(.0))]
    NotSynced(Vec<NotSynced>),
}

/// An informer that cannot sync.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSynced {
    /// `pods`, `deployments.apps`.
    pub resource: String,
    /// Why not; none if it was stopped.
    pub cause: Option<SourceError>,
}

impl SharedInformerFactory {
    /// A factory for all namespaces, with default settings.
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// Settings for a factory.
    pub fn builder(client: Client) -> FactoryBuilder {
        FactoryBuilder::new(client)
    }

    /// The informer of a type, made when it is first asked for. It has to be [started](Self::start).
    pub fn of<K>(&self) -> Result<SharedInformer<K>, FactoryError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let mut state = self.inner.state.lock();
        if state.shut_down {
            return Err(FactoryError::ShutDown);
        }
        let known = state.informers.get(&TypeId::of::<K>());
        if let Some(informer) = known.and_then(|any| any.as_any().downcast_ref::<SharedInformer<K>>()) {
            return Ok(informer.clone());
        }
        let seed = self.inner.settings.seed.wrapping_add(state.informers.len() as u64);
        let informer = self.make::<K>(seed);
        state.informers.insert(TypeId::of::<K>(), Arc::new(informer.clone()));
        Ok(informer)
    }

    /// Reads what the informer of a type has.
    pub fn lister<K>(&self) -> Result<Lister<K>, FactoryError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        Ok(Lister::new(self.of::<K>()?.store().clone(), &()))
    }

    /// Starts the informers that have been asked for and not been started. To be called again for those that are asked
    /// for later.
    pub fn start(&self) {
        let state = self.inner.state.lock();
        if !state.shut_down {
            state.informers.values().for_each(|informer| informer.start());
        }
    }

    /// Waits until all informers that have been asked for have synced.
    ///
    /// Fails as soon as it is known which ones cannot: the server refuses them (401, 403) or does not know their type
    /// (404). Those go on trying, and may sync later.
    pub async fn wait_for_cache_sync(&self) -> Result<(), FactoryError> {
        let informers = self.informers();
        let outcomes = join_all(informers.iter().map(|informer| informer.settled())).await;
        let failed: Vec<NotSynced> = outcomes.into_iter().filter_map(Result::err).collect();
        if failed.is_empty() { Ok(()) } else { Err(FactoryError::NotSynced(failed)) }
    }

    /// Stops all informers, and returns when every task of them has ended. May be called by many, at any time; what is
    /// asked for afterwards is refused.
    pub async fn shutdown(&self) {
        self.inner.state.lock().shut_down = true;
        let informers = self.informers();
        join_all(informers.iter().map(|informer| informer.shutdown())).await;
    }

    fn informers(&self) -> Vec<Arc<dyn AnyInformer>> {
        let mut informers: Vec<_> = self.inner.state.lock().informers.values().cloned().collect();
        informers.sort_by(|one, two| one.name().cmp(two.name()));
        informers
    }

    fn make<K>(&self, seed: u64) -> SharedInformer<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let settings = &self.inner.settings;
        let client = self.inner.client.clone();
        let source = match &settings.namespace {
            Some(namespace) => KubeSource::<K>::namespaced(client, namespace, &()),
            None => KubeSource::<K>::all(client, &()),
        };
        let source = source.tweak(|tweak| {
            if let Some(change) = &settings.tweak {
                change(tweak);
            }
        });
        let (group, plural) = (K::group(&()), K::plural(&()));
        let name = if group.is_empty() { plural.into_owned() } else { format!("{plural}.{group}") };
        let resync = settings.resync_of.get(&TypeId::of::<K>()).copied().unwrap_or(settings.resync);
        SharedInformer::builder(source)
            .name(name)
            .seed(seed)
            .resync(resync)
            .config(settings.config.clone())
            .build()
    }
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.informers().iter().map(|informer| informer.name().to_owned()).collect();
        f.debug_struct("SharedInformerFactory").field("informers", &names).finish_non_exhaustive()
    }
}

fn in_words(failed: &[NotSynced]) -> String {
    let each: Vec<String> = failed
        .iter()
        .map(|one| match &one.cause {
            Some(cause) => format!("{}: {cause}", one.resource),
            None => format!("{}: stopped before it had synced", one.resource),
        })
        .collect();
    format!("cannot sync {}", each.join("; "))
}
