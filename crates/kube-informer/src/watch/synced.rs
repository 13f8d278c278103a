//! Waiting for something to happen to what an informer follows.

use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use kube_core::Resource;

use super::until::Conditions;
use super::{UntilError, Verdict};
use crate::fanout::{Event, ListenerOptions};
use crate::informer::{InformerError, SharedInformer};
use crate::store::Snapshot;

/// Waits until a condition is met by an event of an informer, and returns the event; further conditions may
/// [follow](UntilSynced::then), and a [precondition](UntilSynced::precondition) may go before.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::{SharedInformer, fanout::Event, source::KubeSource, watch};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}")?;
/// # let client = server.client()?;
/// let configs = SharedInformer::new(KubeSource::<ConfigMap>::all(client, &()));
/// configs.start();
/// let event = watch::until_synced(&configs, |event| event.object().name() == "hello").await?;
/// assert!(matches!(event, Some(Event::Added { initial: true, .. })));
///
/// // Nothing to wait for: it is there already.
/// let event = watch::until_synced(&configs, |_| false)
///     .precondition(|copy| copy.get("default", "hello").is_some())
///     .await?;
/// assert!(event.is_none());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
///
/// The events are those of [`SharedInformer::subscribe`]: first what is there, as [`Event::Added`], then what happens;
/// objects that went while nobody could see it come as [`Event::Deleted`] too. The informer survives everything, also
/// versions that the server has forgotten, by listing again. States in between may be missed then, or when very
/// many events wait, but never the last one: conditions should be about states, not about steps.
///
/// It waits for as long as the informer runs, and for one that is not started until it is: give up with
/// [`tokio::time::timeout`].
///
/// # Errors
///
/// [`UntilError::Condition`] if a condition fails, and [`UntilError::Informer`] if the informer is stopped.
pub fn until_synced<'a, K, V: Verdict>(
    informer: &'a SharedInformer<K>,
    condition: impl FnMut(&Event<K>) -> V + Send + 'a,
) -> UntilSynced<'a, K>
where
    K: Resource + Send + Sync + 'static,
{
    UntilSynced { informer, precondition: None, conditions: Conditions::new(condition) }
}

/// Waits when it is awaited; made by [`until_synced`].
#[must_use = "nothing is waited for until this is awaited"]
pub struct UntilSynced<'a, K> {
    informer: &'a SharedInformer<K>,
    precondition: Option<Precondition<'a, K>>,
    conditions: Conditions<'a, Event<K>>,
}

type Precondition<'a, K> = Box<dyn FnOnce(&Snapshot<K>) -> Result<bool, UntilError> + Send + 'a>;

impl<'a, K: Resource + Send + Sync + 'static> UntilSynced<'a, K> {
    /// Asks first, once the informer has synced, whether the copy is already as it should be. If so there is no event to
    /// wait for, and none is returned.
    pub fn precondition<V: Verdict>(
        mut self,
        precondition: impl FnOnce(&Snapshot<K>) -> V + Send + 'a,
    ) -> Self {
        self.precondition =
            Some(Box::new(|copy| precondition(copy).into_verdict().map_err(UntilError::Condition)));
        self
    }

    /// Waits, once the conditions so far were met, for another. The event that met the last one may meet this one too.
    pub fn then<V: Verdict>(mut self, condition: impl FnMut(&Event<K>) -> V + Send + 'a) -> Self {
        self.conditions.push(condition);
        self
    }

    async fn wait(self) -> Result<Option<Event<K>>, UntilError> {
        let stopped = InformerError::Stopped { name: self.informer.name().to_owned() };
        // Before the copy is looked at, so that nothing falls between.
        let options = ListenerOptions::new().name("until_synced").resync(Duration::ZERO);
        let events = self.informer.subscribe_with(options)?;
        if let Some(precondition) = self.precondition {
            if !self.informer.synced().await {
                return Err(stopped.into());
            }
            if precondition(&self.informer.store().snapshot())? {
                return Ok(None);
            }
        }
        let end = stream::once(async move { Err(stopped.into()) });
        self.conditions.met_by(events.map(Ok).chain(end).boxed()).await.map(Some)
    }
}

impl<'a, K: Resource + Send + Sync + 'static> IntoFuture for UntilSynced<'a, K> {
    type Output = Result<Option<Event<K>>, UntilError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.wait().boxed()
    }
}

impl<K: Send + Sync + 'static> fmt::Debug for UntilSynced<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntilSynced")
            .field("informer", self.informer)
            .field("conditions", &self.conditions.len())
            .finish_non_exhaustive()
    }
}
