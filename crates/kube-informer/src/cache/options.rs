//! What a cache keeps of which kind.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use kube_core::{GroupVersionResource, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::CacheError;
use super::part::Part;
use crate::metrics::Metrics;
use crate::object::Residency;
use crate::random::any_seed;
use crate::reflector::Config;
use crate::selector::{check_fields, check_labels};
use crate::source::{AnyTransform, is_cluster_scoped, is_segment, resource_name, transform_as};

/// How long a read waits for a kind that has not arrived, unless it is said otherwise.
pub const SYNC_TIMEOUT: Duration = Duration::from_secs(30);

/// How often listeners are told everything again, unless it is said otherwise.
pub const RESYNC: Duration = Duration::from_secs(10 * 3600);

/// Which objects are kept, and what of them. What is not set is inherited: from the kind, from the namespace, from the
/// defaults, in this order; what is set to nothing ends that.
#[derive(Clone, Default)]
pub struct ObjectOptions {
    pub(super) labels: Option<String>,
    pub(super) fields: Option<String>,
    pub(super) transform: Option<Option<AnyTransform>>,
    pub(super) resync: Option<Duration>,
}

impl ObjectOptions {
    /// Everything is inherited.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only objects with these labels; all if it is empty.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Only objects with these fields; all if it is empty.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Changes each object before anybody sees it, as whatever type: everybody who reads the kind, as whatever type, sees
    /// it changed. [`DynamicObject`](kube_core::DynamicObject) is the type for all kinds.
    #[must_use]
    pub fn transform<K>(mut self, transform: impl Fn(K) -> K + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Serialize + 'static,
    {
        self.transform = Some(Some(transform_as(transform)));
        self
    }

    /// Changes nothing, whatever would be inherited.
    #[must_use]
    pub fn no_transform(mut self) -> Self {
        self.transform = Some(None);
        self
    }

    /// Listeners are told these objects again so often; never if it is zero. See [`CacheOptions::resync`].
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// What is not set here is as it is there.
    fn or(self, other: &Self) -> Self {
        Self {
            labels: self.labels.or_else(|| other.labels.clone()),
            fields: self.fields.or_else(|| other.fields.clone()),
            transform: self.transform.or_else(|| other.transform.clone()),
            resync: self.resync.or(other.resync),
        }
    }

    fn check(&self) -> Result<(), CacheError> {
        check_labels(self.labels.as_deref().unwrap_or(""))?;
        check_fields(self.fields.as_deref().unwrap_or(""))?;
        Ok(())
    }
}

impl fmt::Debug for ObjectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectOptions")
            .field("labels", &self.labels)
            .field("fields", &self.fields)
            .field("resync", &self.resync)
            .finish_non_exhaustive()
    }
}

/// What a read does if nobody has asked for the kind before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// It begins to follow the kind, and waits for it.
    #[default]
    Start,
    /// It fails.
    Fail,
    /// It asks the server.
    Live,
}

/// What is kept of one kind.
#[derive(Clone, Debug, Default)]
pub struct KindOptions {
    objects: ObjectOptions,
    namespaces: Option<BTreeMap<String, ObjectOptions>>,
    resync: Option<Duration>,
    missing: Option<Missing>,
    residency: Option<Residency>,
}

impl KindOptions {
    /// As all kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which objects are kept, in every namespace that does not say otherwise.
    #[must_use]
    pub fn objects(mut self, options: ObjectOptions) -> Self {
        self.objects = options;
        self
    }

    /// Only these namespaces, instead of those that were named before and of those of other kinds; all if there is none.
    #[must_use]
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self {
        self.namespaces = Some(named(namespaces));
        self
    }

    /// One more namespace, with options of its own, or with others than before. The name `""` is for all that are not named.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>, options: ObjectOptions) -> Self {
        self.namespaces.get_or_insert_default().insert(namespace.into(), options);
        self
    }

    /// Listeners are told everything again so often, unless the [objects](ObjectOptions::resync) say otherwise; never if it
    /// is zero. See [`CacheOptions::resync`].
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// What a read does if nobody has asked for the kind before.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = Some(missing);
        self
    }

    /// How objects rest.
    #[must_use]
    pub fn residency(mut self, residency: Residency) -> Self {
        self.residency = Some(residency);
        self
    }
}

/// Namespaces without options of their own.
fn named(namespaces: impl IntoIterator<Item: Into<String>>) -> BTreeMap<String, ObjectOptions> {
    namespaces.into_iter().map(|namespace| (namespace.into(), ObjectOptions::new())).collect()
}

/// What a cache keeps.
#[derive(Clone, Debug)]
pub struct CacheOptions {
    defaults: ObjectOptions,
    namespaces: Option<BTreeMap<String, ObjectOptions>>,
    kinds: HashMap<GroupVersionResource, KindOptions>,
    /// Kinds without namespaces that have options.
    cluster_scoped: BTreeSet<String>,
    missing: Missing,
    resync: Duration,
    residency: Residency,
    pub(super) idle: Option<Duration>,
    pub(super) sync_timeout: Duration,
    pub(super) config: Config,
    pub(super) seed: u64,
    pub(super) metrics: Option<Metrics>,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            defaults: ObjectOptions::new(),
            namespaces: None,
            kinds: HashMap::new(),
            cluster_scoped: BTreeSet::new(),
            missing: Missing::default(),
            resync: RESYNC,
            residency: Residency::default(),
            idle: None,
            sync_timeout: SYNC_TIMEOUT,
            config: Config::default(),
            seed: any_seed(),
            metrics: None,
        }
    }
}

impl CacheOptions {
    /// Everything of every kind that is asked for.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which objects are kept, where nothing says otherwise.
    #[must_use]
    pub fn objects(mut self, options: ObjectOptions) -> Self {
        self.defaults = options;
        self
    }

    /// Only these namespaces, of kinds that have any, instead of those that were named before; all if there is none.
    #[must_use]
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self {
        self.namespaces = Some(named(namespaces));
        self
    }

    /// All namespaces.
    #[must_use]
    pub fn all_namespaces(mut self) -> Self {
        self.namespaces = None;
        self
    }

    /// One more namespace, with options of its own, or with others than before. The name `""` is for all that are not named.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>, options: ObjectOptions) -> Self {
        self.namespaces.get_or_insert_default().insert(namespace.into(), options);
        self
    }

    /// What is kept of one kind.
    #[must_use]
    pub fn kind<K: Resource<DynamicType = ()> + 'static>(self, options: KindOptions) -> Self {
        self.kind_of::<K>(&(), options)
    }

    /// What is kept of a kind that is not a type.
    #[must_use]
    pub fn kind_of<K: Resource + 'static>(mut self, kind: &K::DynamicType, options: KindOptions) -> Self {
        let resource = GroupVersionResource::gvr(&K::group(kind), &K::version(kind), &K::plural(kind));
        if is_cluster_scoped::<K>() && options.namespaces.as_ref().is_some_and(|names| !names.is_empty()) {
            self.cluster_scoped.insert(resource_name(&resource.resource, &resource.group));
        }
        self.kinds.insert(resource, options);
        self
    }

    /// What a read does if nobody has asked for the kind before.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Listeners are told everything again so often: every ten hours by default, never if it is zero. Kinds, and
    /// [objects](ObjectOptions::resync) by namespace, may say otherwise, and so may [listeners](crate::fanout::ListenerOptions::resync).
    ///
    /// A period of the options is that of all kinds on average: each has its own, between nine and eleven tenths of it, so
    /// that they are not all told again at the same time.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = period;
        self
    }

    /// How objects rest. A cache keeps the bytes of each object once, whatever types it is read as; this says how long
    /// what was decoded of them stays.
    #[must_use]
    pub fn residency(mut self, residency: Residency) -> Self {
        self.residency = residency;
        self
    }

    /// Stops to follow a kind that nobody has read for so long, and that has no listeners. The next read starts it again.
    /// What counts is what is set when the cache is started; less than a second is a second.
    #[must_use]
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = Some(time);
        self
    }

    /// How long a read waits for a kind that has not arrived; [`SYNC_TIMEOUT`] by default.
    #[must_use]
    pub fn sync_timeout(mut self, time: Duration) -> Self {
        self.sync_timeout = time;
        self
    }

    /// How to follow the server.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Makes waits, time-outs and the order of objects repeatable, for tests only.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Shows all kinds there.
    #[must_use]
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self
    }

    pub(super) fn check(&self) -> Result<(), CacheError> {
        if let Some(resource) = self.cluster_scoped.first() {
            return Err(CacheError::ClusterScoped { resource: resource.clone() });
        }
        let kinds = self.kinds.values().filter_map(|kind| kind.namespaces.as_ref());
        let mut names =
            kinds.chain(&self.namespaces).flat_map(BTreeMap::keys).filter(|name| !name.is_empty());
        if let Some(namespace) = names.find(|name| !is_segment(name)) {
            return Err(CacheError::BadNamespace { namespace: namespace.clone() });
        }
        let of = |map: &Option<BTreeMap<String, ObjectOptions>>| -> Vec<ObjectOptions> {
            map.iter().flatten().map(|(_, options)| options.clone()).collect()
        };
        let kinds = self.kinds.values().flat_map(|kind| {
            of(&kind.namespaces).into_iter().chain([kind.objects.clone()]).collect::<Vec<_>>()
        });
        let mut all = of(&self.namespaces).into_iter().chain(kinds).chain([self.defaults.clone()]);
        all.try_for_each(|options| options.check())
    }

    pub(super) fn missing_of(&self, kind: &GroupVersionResource) -> Missing {
        self.kinds.get(kind).and_then(|kind| kind.missing).unwrap_or(self.missing)
    }

    pub(super) fn residency_of(&self, kind: &GroupVersionResource) -> Residency {
        self.kinds.get(kind).and_then(|kind| kind.residency).unwrap_or(self.residency)
    }

    /// A kind without namespaces was given some of its own.
    pub(super) fn confines(&self, kind: &GroupVersionResource) -> bool {
        let own = self.kinds.get(kind).and_then(|kind| kind.namespaces.as_ref());
        own.is_some_and(|names| !names.is_empty())
    }

    /// What is followed of a kind.
    pub(super) fn parts(&self, kind: &GroupVersionResource, namespaced: bool) -> Vec<Part> {
        let mut own = self.kinds.get(kind).cloned().unwrap_or_default();
        own.objects.resync = own.objects.resync.or(own.resync);
        let defaults = self.defaults.clone().or(&ObjectOptions::new().resync(self.resync));
        let names = own.namespaces.as_ref().or(self.namespaces.as_ref()).filter(|_| namespaced);
        let Some(names) = names.filter(|names| !names.is_empty()) else {
            return vec![Part::new(None, BTreeSet::new(), own.objects.or(&defaults), namespaced)];
        };
        let explicit = own.namespaces.clone().unwrap_or_default();
        let named = || names.keys().filter(|name| !name.is_empty());
        let parts = names.keys().map(|name| {
            let options = explicit.get(name).cloned().unwrap_or_default().or(&own.objects);
            let default = self.namespaces.as_ref().and_then(|names| names.get(name));
            let options = options.or(default.unwrap_or(&ObjectOptions::new())).or(&defaults);
            match name.as_str() {
                "" => Part::new(None, named().cloned().collect(), options, true),
                name => Part::new(Some(name.to_owned()), BTreeSet::new(), options, true),
            }
        });
        parts.collect()
    }
}
