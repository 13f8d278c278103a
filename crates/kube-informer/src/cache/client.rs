//! Reads from the cache, writes to the server.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube_core::params::{DeleteParams, Patch, PatchParams, PostParams};
use kube_core::{GroupVersionResource, Request, Resource};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::entry::Entry;
use super::server::Patience;
use super::written::{Written, namespace_in};
use super::{Cache, CacheError, Kind, Missing, Query};
use crate::object::{Object, key};
use crate::source::{SourceError, is_segment};
use crate::store::Version;

/// How long a read waits for what was written before, unless it is said otherwise.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// So many writes may wait to be seen before those that have been are forgotten.
const MANY_NOTES: usize = 10_000;

/// Reads from a cache and writes to the server; made by [`Cache::client`]. Clones share what they wrote.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::Cache;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// let cache = Cache::new(server.client()?);
/// cache.start()?;
/// let configs = cache.client().field_manager("me").kind::<ConfigMap>();
/// let mut hello = ConfigMap::default();
/// hello.metadata.name = Some("hello".to_owned());
/// hello.metadata.namespace = Some("default".to_owned());
/// let written = configs.create(&hello).await?;
/// // It is there, though the cache may not have heard of it a moment ago.
/// let read = configs.get("default", "hello").await?;
/// assert_eq!(Some(read.resource_version()), written.metadata.resource_version.as_deref());
/// cache.shutdown().await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
///
/// What was written through it is there when it is read through it: a read waits until the copy has come so far, for
/// [`WRITE_TIMEOUT`] by default, and no longer: if the kind has yet to arrive, that is part of it. Then it is a
/// [`CacheError::WriteNotSeen`]. Bookmarks count: what the cache will never show is not waited for longer
/// than until the next. Writes by others are not waited for, and writes never wait.
///
/// A read of one object waits for writes to that object, a list for all writes to the kind, or to the namespace that it
/// lists. An object that the cache's selectors leave out is not waited for.
#[derive(Clone)]
pub struct CacheClient {
    cache: Cache,
    written: Arc<Mutex<HashMap<(GroupVersionResource, String), Written>>>,
    patience: Duration,
    manager: Option<String>,
}

impl CacheClient {
    pub(super) fn new(cache: Cache) -> Self {
        Self { cache, written: Arc::default(), patience: WRITE_TIMEOUT, manager: None }
    }

    /// How long a read waits for what was written before; zero for not at all.
    #[must_use]
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// The field manager of writes.
    #[must_use]
    pub fn field_manager(mut self, name: impl Into<String>) -> Self {
        self.manager = Some(name.into());
        self
    }

    /// A kind, read and written as a type.
    pub fn kind<K>(&self) -> ClientKind<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        ClientKind { client: self.clone(), kind: self.cache.kind() }
    }

    /// A kind that its type alone does not say, read and written.
    pub fn kind_of<K>(&self, kind: &K::DynamicType) -> ClientKind<K>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        ClientKind { client: self.clone(), kind: self.cache.kind_of(kind) }
    }
}

/// One kind, read from a cache and written to the server.
pub struct ClientKind<K> {
    client: CacheClient,
    kind: Kind<K>,
}

impl<K: Resource + DeserializeOwned + Send + Sync + 'static> ClientKind<K> {
    /// The object of a name, as it was last written through this client, or later.
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Object<K>, CacheError> {
        match self.wait(Some(namespace), |of| *of == key(namespace, name) || of == name).await? {
            Some(entry) => self.kind.look_up(&entry, namespace, name),
            None => self.kind.get(namespace, name).await,
        }
    }

    /// The objects that a query asks for, as they were last written through this client, or later.
    pub async fn list(&self, query: &Query) -> Result<Vec<Object<K>>, CacheError> {
        let within = |of: &String| match &query.namespace {
            Some(namespace) => of.split_once('/').is_none_or(|(one, _)| one == namespace),
            None => true,
        };
        match self.wait(query.namespace.as_deref(), within).await? {
            Some(entry) => self.kind.look_through(&entry, query),
            None => self.kind.list(query).await,
        }
    }

    /// Everything that was written to the kind through this client can be read: for those who come back later instead of
    /// waiting.
    pub fn has_seen_writes(&self) -> bool {
        self.awaited(|_| true).is_empty()
    }

    /// Deletes an object.
    pub async fn delete(&self, namespace: &str, name: &str, params: &DeleteParams) -> Result<(), CacheError> {
        let request = self
            .request_for(namespace, name)
            .await?
            .delete(name, params)
            .map_err(|error| self.unsaid(&error))?;
        let client = self.client.cache.client_of_server();
        let answer = client.request_status::<K>(request).await.map_err(|error| self.failed(&error))?;
        let (of, written) = match answer.as_ref().left() {
            // It is still there: it waits for its finalizers, or for its end.
            Some(object) if object.meta().deletion_timestamp.is_some() => {
                (object_key(object), version_of(object).map(Written::Version))
            }
            Some(object) => {
                let uid = object.meta().uid.clone().unwrap_or_default();
                let deleted_at = version_of(object);
                (object_key(object), Some(Written::Gone { uid, deleted_at, written_at: None }))
            }
            None => {
                let details = answer.as_ref().right().and_then(|status| status.details.clone());
                let uid = details.map(|details| details.uid).unwrap_or_default();
                (
                    self.key(namespace, name).await?,
                    Some(Written::Gone { uid, deleted_at: None, written_at: None }),
                )
            }
        };
        if let Some(written) = written.filter(|_| !params.dry_run) {
            self.note(of, written);
        }
        Ok(())
    }

    /// Where the objects of a namespace are.
    async fn request(&self, namespace: &str) -> Result<Request, CacheError> {
        self.kind.about.check()?;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        let namespace = if self.is_namespaced(namespace).await? { namespace } else { None };
        if let Some(namespace) = namespace.filter(|namespace| !is_segment(namespace)) {
            return Err(CacheError::BadNamespace { namespace: namespace.to_owned() });
        }
        Ok(Request::new(kube_core::DynamicObject::url_path(&self.kind.about.api, namespace)))
    }

    /// The same, for an object that is there already: of an impossible name there is none.
    async fn request_for(&self, namespace: &str, name: &str) -> Result<Request, CacheError> {
        if !name.is_empty() && !is_segment(name) {
            return Err(self.kind.not_found(namespace, name));
        }
        self.request(namespace).await
    }

    async fn key(&self, namespace: &str, name: &str) -> Result<String, CacheError> {
        let namespaced = self.is_namespaced(Some(namespace).filter(|name| !name.is_empty())).await?;
        Ok(if namespaced { key(namespace, name) } else { name.to_owned() })
    }

    /// Whether a namespace that somebody has named means anything.
    async fn is_namespaced(&self, namespace: Option<&str>) -> Result<bool, CacheError> {
        Ok(namespace.is_some() && self.kind.cache.is_namespaced(&self.kind.about).await?)
    }

    fn note(&self, of: String, written: Written) {
        if self.client.patience.is_zero() {
            return;
        }
        let mut notes = self.client.written.lock();
        if notes.len() >= MANY_NOTES {
            let cache = &self.client.cache;
            // Of what nobody follows, nobody will wait for more than a list, which comes after the write.
            notes.retain(|(resource, of), written| {
                cache.followed(resource).is_some_and(|entry| !written.is_seen(&entry, of))
            });
        }
        let of = (self.kind.about.resource.clone(), of);
        let before = notes.remove(&of);
        notes.insert(of, written.after(before));
    }

    /// What was written and cannot be read yet.
    fn awaited(&self, of: impl Fn(&String) -> bool) -> Vec<(String, Written)> {
        let resource = &self.kind.about.resource;
        let entry = self.client.cache.followed(resource);
        let mut written = self.client.written.lock();
        if let Some(entry) = entry {
            written.retain(|(known, of), written| known != resource || !written.is_seen(&entry, of));
        }
        let waiting = written.iter().filter(|((known, key), _)| known == resource && of(key));
        waiting.map(|((_, key), written)| (key.clone(), written.clone())).collect()
    }

    /// Waits until what was written can be read, in a namespace, or in all; returns where, if anything was waited for.
    async fn wait(
        &self,
        namespace: Option<&str>,
        of: impl Fn(&String) -> bool,
    ) -> Result<Option<Arc<Entry>>, CacheError> {
        let patience = Patience::new(self.client.patience);
        if patience.time.is_zero() || self.awaited(&of).is_empty() {
            return Ok(None);
        }
        let cache = &self.client.cache;
        cache.check_running()?;
        let resource = &self.kind.about.resource;
        if !cache.has(resource) && cache.missing(resource) != Missing::Start {
            // The server is asked, or nobody.
            return Ok(None);
        }
        let for_kind = patience.at_most(cache.patience().time);
        let entry = match self.kind.entry(namespace, for_kind).await {
            Err(CacheError::TimedOut { resource, after, cause }) if after == patience.time => {
                // What was written may be there, and something else that is to be read not.
                let not_seen = self.not_seen(&of, cause.clone());
                return Err(not_seen.unwrap_or(CacheError::TimedOut { resource, after, cause }));
            }
            entry => entry?,
        };
        // The status says how far each namespace has come, a little later than the copy has.
        let (mut copy, mut status) =
            (entry.informer().store().watch_changes(), entry.informer().watch_status());
        let seen = async {
            while !self.awaited(&of).is_empty() {
                let changed = tokio::select! {
                    changed = copy.changed() => changed,
                    changed = status.changed() => changed,
                };
                if changed.is_err() {
                    return;
                }
            }
        };
        // Whatever ended it: what counts is what is there.
        let _ = tokio::time::timeout(patience.left(), seen).await;
        let cause = entry.informer().look(|status| status.trouble.as_ref().map(|one| one.error.clone()));
        self.not_seen(&of, cause).map_or(Ok(Some(entry)), Err)
    }

    /// That some of what was written cannot be read; none if all of it can.
    fn not_seen(&self, of: impl Fn(&String) -> bool, cause: Option<SourceError>) -> Option<CacheError> {
        let (key, written) = self.awaited(of).into_iter().next()?;
        let entry = self.client.cache.followed(&self.kind.about.resource);
        let seen = entry.and_then(|entry| entry.reached(namespace_in(&key)));
        Some(CacheError::WriteNotSeen {
            resource: self.kind.resource(),
            wanted: written.in_words(&key),
            seen: seen.map(|version| version.to_string()),
            after: self.client.patience,
            cause: cause.map(Box::new),
        })
    }

    fn failed(&self, error: &kube_client::Error) -> CacheError {
        CacheError::Server { resource: self.kind.resource(), cause: SourceError::of_client(error) }
    }

    /// There is no way to ask for it.
    fn unsaid(&self, error: &(dyn std::error::Error + 'static)) -> CacheError {
        CacheError::Server { resource: self.kind.resource(), cause: SourceError::connection(error) }
    }
}

impl<K: Resource + DeserializeOwned + Serialize + Send + Sync + 'static> ClientKind<K> {
    /// Creates an object.
    pub async fn create(&self, object: &K) -> Result<K, CacheError> {
        let request = self.request(&namespace_of(object)).await?.create(&self.post(), self.bytes(object)?);
        self.write(request).await
    }

    /// Replaces an object.
    pub async fn replace(&self, object: &K) -> Result<K, CacheError> {
        let name = name_of(object);
        let request = self.request_for(&namespace_of(object), &name).await?;
        self.write(request.replace(&name, &self.post(), self.bytes(object)?)).await
    }

    /// Replaces the status of an object.
    pub async fn replace_status(&self, object: &K) -> Result<K, CacheError> {
        let name = name_of(object);
        let request = self.request_for(&namespace_of(object), &name).await?;
        let bytes = self.bytes(object)?;
        self.write(request.replace_subresource("status", &name, &self.post(), bytes)).await
    }

    /// Changes an object. Without a field manager of its own the patch has that of the client.
    pub async fn patch<P: Serialize + fmt::Debug>(
        &self,
        namespace: &str,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K, CacheError> {
        let request = self.request_for(namespace, name).await?.patch(name, &self.managed(params), patch);
        if params.dry_run { Ok(self.send(request).await?.0) } else { self.write(request).await }
    }

    /// Changes the status of an object.
    pub async fn patch_status<P: Serialize + fmt::Debug>(
        &self,
        namespace: &str,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K, CacheError> {
        let request = self.request_for(namespace, name).await?;
        let request = request.patch_subresource("status", name, &self.managed(params), patch);
        if params.dry_run { Ok(self.send(request).await?.0) } else { self.write(request).await }
    }

    fn post(&self) -> PostParams {
        PostParams { field_manager: self.client.manager.clone(), ..PostParams::default() }
    }

    fn managed(&self, params: &PatchParams) -> PatchParams {
        let manager = params.field_manager.clone().or_else(|| self.client.manager.clone());
        PatchParams { field_manager: manager, ..params.clone() }
    }

    fn bytes(&self, object: &K) -> Result<Vec<u8>, CacheError> {
        serde_json::to_vec(object).map_err(|error| self.unsaid(&error))
    }

    /// Writes, and notes what was written.
    async fn write<E: std::error::Error + 'static>(
        &self,
        request: Result<http::Request<Vec<u8>>, E>,
    ) -> Result<K, CacheError> {
        let (object, said) = self.send(request).await?;
        if let Some(version) = version_of(&object) {
            if self.client.cache.keeps(&self.kind.about, object.meta(), &said) {
                self.note(object_key(&object), Written::Version(version));
            } else if self.client.cache.followed(&self.kind.about.resource).is_some() {
                self.note(object_key(&object), Written::Left(version));
            }
        }
        Ok(object)
    }

    /// What the server has now: as the type, which may have a part of it alone, and as the server said it.
    async fn send<E: std::error::Error + 'static>(
        &self,
        request: Result<http::Request<Vec<u8>>, E>,
    ) -> Result<(K, String), CacheError> {
        let request = request.map_err(|error| self.unsaid(&error))?;
        let client = self.client.cache.client_of_server();
        let said = client.request_text(request).await.map_err(|error| self.failed(&error))?;
        let object = serde_json::from_str(&said);
        let object = object.map_err(|error| self.failed(&kube_client::Error::SerdeError(error)))?;
        Ok((object, said))
    }
}

fn version_of<K: Resource>(object: &K) -> Option<Version> {
    object.meta().resource_version.as_deref()?.parse().ok()
}

fn namespace_of<K: Resource>(object: &K) -> String {
    object.meta().namespace.clone().unwrap_or_default()
}

fn name_of<K: Resource>(object: &K) -> String {
    object.meta().name.clone().unwrap_or_default()
}

fn object_key<K: Resource>(object: &K) -> String {
    key(&namespace_of(object), &name_of(object))
}

impl<K> Clone for ClientKind<K> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), kind: self.kind.clone() }
    }
}

impl<K> fmt::Debug for ClientKind<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientKind").field(&self.kind).finish()
    }
}

impl fmt::Debug for CacheClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheClient").field("cache", &self.cache).finish_non_exhaustive()
    }
}
