//! Many kinds behind one reader: what controller-runtime's cache is to Go.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_core::PartialObjectMeta;
//! use kube_informer::cache::{Cache, Query};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # server.seed("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: n1, containers: [{name: c, image: i}]}}")?;
//! # let client = server.client()?;
//! let cache = Cache::new(client);
//! cache.kind::<Pod>().add_index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone()).await?;
//! cache.start()?;
//!
//! let web = cache.get::<Pod>("default", "web").await?;
//! let on_node = cache.list::<Pod>(&Query::new().index("node", "n1")).await?;
//! assert!(on_node[0].is_same(&web));
//! // The same watch, and the same memory.
//! let metadata = cache.get::<PartialObjectMeta<Pod>>("default", "web").await?;
//! assert_eq!(metadata.resource_version(), web.resource_version());
//! cache.shutdown().await;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! - **A kind is followed when somebody first reads it**, or asks for its informer. Reads wait until everything has
//!   arrived, but not for what cannot: a kind that the server refuses, or does not know, is an error with the cause, at
//!   once. It goes on trying, and one kind never waits for another.
//! - **One watch and one copy for each kind**, whatever types it is read as: a type of k8s-openapi, a derived one, a
//!   [`DynamicObject`], a [`Projection`](crate::projection::Projection), or
//!   [`PartialObjectMeta`]. The copy is the bytes that the server sent, and each
//!   type is a view of them. While a kind is only read as metadata, only metadata is asked for.
//! - **What is kept can be said** by kind and by namespace with [`CacheOptions`], and [changed](Cache::change) while it
//!   runs: listeners hear what that adds and takes away.
//! - **A kind whose definition is deleted** has no objects any more, and comes back with its listeners and indexes when
//!   the definition does.

mod client;
mod entry;
mod error;
mod informer;
mod kind;
mod live;
mod options;
mod query;

pub use client::{CacheClient, ClientKind, WRITE_TIMEOUT};
pub use error::CacheError;
pub use informer::{CacheInformer, CacheRegistration, CacheSubscription};
pub use kind::Kind;
pub use options::{CacheOptions, KindOptions, Missing, ObjectOptions, RESYNC, SYNC_TIMEOUT};
pub use query::Query;

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::Client;
use kube_core::{ApiResource, DynamicObject, GroupVersionResource, PartialObjectMeta, Resource, TypeMeta};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::discovery::Resources;
use crate::informer::InformerStatus;
use crate::object::{Lens, Object, Raw, say_kind};
use crate::source::is_cluster_scoped;
use crate::store::{IndexError, IndexFunction};
use entry::{About, Entry};

/// Nothing is stopped as idle sooner.
const LEAST_IDLE: Duration = Duration::from_secs(1);

/// Many kinds behind one reader. See the [module](self). Clones are the same cache; when the last is dropped, and nobody
/// holds an [informer](CacheInformer) of it, it stops.
#[derive(Clone)]
pub struct Cache {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    options: Mutex<CacheOptions>,
    /// Held by whoever changes the options.
    changing: Mutex<()>,
    state: Mutex<State>,
    /// For each kind and type an `Arc<Lens<K>>`.
    lenses: Mutex<HashMap<(GroupVersionResource, TypeId), Arc<dyn Any + Send + Sync>>>,
    resources: tokio::sync::Mutex<Option<Resources>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct State {
    phase: Phase,
    entries: HashMap<GroupVersionResource, Arc<Entry>>,
    /// What was followed until nobody needed it.
    idle: HashSet<GroupVersionResource>,
    /// They outlive what is followed.
    indexes: HashMap<GroupVersionResource, Vec<(String, IndexFunction<Raw>)>>,
    /// How many kinds have been followed so far.
    made: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Created,
    Running,
    ShutDown,
}

impl Cache {
    /// A cache of everything that is asked for, not yet started.
    pub fn new(client: Client) -> Self {
        Self::of(client, CacheOptions::new())
    }

    /// A cache that keeps what the options say, not yet started.
    pub fn with(client: Client, options: CacheOptions) -> Result<Self, CacheError> {
        options.check()?;
        Ok(Self::of(client, options))
    }

    fn of(client: Client, options: CacheOptions) -> Self {
        let shared = Shared {
            client,
            options: Mutex::new(options),
            changing: Mutex::default(),
            state: Mutex::default(),
            lenses: Mutex::default(),
            resources: tokio::sync::Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Starts to follow what has been asked for, and from then on whatever is asked for. Needs a tokio runtime.
    pub fn start(&self) -> Result<(), CacheError> {
        let mut state = self.shared.state.lock();
        match state.phase {
            Phase::Created => state.phase = Phase::Running,
            Phase::Running => return Ok(()),
            Phase::ShutDown => return Err(CacheError::ShutDown),
        }
        for entry in state.entries.values() {
            self.shared.run(entry);
        }
        drop(state);
        let idle = self.shared.options.lock().idle;
        if let Some(time) = idle.map(|time| time.max(LEAST_IDLE)) {
            let shared = Arc::downgrade(&self.shared);
            let stop = self.shared.stop.clone();
            self.shared.tasks.spawn(async move {
                loop {
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = tokio::time::sleep(time / 2) => {}
                    }
                    let Some(shared) = shared.upgrade() else { return };
                    shared.stop_idle(time).await;
                }
            });
        }
        Ok(())
    }

    /// A kind, read as a type.
    pub fn kind<K>(&self) -> Kind<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.kind_of(&())
    }

    /// A kind that its type alone does not say: of [`DynamicObject`]s, or of their metadata.
    pub fn kind_of<K>(&self, kind: &K::DynamicType) -> Kind<K>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        let api = ApiResource::erase::<K>(kind);
        let resource = GroupVersionResource::gvr(&api.group, &api.version, &api.plural);
        let dynamic = TypeId::of::<K::Scope>() == TypeId::of::<kube_core::DynamicResourceScope>();
        let namespaced = (!dynamic).then(|| !is_cluster_scoped::<K>());
        let lens = self.lens::<K>(&resource, &api, !K::metadata_api());
        let about = Arc::new(About { resource, api, namespaced });
        Kind { cache: self.clone(), about, lens, whole: !K::metadata_api() }
    }

    /// A kind by any name that kubectl knows: `deploy`, `deployments.apps`, `Deployment`. Asks the server what it has.
    pub async fn find(&self, name: &str) -> Result<Kind<DynamicObject>, CacheError> {
        let mut resources = self.shared.resources.lock().await;
        // What was not there a moment ago may be now.
        let known = resources.as_ref().and_then(|resources| resources.resolve(name).ok());
        let found = match known {
            Some(found) => found.resource.clone(),
            None => {
                let fresh = Resources::fetch(&self.shared.client).await?;
                let found = fresh.resolve(name)?.resource.clone();
                *resources = Some(fresh);
                found
            }
        };
        Ok(self.kind_of(&found))
    }

    /// The object of a name. Kinds without namespaces ignore the namespace.
    pub async fn get<K>(&self, namespace: &str, name: &str) -> Result<Object<K>, CacheError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.kind::<K>().get(namespace, name).await
    }

    /// The objects that a query asks for, of one moment, in no order.
    pub async fn list<K>(&self, query: &Query) -> Result<Vec<Object<K>>, CacheError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.kind::<K>().list(query).await
    }

    /// Waits until everything that has been asked for has arrived. Fails as soon as it is known that something cannot,
    /// and names it.
    pub async fn synced(&self) -> Result<(), CacheError> {
        self.check_running()?;
        let patience = self.sync_timeout();
        let waits = self.entries().into_iter().map(|(_, entry)| async move { entry.synced(patience).await });
        futures::future::try_join_all(waits).await.map(drop)
    }

    /// How each kind that is followed is doing, by resource.
    pub fn status(&self) -> Vec<(GroupVersionResource, InformerStatus)> {
        self.entries().into_iter().map(|(resource, entry)| (resource, entry.informer().status())).collect()
    }

    /// Changes what is kept: namespaces and selectors. Listeners hear what that adds and takes away; reads wait for what
    /// it adds. Kinds for which it makes no difference go on undisturbed.
    pub fn change(&self, change: impl FnOnce(CacheOptions) -> CacheOptions) -> Result<(), CacheError> {
        let _changing = self.shared.changing.lock();
        let before = self.shared.options.lock().clone();
        let changed = change(before);
        changed.check()?;
        // Whoever begins to follow a kind meanwhile follows what is changed.
        *self.shared.options.lock() = changed.clone();
        let outcomes = self.entries().into_iter().map(|(_, entry)| entry.change(&changed));
        outcomes.fold(Ok(()), Result::and)
    }

    /// Reads from the cache and writes to the server, and reads what it wrote.
    pub fn client(&self) -> CacheClient {
        CacheClient::new(self.clone())
    }

    /// Stops everything, and returns when every task has ended.
    pub async fn shutdown(&self) {
        self.shared.state.lock().phase = Phase::ShutDown;
        self.shared.stop.cancel();
        join_all(self.entries().iter().map(|(_, entry)| entry.informer().shutdown())).await;
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    fn client_of_server(&self) -> Client {
        self.shared.client.clone()
    }

    fn sync_timeout(&self) -> Duration {
        self.shared.options.lock().sync_timeout
    }

    fn missing(&self, resource: &GroupVersionResource) -> Missing {
        self.shared.options.lock().missing_of(resource)
    }

    fn has(&self, resource: &GroupVersionResource) -> bool {
        let state = self.shared.state.lock();
        state.entries.contains_key(resource) || state.idle.contains(resource)
    }

    /// Whether the options leave an object in, as far as that can be seen.
    fn keeps(&self, about: &About, meta: &ObjectMeta) -> bool {
        let followed = self.followed(&about.resource).map(|entry| entry.is_namespaced());
        let namespaced = followed.or(about.namespaced) != Some(false);
        let parts = self.shared.options.lock().parts(&about.resource, namespaced);
        parts.iter().any(|part| part.keeps(meta))
    }

    fn followed(&self, resource: &GroupVersionResource) -> Option<Arc<Entry>> {
        self.shared.state.lock().entries.get(resource).cloned()
    }

    fn is_running(&self) -> bool {
        self.shared.state.lock().phase == Phase::Running
    }

    fn check_running(&self) -> Result<(), CacheError> {
        match self.shared.state.lock().phase {
            Phase::Created => Err(CacheError::NotStarted),
            Phase::Running => Ok(()),
            Phase::ShutDown => Err(CacheError::ShutDown),
        }
    }

    /// What is followed, by name.
    fn entries(&self) -> Vec<(GroupVersionResource, Arc<Entry>)> {
        let state = self.shared.state.lock();
        let mut entries: Vec<_> =
            state.entries.iter().map(|(resource, entry)| (resource.clone(), Arc::clone(entry))).collect();
        entries.sort_by(|(one, _), (two, _)| {
            (&one.group, &one.version, &one.resource).cmp(&(&two.group, &two.version, &two.resource))
        });
        entries
    }

    /// How a kind is seen as a type.
    fn lens<K>(&self, resource: &GroupVersionResource, api: &ApiResource, whole: bool) -> Arc<Lens<K>>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        let mut lenses = self.shared.lenses.lock();
        let known = lenses.get(&(resource.clone(), TypeId::of::<K>()));
        if let Some(lens) = known.and_then(|known| Arc::clone(known).downcast::<Lens<K>>().ok()) {
            return lens;
        }
        let types = TypeMeta { api_version: api.api_version.clone(), kind: api.kind.clone() };
        let complete = move |object: &mut K| {
            say_kind(object, &types);
            // Metadata says that it is metadata, and not of what.
            if let Some(object) = (object as &mut dyn Any).downcast_mut::<PartialObjectMeta<DynamicObject>>()
            {
                object.types = Some(types.clone());
            }
        };
        let residency = self.shared.options.lock().residency_of(resource);
        let lens = Arc::new(Lens::new(residency, whole, complete));
        lenses.insert((resource.clone(), TypeId::of::<K>()), Arc::clone(&lens) as Arc<dyn Any + Send + Sync>);
        lens
    }

    fn remember_index(
        &self,
        about: &About,
        name: &str,
        function: IndexFunction<Raw>,
    ) -> Result<(), CacheError> {
        let mut state = self.shared.state.lock();
        let indexes = state.indexes.entry(about.resource.clone()).or_default();
        if indexes.iter().any(|(known, _)| known == name) {
            return Err(IndexError::Exists { name: name.to_owned() }.into());
        }
        indexes.push((name.to_owned(), Arc::clone(&function)));
        if let Some(entry) = state.entries.get(&about.resource) {
            entry.add_index(name, function);
        }
        Ok(())
    }

    /// What is followed of a kind, from now on if it was not before.
    async fn entry(&self, about: &About, whole: bool) -> Result<Arc<Entry>, CacheError> {
        if let Some(entry) = self.known(about, whole)? {
            return Ok(entry);
        }
        let namespaced = self.is_namespaced(about).await?;
        // Somebody may have been faster.
        if let Some(entry) = self.known(about, whole)? {
            return Ok(entry);
        }
        let options = self.shared.options.lock();
        let mut state = self.shared.state.lock();
        if state.phase == Phase::ShutDown {
            return Err(CacheError::ShutDown);
        }
        if let Some(entry) = state.entries.get(&about.resource).cloned() {
            drop(state);
            if whole {
                entry.whole()?;
            }
            return Ok(entry);
        }
        if !namespaced && options.confines(&about.resource) {
            return Err(CacheError::ClusterScoped { resource: about.name() });
        }
        state.made += 1;
        state.idle.remove(&about.resource);
        let entry = Entry::new(&self.shared.client, about.clone(), namespaced, whole, &options, state.made);
        for (name, function) in state.indexes.get(&about.resource).into_iter().flatten() {
            entry.add_index(name, Arc::clone(function));
        }
        let entry = Arc::new(entry);
        state.entries.insert(about.resource.clone(), Arc::clone(&entry));
        if state.phase == Phase::Running {
            self.shared.run(&entry);
        }
        Ok(entry)
    }

    fn known(&self, about: &About, whole: bool) -> Result<Option<Arc<Entry>>, CacheError> {
        let entry = self.shared.state.lock().entries.get(&about.resource).cloned();
        if let Some(entry) = entry.as_ref().filter(|_| whole) {
            entry.whole()?;
        }
        Ok(entry)
    }

    /// Whether objects of a kind have namespaces: what its type says, or else the server.
    async fn is_namespaced(&self, about: &About) -> Result<bool, CacheError> {
        if let Some(namespaced) = about.namespaced {
            return Ok(namespaced);
        }
        let list_of = about.api.kind.strip_suffix("List").filter(|of| !of.is_empty());
        let is_it = |one: &ApiResource| {
            (&one.group, &one.version, &one.plural)
                == (&about.resource.group, &about.resource.version, &about.resource.resource)
        };
        let mut resources = self.shared.resources.lock().await;
        for fresh in [false, true] {
            if fresh || resources.is_none() {
                *resources = Some(Resources::fetch(&self.shared.client).await?);
            }
            let found = resources.as_ref().and_then(|all| all.iter().find(|one| is_it(&one.resource)));
            if let Some(found) = found {
                return Ok(found.namespaced);
            }
        }
        match list_of {
            Some(of) => Err(CacheError::ListKind { kind: about.api.kind.clone(), of: of.to_owned() }),
            // It may be there one day; most kinds have namespaces.
            None => Ok(true),
        }
    }

    async fn remove(&self, resource: &GroupVersionResource) -> bool {
        let Some(entry) = self.shared.state.lock().entries.remove(resource) else { return false };
        // Whoever shuts down the cache meanwhile waits for it too.
        self.shared.tasks.track_future(entry.informer().shutdown()).await;
        true
    }
}

impl Shared {
    fn run(&self, entry: &Arc<Entry>) {
        entry.informer().start();
        let (watching, stop) = (Entry::watch_over(entry.informer().clone()), self.stop.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = watching => {}
            }
        });
    }

    /// Stops what nobody needs.
    async fn stop_idle(&self, time: Duration) {
        let idle: Vec<Arc<Entry>> = {
            let mut state = self.state.lock();
            // Who holds an informer of the cache holds the entry too.
            let is_idle = |entry: &Arc<Entry>| Arc::strong_count(entry) == 1 && entry.is_idle(time);
            let idle: Vec<_> = state.entries.extract_if(|_, entry| is_idle(entry)).collect();
            state.idle.extend(idle.iter().map(|(resource, _)| resource.clone()));
            idle.into_iter().map(|(_, entry)| entry).collect()
        };
        join_all(idle.iter().map(|entry| entry.informer().shutdown())).await;
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<String> =
            self.entries().iter().map(|(resource, _)| resource.resource.clone()).collect();
        f.debug_struct("Cache").field("kinds", &kinds).finish_non_exhaustive()
    }
}
