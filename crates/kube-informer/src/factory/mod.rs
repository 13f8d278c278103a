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
use kube_core::{ClusterResourceScope, Resource};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::informer::SharedInformer;
use crate::lister::Lister;
use crate::source::{KubeSource, SourceError, resource_name};
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
    /// How many have been made so far.
    made: u64,
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
    /// There is no namespace to look into.
    #[error("the informer factory was given an empty list of namespaces; name at least one, or none for all")]
    NoNamespace,
    /// Some informers cannot sync, or were stopped before they had.
    #[error("{}", in_words(.0))]
    NotSynced(Vec<NotSynced>),
}

/// An informer that has synced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Synced {
    /// `pods`, `deployments.apps`.
    pub resource: String,
    /// How many objects there are.
    pub objects: usize,
    /// How many objects cannot be decoded; the informer's status names them.
    pub quarantined: usize,
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

    /// The informer of a type, made when it is first asked for, and anew after it was stopped. It has to be
    /// [started](Self::start).
    pub fn of<K>(&self) -> Result<SharedInformer<K>, FactoryError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let mut state = self.inner.state.lock();
        if state.shut_down {
            return Err(FactoryError::ShutDown);
        }
        let known = state.informers.get(&TypeId::of::<K>());
        let known = known.and_then(|any| any.as_any().downcast_ref::<SharedInformer<K>>());
        if let Some(informer) = known.filter(|informer| !informer.is_stopped()) {
            return Ok(informer.clone());
        }
        state.made += 1;
        let seed = self.inner.settings.seed.wrapping_add(state.made);
        let informer = self.make::<K>(seed)?;
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
    /// Fails as soon as it is known which ones cannot: the server refuses them (401, 403), does not know their type
    /// (404), or sends what cannot be decoded. Those go on trying, and may sync later.
    pub async fn wait_for_cache_sync(&self) -> Result<Vec<Synced>, FactoryError> {
        let informers = self.informers();
        let (mut synced, mut failed) = (Vec::new(), Vec::new());
        for outcome in join_all(informers.iter().map(|informer| informer.settled())).await {
            match outcome {
                Ok(one) => synced.push(one),
                Err(one) => failed.push(one),
            }
        }
        if failed.is_empty() { Ok(synced) } else { Err(FactoryError::NotSynced(failed)) }
    }

    /// Stops the informer of one type, and returns when every task of it has ended; false if there was none. The next
    /// who asks for the type gets a new one.
    pub async fn shutdown_of<K: 'static>(&self) -> bool {
        let informer = self.inner.state.lock().informers.remove(&TypeId::of::<K>());
        match informer {
            Some(informer) => {
                informer.shutdown().await;
                true
            }
            None => false,
        }
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

    fn make<K>(&self, seed: u64) -> Result<SharedInformer<K>, FactoryError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let settings = &self.inner.settings;
        let tweaked = |source: KubeSource<K>| {
            source.tweak(|tweak| {
                if let Some(change) = &settings.tweak {
                    change(tweak);
                }
            })
        };
        let client = &self.inner.client;
        let mut builder = match &settings.namespaces {
            Some(namespaces) if !is_cluster_scoped::<K>() => {
                let sources = KubeSource::namespaces(client, namespaces, &()).into_iter().map(tweaked);
                SharedInformer::across(sources).map_err(|_| FactoryError::NoNamespace)?
            }
            _ => SharedInformer::builder(tweaked(KubeSource::all(client.clone(), &()))),
        };
        if let Some(name) = &settings.name {
            let resource = resource_name(&K::plural(&()), &K::group(&()));
            builder = builder.name(format!("{name}/{resource}"));
        }
        if let Some(transform) = settings.transform::<K>() {
            builder = builder.transform(transform);
        }
        if let Some(metrics) = &settings.metrics {
            builder = builder.metrics(metrics);
        }
        let resync = settings.resync_of.get(&TypeId::of::<K>()).copied().unwrap_or(settings.resync);
        let builder = builder.seed(seed).resync(resync).residency(settings.residency);
        Ok(builder.config(settings.config.clone()).build())
    }
}

fn is_cluster_scoped<K: Resource + 'static>() -> bool {
    TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>()
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
