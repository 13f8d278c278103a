//! The typed factory, asked by group, version and resource.

use std::collections::HashMap;

use kube_core::{GroupVersionResource, Resource};
use serde::de::DeserializeOwned;

use super::{FactoryBuilder, FactoryError, SharedInformerFactory, Typed, known};
use crate::accessors::{Kinds, Visit};
use crate::informer::GenericInformer;

impl SharedInformerFactory {
    /// The informer of a resource, for those who do not know its type, but made it known when the factory was built:
    /// one by one with [`FactoryBuilder::kind`], or many with [`FactoryBuilder::kinds`]. It is the same informer that those
    /// who know the type get from [`of`](Self::of) and its like.
    ///
    /// ```
    /// use kube_core::GroupVersionResource;
    /// use kube_informer::SharedInformerFactory;
    /// use kube_informer::accessors::groups::batch;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::TestServer::start().await?;
    /// # server.seed("{apiVersion: batch/v1, kind: Job, metadata: {name: backup}}")?;
    /// # let client = server.client()?;
    /// let factory = SharedInformerFactory::builder(client).kinds::<batch::Batch>().build();
    /// let jobs = factory.for_resource(&GroupVersionResource::gvr("batch", "v1", "jobs"))?;
    /// factory.start();
    /// factory.wait_for_cache_sync().await?;
    /// assert_eq!(jobs.lister().get("default", "backup")?.key(), "default/backup");
    /// factory.shutdown().await;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Result<GenericInformer, FactoryError> {
        match self.inner.settings.maker_of(resource) {
            Some(make) => make(self),
            None => Err(known::unknown(resource, self.inner.settings.kinds.keys())),
        }
    }
}

impl FactoryBuilder<Typed> {
    /// Makes a type known by its [resource](SharedInformerFactory::for_resource).
    pub fn kind<K>(mut self) -> Self
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        Add(&mut self.settings.kinds).visit::<K>();
        self
    }

    /// Makes several types known by their [resources](SharedInformerFactory::for_resource).
    ///
    /// A program contains the code of all types that it makes known. With all that are built in that takes minutes to
    /// compile; most programs know what they need:
    ///
    /// ```no_run
    /// use kube_informer::SharedInformerFactory;
    /// use kube_informer::accessors::{BuiltIn, groups};
    ///
    /// # fn example(client: kube_client::Client) {
    /// let all = SharedInformerFactory::builder(client.clone()).kinds::<BuiltIn>().build();
    /// let some = SharedInformerFactory::builder(client)
    ///     .kinds::<groups::core::v1::V1>()
    ///     .kinds::<groups::apps::Apps>()
    ///     .build();
    /// # drop((all, some));
    /// # }
    /// ```
    pub fn kinds<S: Kinds>(mut self) -> Self {
        S::each(&mut Add(&mut self.settings.kinds));
        self
    }
}

/// Types that were made known, by their resource.
pub(super) type KnownTypes = HashMap<GroupVersionResource, Make>;

/// Makes the informer of a type, for those who do not know it.
pub(super) type Make = fn(&SharedInformerFactory) -> Result<GenericInformer, FactoryError>;

struct Add<'a>(&'a mut KnownTypes);

impl Visit for Add<'_> {
    fn visit<K>(&mut self)
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let resource = GroupVersionResource::gvr(&K::group(&()), &K::version(&()), &K::plural(&()));
        self.0.insert(resource, |factory| Ok(factory.of::<K>()?.into()));
    }
}
