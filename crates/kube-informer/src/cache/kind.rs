//! One kind, read as one type.

use std::fmt;
use std::sync::Arc;

use kube_client::Client;
use kube_core::Resource;
use serde::de::DeserializeOwned;

use super::entry::{About, Entry};
use super::informer::CacheInformer;
use super::options::Missing;
use super::server::Patience;
use super::{Cache, CacheError, Query, live};
use crate::lister::NotFound;
use crate::object::{Lens, Matcher, Object, Raw};
use crate::store::{IndexValues, Snapshot};

/// One kind of a cache, read as one type; made by [`Cache::kind`] and [`Cache::kind_of`].
pub struct Kind<K> {
    pub(super) cache: Cache,
    pub(super) about: Arc<About>,
    pub(super) lens: Arc<Lens<K>>,
    /// Metadata alone is not enough.
    pub(super) whole: bool,
}

impl<K: Resource + DeserializeOwned + Send + Sync + 'static> Kind<K> {
    /// `deployments.apps`, or `pods` in the core group.
    pub fn resource(&self) -> String {
        self.about.name()
    }

    /// The object of a name. Kinds without namespaces ignore the namespace. If namespaces are followed by themselves, it
    /// waits for its own alone.
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Object<K>, CacheError> {
        let Some(entry) = self.readable(Some(namespace)).await? else {
            let (client, namespaced) = self.live(namespace).await?;
            let namespace = if namespaced { namespace } else { "" };
            return live::get(&client, &self.about, &self.lens, namespace, name).await;
        };
        self.look_up(&entry, namespace, name)
    }

    /// The objects that a query asks for, of one moment, in no order. It waits for the namespace that is named, or for
    /// all. Objects that do not fit the type are not among
    /// them: see [`CacheInformer::unfit`].
    pub async fn list(&self, query: &Query) -> Result<Vec<Object<K>>, CacheError> {
        let Some(entry) = self.readable(query.namespace.as_deref()).await? else {
            let namespace = query.namespace.as_deref().unwrap_or("");
            let (client, namespaced) = self.live(namespace).await?;
            let namespace = query.namespace.as_deref().filter(|_| namespaced);
            return live::list(&client, &self.about, &self.lens, namespace, query).await;
        };
        self.look_through(&entry, query)
    }

    /// The informer of the kind, when everything has arrived; at once if the cache has not been started.
    pub async fn informer(&self) -> Result<CacheInformer<K>, CacheError> {
        let patience = self.cache.patience();
        let entry = self.cache.entry(&self.about, self.whole, patience).await?;
        if self.cache.is_running() {
            entry.synced(None, patience).await?;
        }
        Ok(CacheInformer::new(entry, Arc::clone(&self.lens)))
    }

    /// The informer of the kind, though nothing may have arrived.
    pub async fn informer_now(&self) -> Result<CacheInformer<K>, CacheError> {
        let entry = self.cache.entry(&self.about, self.whole, self.cache.patience()).await?;
        Ok(CacheInformer::new(entry, Arc::clone(&self.lens)))
    }

    /// Adds an index: objects by what a function finds in them, for [`Query::index`]. It may be added at any time, once for
    /// each name, and stays when the kind is stopped and comes back. The function must not ask the cache.
    pub async fn add_index<V: IndexValues>(
        &self,
        name: &str,
        function: impl Fn(&K) -> V + Send + Sync + 'static,
    ) -> Result<(), CacheError> {
        let lens = Arc::clone(&self.lens);
        let function = move |object: &Object<Raw>| match object.seen_as(&lens) {
            Ok(object) => function(&object).into_values(),
            Err(_) => Vec::new(),
        };
        self.cache.entry(&self.about, self.whole, self.cache.patience()).await?;
        self.cache.remember_index(&self.about, name, Arc::new(function))
    }

    /// Stops to follow the kind, and returns when every task of it has ended; false if it was not followed. Listeners
    /// hear no more; the next who asks for the kind starts it anew.
    pub async fn remove(&self) -> bool {
        self.cache.remove(&self.about.resource).await
    }

    /// What can be read of a namespace, or of all; none if the server is to be asked.
    async fn readable(&self, namespace: Option<&str>) -> Result<Option<Arc<Entry>>, CacheError> {
        self.cache.check_running()?;
        self.about.check()?;
        if !self.cache.has(&self.about.resource) {
            match self.cache.missing(&self.about.resource) {
                Missing::Start => {}
                Missing::Fail => return Err(CacheError::NotCached { resource: self.resource() }),
                Missing::Live => return Ok(None),
            }
        }
        Ok(Some(self.entry(namespace, self.cache.patience()).await?))
    }

    /// What is followed, when everything of a namespace has arrived, or of all.
    pub(super) async fn entry(
        &self,
        namespace: Option<&str>,
        patience: Patience,
    ) -> Result<Arc<Entry>, CacheError> {
        let entry = self.cache.entry(&self.about, self.whole, patience).await?;
        entry.synced(namespace, patience).await?;
        Ok(entry)
    }

    /// What is needed to ask the server: whether a namespace means anything, beside the client.
    async fn live(&self, namespace: &str) -> Result<(Client, bool), CacheError> {
        let namespaced = !namespace.is_empty() && self.cache.is_namespaced(&self.about).await?;
        Ok((self.cache.client_of_server(), namespaced))
    }

    pub(super) fn look_up(
        &self,
        entry: &Entry,
        namespace: &str,
        name: &str,
    ) -> Result<Object<K>, CacheError> {
        let namespace = if entry.is_namespaced() { namespace } else { "" };
        if !entry.covers(namespace) {
            let (resource, namespace) = (self.resource(), namespace.to_owned());
            return Err(CacheError::NamespaceNotCached { resource, namespace });
        }
        // What a store has under such a name is something else, in a namespace.
        let found = Some(name).filter(|name| !name.contains('/'));
        let found = found.and_then(|name| entry.informer().store().get(namespace, name));
        let found = found.ok_or_else(|| self.not_found(namespace, name))?;
        found.seen_as(&self.lens).map_err(|error| {
            let (resource, key) = (self.resource(), found.key().to_owned());
            CacheError::Unfit { resource, key, why: error.why }
        })
    }

    pub(super) fn look_through(&self, entry: &Entry, query: &Query) -> Result<Vec<Object<K>>, CacheError> {
        let namespace = query.namespace.as_deref().filter(|_| entry.is_namespaced());
        if let Some(namespace) = namespace
            && !entry.covers(namespace)
        {
            let (resource, namespace) = (self.resource(), namespace.to_owned());
            return Err(CacheError::NamespaceNotCached { resource, namespace });
        }
        let snapshot = entry.informer().store().snapshot();
        let candidates = self.candidates(&snapshot, query, namespace)?;
        let matcher = Matcher::new(&query.labels);
        let wanted = candidates
            .filter(|object| namespace.is_none_or(|namespace| object.namespace() == namespace))
            .filter(|object| {
                query.terms.iter().all(|(name, value)| snapshot.is_in(name, value, object.key()))
            })
            .filter(|object| matcher.matches(object.labels()))
            .filter_map(|object| object.seen_as(&self.lens).ok());
        Ok(wanted.take(query.limit.unwrap_or(usize::MAX)).collect())
    }

    /// The shortest way to what a query asks for.
    fn candidates<'a>(
        &self,
        snapshot: &'a Snapshot<Raw>,
        query: &Query,
        namespace: Option<&str>,
    ) -> Result<Box<dyn Iterator<Item = Object<Raw>> + 'a>, CacheError> {
        let mut shortest: Option<(usize, &str, &str)> = None;
        for (name, value) in &query.terms {
            let no_index = || CacheError::NoIndex { resource: self.resource(), name: name.clone() };
            let count = snapshot.count(name, value).ok_or_else(no_index)?;
            if shortest.is_none_or(|(least, ..)| count < least) {
                shortest = Some((count, name, value));
            }
        }
        if let Some((_, name, value)) = shortest
            && let Some(found) = snapshot.by_index(name, value)
        {
            return Ok(Box::new(found.collect::<Vec<_>>().into_iter()));
        }
        Ok(match namespace {
            Some(namespace) => Box::new(snapshot.namespaced(namespace)),
            None => Box::new(snapshot.iter()),
        })
    }

    pub(super) fn not_found(&self, namespace: &str, name: &str) -> CacheError {
        let resource = &self.about.resource;
        CacheError::NotFound(NotFound {
            group: resource.group.clone(),
            plural: resource.resource.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl<K> Clone for Kind<K> {
    fn clone(&self) -> Self {
        let Self { cache, about, lens, whole } = self;
        Self { cache: cache.clone(), about: Arc::clone(about), lens: Arc::clone(lens), whole: *whole }
    }
}

impl<K> fmt::Debug for Kind<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kind").field(&self.about.name()).finish()
    }
}
