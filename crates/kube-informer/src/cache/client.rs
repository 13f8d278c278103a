//! Reads from the cache, writes to the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::params::DeleteParams;
use kube_core::{Request, Resource};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::entry::Entry;
use super::server::Patience;
use super::uncertain::InFlight;
use super::written::{ANY, Before, MANY_NOTES, Noted, Notes, Of, Written, any_in, namespace_in};
use super::{Cache, CacheError, Kind, Missing, Query};
use crate::object::{Object, key};
use crate::source::{SourceError, is_segment};
use crate::store::Version;

/// How long a read waits for what was written before, unless it is said otherwise.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

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
///
/// A write whose future is dropped, or whose answer is lost, may have been done. The next read that would have to show it asks
/// the server for the object, and waits for what is there; if the server was to choose the name, for the version that the
/// server is at. A write whose connection was refused has not been done.
///
/// The answer to a write may prove that the server was restored from a backup: its version is lower than the copy's was before. Then
/// reads that would have to show the write wait until the cache has listed everything again.
#[derive(Clone)]
pub struct CacheClient {
    cache: Cache,
    notes: Arc<Mutex<Notes>>,
    patience: Duration,
    pub(super) manager: Option<String>,
}

impl CacheClient {
    pub(super) fn new(cache: Cache) -> Self {
        Self { cache, notes: Arc::default(), patience: WRITE_TIMEOUT, manager: None }
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
    pub(super) client: CacheClient,
    kind: Kind<K>,
}

impl<K: Resource + DeserializeOwned + Send + Sync + 'static> ClientKind<K> {
    /// The object of a name, as it was last written through this client, or later.
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Object<K>, CacheError> {
        let is_it =
            |of: &String| *of == key(namespace, name) || of == name || of == ANY || *of == any_in(namespace);
        match self.wait(Some(namespace), is_it).await? {
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
    /// waiting. False also if it is not known whether a write was done; a read finds that out.
    pub fn has_seen_writes(&self) -> bool {
        !self.has_to_wait(|_| true)
    }

    fn has_to_wait(&self, of: impl Fn(&String) -> bool) -> bool {
        !self.awaited(&of).is_empty() || !self.uncertain(of).is_empty()
    }

    /// Deletes an object.
    pub async fn delete(&self, namespace: &str, name: &str, params: &DeleteParams) -> Result<(), CacheError> {
        let request = self
            .request_for(namespace, name)
            .await?
            .delete(name, params)
            .map_err(|error| self.unsaid(&error))?;
        let key = self.key(namespace, name).await?;
        let before = self.before(&key).filter(|_| !params.dry_run);
        let in_flight = self.in_flight(key.clone(), params.dry_run);
        let client = self.client.cache.client_of_server();
        let answer = match client.request_status::<K>(request).await {
            Ok(answer) => answer,
            Err(error) => {
                let error = self.failed(&error);
                in_flight.failed(&error);
                return Err(error);
            }
        };
        if let (Some(before), Some(object)) = (before, answer.as_ref().left()) {
            before.answered(object.meta(), false);
        }
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
                (key, Some(Written::Gone { uid, deleted_at: None, written_at: None }))
            }
        };
        if let Some(written) = written.filter(|_| !params.dry_run) {
            self.note(of, written);
        }
        in_flight.settled();
        Ok(())
    }

    /// Where the objects of a namespace are.
    pub(super) async fn request(&self, namespace: &str) -> Result<Request, CacheError> {
        self.kind.about.check()?;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        let namespace = if self.is_namespaced(namespace).await? { namespace } else { None };
        if let Some(namespace) = namespace.filter(|namespace| !is_segment(namespace)) {
            return Err(CacheError::BadNamespace { namespace: namespace.to_owned() });
        }
        Ok(Request::new(kube_core::DynamicObject::url_path(&self.kind.about.api, namespace)))
    }

    /// The same, for an object that is there already: of an impossible name there is none.
    pub(super) async fn request_for(&self, namespace: &str, name: &str) -> Result<Request, CacheError> {
        if !name.is_empty() && !is_segment(name) {
            return Err(self.kind.not_found(namespace, name));
        }
        self.request(namespace).await
    }

    pub(super) async fn key(&self, namespace: &str, name: &str) -> Result<String, CacheError> {
        let namespaced = self.is_namespaced(Some(namespace).filter(|name| !name.is_empty())).await?;
        Ok(if namespaced { key(namespace, name) } else { name.to_owned() })
    }

    /// Whether a namespace that somebody has named means anything.
    async fn is_namespaced(&self, namespace: Option<&str>) -> Result<bool, CacheError> {
        Ok(namespace.is_some() && self.kind.cache.is_namespaced(&self.kind.about).await?)
    }

    pub(super) fn note(&self, of: String, written: Written) {
        if self.client.patience.is_zero() {
            return;
        }
        let mut notes = self.client.notes.lock();
        let cache = &self.client.cache;
        // Of what nobody follows, nobody will wait for more than a list, which comes after the write.
        if notes.written.len() >= MANY_NOTES {
            notes.written.retain(|(resource, of), written| {
                cache.followed(resource).is_some_and(|entry| !written.is_seen(&entry, of))
            });
        }
        if notes.uncertain.len() >= MANY_NOTES {
            notes.uncertain.retain(|(resource, _), _| cache.followed(resource).is_some());
        }
        let epoch = self.followed().map_or(0, |entry| entry.server_epoch(namespace_in(&of)));
        let of = self.of(of);
        let before = notes.written.remove(&of).filter(|before| before.epoch == epoch);
        let written = written.after(before.map(|before| before.written));
        notes.written.insert(of, Noted { written, epoch });
    }

    /// Notes what the server has under a key.
    pub(super) fn note_written(&self, of: String, meta: &ObjectMeta, said: &str) {
        let Some(version) = meta.resource_version.as_deref().and_then(|version| version.parse().ok()) else {
            return;
        };
        if self.client.cache.keeps(&self.kind.about, meta, said) {
            self.note(of, Written::Version(version));
        } else if self.followed().is_some() {
            self.note(of, Written::Left(version));
        }
    }

    pub(super) fn of(&self, key: String) -> Of {
        (self.kind.about.resource.clone(), key)
    }

    pub(super) fn notes(&self) -> &Mutex<Notes> {
        &self.client.notes
    }

    pub(super) fn followed(&self) -> Option<Arc<Entry>> {
        self.client.cache.followed(&self.kind.about.resource)
    }

    /// What the copy has before something is asked about a key; none if it has nothing to compare an answer with.
    pub(super) fn before(&self, key: &str) -> Option<Before> {
        let is_noted = !self.client.patience.is_zero();
        self.followed().filter(|_| is_noted).and_then(|entry| Before::new(entry, key))
    }

    /// A write begins: unless it is said what came of it, it is uncertain.
    pub(super) fn in_flight(&self, key: String, dry_run: bool) -> InFlight<'_> {
        let is_noted = !dry_run && !self.client.patience.is_zero();
        InFlight::new(&self.client.notes, is_noted.then(|| self.of(key)))
    }

    /// Writes of which it is not known whether they were done.
    pub(super) fn uncertain(&self, of: impl Fn(&String) -> bool) -> Vec<(String, u64)> {
        let notes = self.client.notes.lock();
        let is_it = |(known, key): &Of| *known == self.kind.about.resource && of(key);
        let found = notes.uncertain.iter().filter(|(of, _)| is_it(of));
        found.map(|((_, key), number)| (key.clone(), *number)).collect()
    }

    /// What was written and cannot be read yet.
    fn awaited(&self, of: impl Fn(&String) -> bool) -> Vec<(String, Written)> {
        let resource = &self.kind.about.resource;
        let entry = self.client.cache.followed(resource);
        let written = &mut self.client.notes.lock().written;
        if let Some(entry) = entry {
            written.retain(|(known, of), written| known != resource || !written.is_seen(&entry, of));
        }
        let waiting = written.iter().filter(|((known, key), _)| known == resource && of(key));
        waiting.map(|((_, key), noted)| (key.clone(), noted.written.clone())).collect()
    }

    /// Waits until what was written can be read, in a namespace, or in all; returns where, if anything was waited for.
    async fn wait(
        &self,
        namespace: Option<&str>,
        of: impl Fn(&String) -> bool,
    ) -> Result<Option<Arc<Entry>>, CacheError> {
        let patience = Patience::new(self.client.patience);
        if patience.time.is_zero() || !self.has_to_wait(&of) {
            return Ok(None);
        }
        let cache = &self.client.cache;
        cache.check_running()?;
        let resource = &self.kind.about.resource;
        if !cache.has(resource) && cache.missing(resource) != Missing::Start {
            // The server is asked, or nobody.
            return Ok(None);
        }
        self.settle(&of, &patience).await?;
        if self.awaited(&of).is_empty() {
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
        Some(self.not_seen_in_time(written.in_words(&key), seen, cause))
    }

    pub(super) fn not_seen_in_time(
        &self,
        wanted: String,
        seen: Option<Version>,
        cause: Option<SourceError>,
    ) -> CacheError {
        CacheError::WriteNotSeen {
            resource: self.kind.resource(),
            wanted,
            seen: seen.map(|version| version.to_string()),
            after: self.client.patience,
            cause: cause.map(Box::new),
        }
    }

    /// The server has answered, but not as hoped.
    pub(super) fn refused(&self, cause: SourceError) -> CacheError {
        CacheError::Server { resource: self.kind.resource(), cause }
    }

    /// What the server says to a request.
    pub(super) async fn text<E: std::error::Error + 'static>(
        &self,
        request: Result<http::Request<Vec<u8>>, E>,
    ) -> Result<String, CacheError> {
        let request = request.map_err(|error| self.unsaid(&error))?;
        let client = self.client.cache.client_of_server();
        client.request_text(request).await.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &kube_client::Error) -> CacheError {
        self.refused(SourceError::of_client(error))
    }

    /// There is no way to ask for it.
    pub(super) fn unsaid(&self, error: &(dyn std::error::Error + 'static)) -> CacheError {
        self.refused(SourceError::connection(error))
    }
}

fn version_of<K: Resource>(object: &K) -> Option<Version> {
    object.meta().resource_version.as_deref()?.parse().ok()
}

pub(super) fn namespace_of<K: Resource>(object: &K) -> String {
    object.meta().namespace.clone().unwrap_or_default()
}

pub(super) fn name_of<K: Resource>(object: &K) -> String {
    object.meta().name.clone().unwrap_or_default()
}

pub(super) fn object_key<K: Resource>(object: &K) -> String {
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
