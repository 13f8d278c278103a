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
//!   [`PartialObjectMeta`](kube_core::PartialObjectMeta). The copy is the bytes that the server sent, and each
//!   type is a view of them. While a kind is only read as metadata, only metadata is asked for.
//! - **What is kept can be said** by kind and by namespace with [`CacheOptions`], and [changed](Cache::change) while it
//!   runs: listeners hear what that adds and takes away.
//! - **Namespaces that are followed by themselves** are read by themselves: one that the server refuses is an error for
//!   those who read it, or all of them together, and for nobody else.
//! - **A kind whose definition is deleted** has no objects any more, when the server has said twice in a row, with a pause
//!   between, that it does not know it: listeners hear that they are deleted, and reads are an error with the cause, at once. From then on nobody asks for
//!   its objects: its informer [rests](crate::informer::Phase::Resting), and keeps its listeners and indexes; who comes
//!   meanwhile is taken in too. When the definition is back, with or without namespaces, they hear of the objects that are
//!   there then. The same holds for a kind that is not there yet. Who wants it to end calls [`Kind::remove`].
//!
//! # How a kind that is gone is found again
//!
//! While a kind rests, the metadata of its definition is watched, of that one alone (`list` and `watch` of
//! `customresourcedefinitions`, for which the name `widgets.example.com` in `resourceNames` is enough). When something
//! happens to it, the server is asked whether it has the kind, and if so, the kind is followed again. The server is also
//! asked without a reason, after pauses that grow from a second to about five minutes, because not everything is a custom
//! resource; to about 30 seconds where the definition may not be watched. Where the server does not say what it has either, the kind itself
//! is asked for, in the same rhythm. While all kinds are there, nothing of this costs a request.

mod client;
mod definition;
mod entry;
mod error;
mod following;
mod gone;
mod informer;
mod kind;
mod live;
mod options;
mod part;
mod query;
mod server;
mod uncertain;
mod write;
mod written;

pub use client::{CacheClient, ClientKind, WRITE_TIMEOUT};
pub use error::CacheError;
pub use informer::{CacheInformer, CacheRegistration, CacheSubscription};
pub use kind::Kind;
pub use options::{CacheOptions, KindOptions, Missing, ObjectOptions, RESYNC, SYNC_TIMEOUT};
pub use query::Query;

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::Client;
use kube_core::{ApiResource, DynamicObject, GroupVersionResource, Resource};
use kube_wire::Codec;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::informer::{InformerError, InformerStatus};
use crate::object::{Lens, Lenses, Object, Raw};
use crate::source::is_cluster_scoped;
use crate::store::{IndexError, IndexFunction, NAMESPACE_INDEX};
use entry::{About, Entry};
use server::{Patience, Server};

/// Nothing is stopped as idle sooner.
const LEAST_IDLE: Duration = Duration::from_secs(1);

/// Many kinds behind one reader. See the [module](self). Clones are the same cache, and [kinds](Kind) and
/// [clients](CacheClient) hold it too; when the last of them is dropped, it stops, and its [informers](CacheInformer) with
/// it.
#[derive(Clone)]
pub struct Cache {
    shared: Arc<Shared>,
}

struct Shared {
    server: Arc<Server>,
    options: Arc<Mutex<CacheOptions>>,
    /// Held by whoever changes the options.
    changing: Mutex<()>,
    state: Mutex<State>,
    lenses: Mutex<HashMap<GroupVersionResource, Lenses>>,
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
            server: Arc::new(Server::new(client)),
            options: Arc::new(Mutex::new(options)),
            changing: Mutex::default(),
            state: Mutex::default(),
            lenses: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Starts to follow what has been asked for, and from then on whatever is asked for, on the tokio runtime that this is
    /// called on.
    pub fn start(&self) -> Result<(), CacheError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(InformerError::NoRuntime.into());
        }
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
        let lens = self.lens::<K>(&resource, &api);
        let about = Arc::new(About { resource, api, namespaced });
        Kind { cache: self.clone(), about, lens, whole: !K::metadata_api() }
    }

    /// A kind by any name that kubectl knows: `deploy`, `deployments.apps`, `Deployment`. Asks the server what it has.
    pub async fn find(&self, name: &str) -> Result<Kind<DynamicObject>, CacheError> {
        let found = self.patience().wait(name, self.shared.server.find(name)).await?;
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
        let patience = self.patience();
        let waits =
            self.entries().into_iter().map(|(_, entry)| async move { entry.synced(None, patience).await });
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
        if self.shared.state.lock().phase == Phase::ShutDown {
            return Err(CacheError::ShutDown);
        }
        let before = self.shared.options.lock().clone();
        let changed = change(before);
        changed.check()?;
        let entries = self.entries();
        let confined = |(resource, entry): &&(GroupVersionResource, Arc<Entry>)| {
            entry.is_certainly_cluster_scoped() && changed.confines(resource)
        };
        if let Some((_, entry)) = entries.iter().find(confined) {
            return Err(CacheError::ClusterScoped { resource: entry.about().name() });
        }
        // Whoever begins to follow a kind meanwhile follows what is changed.
        *self.shared.options.lock() = changed;
        let outcomes = self.entries().into_iter().map(|(_, entry)| entry.change(&self.shared.options));
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
        self.shared.server.client.clone()
    }

    /// How long somebody who asks now waits.
    fn patience(&self) -> Patience {
        Patience::new(self.shared.options.lock().sync_timeout)
    }

    fn missing(&self, resource: &GroupVersionResource) -> Missing {
        self.shared.options.lock().missing_of(resource)
    }

    fn has(&self, resource: &GroupVersionResource) -> bool {
        let state = self.shared.state.lock();
        state.entries.contains_key(resource) || state.idle.contains(resource)
    }

    /// Whether the options leave an object in, as far as that can be seen in what the server said.
    fn keeps(&self, about: &About, meta: &ObjectMeta, said: &str) -> bool {
        let followed = self.followed(&about.resource).map(|entry| entry.is_namespaced());
        let namespaced = followed.or(about.namespaced) != Some(false);
        let parts = self.shared.options.lock().parts(&about.resource, namespaced);
        // Few select by fields, and only they need more than the metadata.
        let by_fields = parts.iter().any(|part| !part.fields.is_empty());
        let object = if by_fields { serde_json::from_str(said).ok() } else { Some(Value::Null) };
        object.is_none_or(|object| parts.iter().any(|part| part.keeps(meta, &object)))
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
    fn lens<K>(&self, resource: &GroupVersionResource, api: &ApiResource) -> Arc<Lens<K>>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        let residency = self.shared.options.lock().residency_of(resource);
        let mut lenses = self.shared.lenses.lock();
        let make = || Lenses::new(api.clone(), residency);
        lenses.entry(resource.clone()).or_insert_with(make).of(Codec::serde())
    }

    fn remember_index(
        &self,
        about: &About,
        name: &str,
        function: IndexFunction<Raw>,
    ) -> Result<(), CacheError> {
        let mut state = self.shared.state.lock();
        let mut indexes = state.indexes.get(&about.resource).into_iter().flatten();
        if name == NAMESPACE_INDEX || indexes.any(|(known, _)| known == name) {
            return Err(IndexError::Exists { name: name.to_owned() }.into());
        }
        // A function that panics is not remembered.
        if let Some(entry) = state.entries.get(&about.resource) {
            entry.add_index(name, Arc::clone(&function));
        }
        state.indexes.entry(about.resource.clone()).or_default().push((name.to_owned(), function));
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop.cancel();
        for entry in self.state.get_mut().entries.values() {
            entry.informer().stop();
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<String> =
            self.entries().iter().map(|(resource, _)| resource.resource.clone()).collect();
        f.debug_struct("Cache").field("kinds", &kinds).finish_non_exhaustive()
    }
}
