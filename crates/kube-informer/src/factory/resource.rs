//! The typed factory, asked by group, version and resource.

use std::collections::HashMap;
use std::sync::Arc;

use kube_core::{GroupVersionResource, Resource};
use kube_wire::Codec;
use serde::de::DeserializeOwned;

use super::registry::State;
use super::typed::Asked;
use super::{FactoryBuilder, FactoryError, Inner, SharedInformerFactory, Typed, TypedQuestion, known};
use crate::accessors::{Kinds, Visit};
use crate::informer::{GenericInformer, UnnamedInformer};
use crate::object::{Lenses, Raw};
use crate::source::{Scope, keep_bytes};

impl SharedInformerFactory {
    /// The informer of a resource, for those who do not know its type: any built-in one, and others that were made known
    /// when the factory was built, with [`FactoryBuilder::kind`] or [`FactoryBuilder::kinds`].
    ///
    /// Those who know the type, and ask with [`of`](Self::of) and its like, share the watch and the objects, whoever came
    /// first. No code is compiled for a type that nobody names.
    ///
    /// ```
    /// use k8s_openapi::api::batch::v1::Job;
    /// use kube_core::GroupVersionResource;
    /// use kube_informer::SharedInformerFactory;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::TestServer::start().await?;
    /// # server.seed("{apiVersion: batch/v1, kind: Job, metadata: {name: backup}, spec: {parallelism: 3}}")?;
    /// # let client = server.client()?;
    /// let factory = SharedInformerFactory::new(client);
    /// let jobs = factory.for_resource(&GroupVersionResource::gvr("batch", "v1", "jobs"))?;
    /// factory.start();
    /// factory.wait_for_cache_sync().await?;
    /// let backup = jobs.lister().get("default", "backup")?;
    /// assert_eq!(backup.key(), "default/backup");
    /// // Whoever wants to look into it says what it is.
    /// let backup = backup.downcast::<Job>().expect("it is a job");
    /// assert_eq!(backup.spec.as_ref().and_then(|spec| spec.parallelism), Some(3));
    /// factory.shutdown().await;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Result<GenericInformer, FactoryError> {
        let Inner { client, settings, registry } = &*self.inner;
        if let Some(make) = settings.maker_of(resource) {
            return make(self);
        }
        let Some((kind, cluster_scoped)) = known::built_in_kind(resource) else {
            return Err(known::unknown(resource, settings.kinds.keys()));
        };
        let question = TypedQuestion(Asked::Resource(known::as_key(resource)));
        let is_it = |scope: &Scope| {
            (&scope.group, &scope.version, &scope.plural) == (&kind.group, &kind.version, &kind.plural)
        };
        // Somebody may have asked by type.
        let named = |known: &State<TypedQuestion>| known.oldest(|one| is_it(one.scope())).cloned();
        let informer = registry.get_or_make_any(question, named, |number| {
            let builder = settings.informer(Codec::<Raw>::serde(), client, &kind, cluster_scoped, number)?;
            let transform = settings.transform_bytes();
            let informer = builder.making(keep_bytes(move |_| transform.clone())).build();
            let lenses = Lenses::new(kind.clone(), settings.residency);
            Ok(Arc::new(UnnamedInformer::new(informer, lenses, settings.resync)))
        })?;
        Ok(GenericInformer::of(informer))
    }
}

impl FactoryBuilder<Typed> {
    /// Makes a type known by its [resource](SharedInformerFactory::for_resource): a custom one, or one that is to stand for a
    /// built-in one.
    pub fn kind<K>(mut self) -> Self
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        Add(&mut self.settings.kinds).visit(Codec::<K>::serde);
        self
    }

    /// Makes several types known by their [resources](SharedInformerFactory::for_resource): those of a macro
    /// [`accessors!`](macro@crate::accessors), or built-in ones.
    ///
    /// Built-in resources are known without it. Where their types are made known, they are decoded when they come, and those
    /// who know the type get the very same informer. A program contains the code of all types that it makes known; all
    /// that are built in take minutes to compile.
    ///
    /// ```no_run
    /// use kube_informer::SharedInformerFactory;
    /// use kube_informer::accessors::groups;
    ///
    /// # fn example(client: kube_client::Client) {
    /// let factory = SharedInformerFactory::builder(client)
    ///     .kinds::<groups::core::v1::V1>()
    ///     .kinds::<groups::apps::Apps>()
    ///     .build();
    /// # drop(factory);
    /// # }
    /// ```
    pub fn kinds<S: Kinds>(mut self) -> Self {
        S::each(&mut Add(&mut self.settings.kinds));
        self
    }
}

/// Makes a type known that something is said about, unless another stands for its resource.
pub(super) fn make_known<K>(known: &mut KnownTypes, codec: Codec<K>)
where
    K: Resource<DynamicType = ()> + Send + Sync + 'static,
{
    let resource = GroupVersionResource::gvr(&K::group(&()), &K::version(&()), &K::plural(&()));
    known.entry(resource).or_insert_with(|| make(codec));
}

fn make<K>(codec: Codec<K>) -> Make
where
    K: Resource<DynamicType = ()> + Send + Sync + 'static,
{
    Arc::new(move |factory| Ok(factory.decoding(codec)?.into()))
}

/// Types that were made known, by their resource.
pub(super) type KnownTypes = HashMap<GroupVersionResource, Make>;

/// Makes the informer of a type, for those who do not know it.
pub(super) type Make =
    Arc<dyn Fn(&SharedInformerFactory) -> Result<GenericInformer, FactoryError> + Send + Sync>;

struct Add<'a>(&'a mut KnownTypes);

impl Visit for Add<'_> {
    fn visit<K>(&mut self, codec: impl FnOnce() -> Codec<K>)
    where
        K: Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        let resource = GroupVersionResource::gvr(&K::group(&()), &K::version(&()), &K::plural(&()));
        self.0.insert(resource, make(codec()));
    }
}
