//! Settings for a factory.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::Client;
use kube_core::{DynamicObject, GroupVersionResource, Resource};
use kube_wire::Codec;
use serde::de::DeserializeOwned;

use super::resource::{KnownTypes, Make, make_known};
use super::{FactoryError, InformerFactory, Mode, Typed, known};
use crate::informer::{InformerBuilder, SharedInformer};
use crate::metrics::Metrics;
use crate::object::Residency;
use crate::reflector::Config;
use crate::selector::{check_fields, check_labels};
use crate::source::{AnyTransform, KubeSource, SourceError, Transform, Tweak, resource_name, transform_as};

/// Changes what is asked for, for every type.
type TweakHook = Box<dyn Fn(&mut Tweak) + Send + Sync>;

/// Settings for a factory; made by [`InformerFactory::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct FactoryBuilder<M> {
    client: Client,
    pub(super) settings: Settings,
    mode: PhantomData<fn() -> M>,
}

/// Changes what all objects have.
type MetadataHook = Arc<dyn Fn(&mut ObjectMeta) + Send + Sync>;

/// Is told what goes wrong with which resource.
type ErrorHook = Arc<dyn Fn(&str, &SourceError) + Send + Sync>;

/// What is set about a factory.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) name: Option<String>,
    /// None for all.
    pub(super) namespaces: Option<BTreeSet<String>>,
    pub(super) resync: Duration,
    pub(super) resync_of: HashMap<TypeId, Duration>,
    pub(super) tweak: Option<TweakHook>,
    pub(super) transform_metadata: Option<MetadataHook>,
    /// Each an `Arc<dyn Fn(K) -> K + Send + Sync>` of its type.
    transforms: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    pub(super) kinds: KnownTypes,
    pub(super) residency: Residency,
    pub(super) metrics: Option<Metrics>,
    on_error: Option<ErrorHook>,
    pub(super) config: Config,
    /// None for another each time.
    pub(super) seed: Option<u64>,
}

impl<M: Mode> FactoryBuilder<M> {
    pub(super) fn new(client: Client) -> Self {
        Self { client, settings: Settings::default(), mode: PhantomData }
    }

    /// A name that stands before those of the informers, for logs and metrics.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// Only objects of one namespace. Types without namespaces have all their objects.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Only objects of these namespaces. Types without namespaces have all their objects.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.namespaces = Some(namespaces.into_iter().map(Into::into).collect());
        self
    }

    /// Listeners are told everything again so often; never by default.
    pub fn default_resync(mut self, period: Duration) -> Self {
        self.settings.resync = period;
        self
    }

    /// Changes what is asked for, for every type: selectors and other parameters. Selectors that make no sense are
    /// refused when an informer is asked for. The function must not ask the factory.
    pub fn tweak(mut self, change: impl Fn(&mut Tweak) + Send + Sync + 'static) -> Self {
        self.settings.tweak = Some(Box::new(change));
        self
    }

    /// Changes the metadata of each object of every type, exactly once, before it reaches the store: to drop
    /// annotations that nobody reads.
    pub fn transform_metadata(mut self, change: impl Fn(&mut ObjectMeta) + Send + Sync + 'static) -> Self {
        self.settings.transform_metadata = Some(Arc::new(change));
        self
    }

    /// How objects rest in memory; adaptive by default.
    pub fn residency(mut self, residency: Residency) -> Self {
        self.settings.residency = residency;
        self
    }

    /// Shows all informers there.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.settings.metrics = Some(metrics.clone());
        self
    }

    /// Is called with everything that goes wrong while following, and the resource that it goes wrong with. See
    /// [`InformerBuilder::on_error`](crate::informer::InformerBuilder::on_error).
    pub fn on_error(mut self, hook: impl Fn(&str, &SourceError) + Send + Sync + 'static) -> Self {
        self.settings.on_error = Some(Arc::new(hook));
        self
    }

    /// How to follow the server.
    pub fn config(mut self, config: Config) -> Self {
        self.settings.config = config;
        self
    }

    /// Makes waits, time-outs and the order of objects repeatable, for tests only; each type gets its own from it.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }

    /// The factory, without informers yet.
    pub fn build(self) -> InformerFactory<M> {
        InformerFactory::assemble(self.client, self.settings)
    }
}

impl FactoryBuilder<Typed> {
    /// Listeners of this type are told everything again so often, instead of as often as others.
    pub fn resync_of<K>(mut self, period: Duration) -> Self
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        make_known(&mut self.settings.kinds, Codec::<K>::serde());
        self.settings.resync_of.insert(TypeId::of::<K>(), period);
        self
    }

    /// Changes each object of a type, exactly once, before it reaches the store: to drop what nobody reads.
    pub fn transform_of<K>(mut self, transform: impl Fn(K) -> K + Send + Sync + 'static) -> Self
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        make_known(&mut self.settings.kinds, Codec::<K>::serde());
        let transform: Transform<K> = Arc::new(transform);
        self.settings.transforms.insert(TypeId::of::<K>(), Box::new(transform));
        self
    }
}

impl Settings {
    /// An informer of a kind, with what holds for all kinds; the number tells it from others.
    pub(super) fn informer<K>(
        &self,
        codec: Codec<K>,
        client: &Client,
        kind: &K::DynamicType,
        cluster_scoped: bool,
        number: u64,
    ) -> Result<InformerBuilder<K>, FactoryError>
    where
        K: Resource + Send + Sync + 'static,
    {
        let tweak = self.checked_tweak()?;
        let tweaked = |source: KubeSource<K>| source.tweak(|own| *own = tweak.clone());
        let mut builder = match &self.namespaces {
            Some(namespaces) if !cluster_scoped => {
                let source = |namespace: &String| {
                    tweaked(KubeSource::decoding(codec, client.clone(), Some(namespace), kind))
                };
                SharedInformer::across(namespaces.iter().map(source)).map_err(FactoryError::Namespaces)?
            }
            _ => SharedInformer::builder(tweaked(KubeSource::decoding(codec, client.clone(), None, kind))),
        };
        let resource = resource_name(&K::plural(kind), &K::group(kind));
        if let Some(name) = &self.name {
            builder = builder.name(format!("{name}/{resource}"));
        }
        if let Some(hook) = self.on_error.clone() {
            builder = builder.on_error(move |error| hook(&resource, error));
        }
        if let Some(metrics) = &self.metrics {
            builder = builder.metrics(metrics);
        }
        if let Some(seed) = self.seed {
            builder = builder.seed(seed.wrapping_add(number));
        }
        let builder = builder.resync(self.resync);
        Ok(builder.residency(self.residency).config(self.config.clone()))
    }

    /// What is asked for.
    fn checked_tweak(&self) -> Result<Tweak, FactoryError> {
        let mut tweak = Tweak::default();
        if let Some(change) = &self.tweak {
            change(&mut tweak);
        }
        check_labels(&tweak.label_selector)?;
        check_fields(&tweak.field_selector)?;
        Ok(tweak)
    }

    /// What makes the informer of a resource whose type was made known.
    pub(super) fn maker_of(&self, asked: &GroupVersionResource) -> Option<Make> {
        self.kinds.get(&known::as_key(asked)).cloned()
    }

    /// How often listeners of a type are told everything again.
    pub(super) fn resync_of<K: 'static>(&self) -> Duration {
        self.resync_of.get(&TypeId::of::<K>()).copied().unwrap_or(self.resync)
    }

    /// What is to be done to each object that is kept as bytes.
    pub(super) fn transform_bytes(&self) -> Option<AnyTransform> {
        let change = self.transform_metadata.clone()?;
        Some(transform_as(move |mut object: DynamicObject| {
            change(&mut object.metadata);
            object
        }))
    }

    /// What is to be done to each object of a type.
    pub(super) fn transform_of<K: Resource + 'static>(
        &self,
    ) -> Option<impl Fn(K) -> K + Send + Sync + 'static + use<K>> {
        let all = self.transform_metadata.clone();
        let own = self.transforms.get(&TypeId::of::<K>());
        let own = own.and_then(|any| any.downcast_ref::<Transform<K>>()).cloned();
        if all.is_none() && own.is_none() {
            return None;
        }
        Some(move |mut object: K| {
            if let Some(change) = &all {
                change(object.meta_mut());
            }
            match &own {
                Some(transform) => transform(object),
                None => object,
            }
        })
    }
}

impl<M> fmt::Debug for FactoryBuilder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactoryBuilder")
            .field("namespaces", &self.settings.namespaces)
            .finish_non_exhaustive()
    }
}
