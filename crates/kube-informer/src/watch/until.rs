//! Waiting for conditions, one after the other.

use std::fmt;
use std::future::IntoFuture;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};

use super::{UntilError, WatchError};

/// What a condition may return: whether it is met, or a `Result` of that if it may fail.
pub trait Verdict {
    /// Whether the condition is met, or why nobody needs to wait for it any more.
    fn into_verdict(self) -> Result<bool, Box<dyn std::error::Error + Send + Sync>>;
}

impl Verdict for bool {
    fn into_verdict(self) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self)
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> Verdict for Result<bool, E> {
    fn into_verdict(self) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
        self.map_err(Into::into)
    }
}

/// Waits until a condition is met by an event, and returns the event; further conditions may [follow](Until::then).
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::source::KubeSource;
/// use kube_informer::watch::{self, Change, RetryWatch};
/// use std::time::Duration;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # let (client, version) = (server.client()?, server.resource_version().to_string());
/// # server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}")?;
/// # server.delete("v1/ConfigMap", "default", "hello")?;
/// let changes = RetryWatch::new(KubeSource::<ConfigMap>::all(client, &()), version)?;
/// let came_and_went = watch::until(changes, |change| matches!(change, Change::Added(_)))
///     .then(|change| matches!(change, Change::Deleted(_)));
///
/// // It has no time-out of its own.
/// let last = tokio::time::timeout(Duration::from_secs(60), came_and_went).await??;
/// assert_eq!(last.object().unwrap().metadata.name.as_deref(), Some("hello"));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
///
/// The events are those of a [`RetryWatch`](super::RetryWatch), or of a `&mut RetryWatch` that is to be used
/// afterwards. The condition is called with each of them, in order, and no event is skipped. It may be about an edge: a
/// state that was there only for a moment is seen. That is why a version that the server has forgotten is an error
/// here; to wait for a state, however it came about, use [`until_synced`](super::until_synced) or
/// [`wait_for_object`](super::wait_for_object).
///
/// # Errors
///
/// [`UntilError::Condition`] if a condition fails, [`UntilError::Watch`] if the watch does, and [`UntilError::Ended`] if
/// the events end otherwise.
pub fn until<'a, T: Send + 'a, V: Verdict>(
    events: impl Stream<Item = Result<T, WatchError>> + Send + 'a,
    condition: impl FnMut(&T) -> V + Send + 'a,
) -> Until<'a, T> {
    Until { events: events.map_err(UntilError::from).boxed(), conditions: Conditions::new(condition) }
}

/// Waits when it is awaited; made by [`until`].
#[must_use = "nothing is waited for until this is awaited"]
pub struct Until<'a, T> {
    events: BoxStream<'a, Result<T, UntilError>>,
    conditions: Conditions<'a, T>,
}

impl<'a, T: Send + 'a> Until<'a, T> {
    /// Waits, once the conditions so far were met, for another. The event that met the last one may meet this one too.
    pub fn then<V: Verdict>(mut self, condition: impl FnMut(&T) -> V + Send + 'a) -> Self {
        self.conditions.push(condition);
        self
    }
}

impl<'a, T: Send + 'a> IntoFuture for Until<'a, T> {
    type Output = Result<T, UntilError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.conditions.met_by(self.events).boxed()
    }
}

impl<T> fmt::Debug for Until<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Until").field("conditions", &self.conditions.0.len()).finish_non_exhaustive()
    }
}

/// Conditions that are to be met one after the other; at least one.
pub(super) struct Conditions<'a, T>(Vec<Condition<'a, T>>);

type Condition<'a, T> = Box<dyn FnMut(&T) -> Result<bool, UntilError> + Send + 'a>;

impl<'a, T: Send + 'a> Conditions<'a, T> {
    pub(super) fn new<V: Verdict>(condition: impl FnMut(&T) -> V + Send + 'a) -> Self {
        let mut conditions = Self(Vec::new());
        conditions.push(condition);
        conditions
    }

    pub(super) fn push<V: Verdict>(&mut self, mut condition: impl FnMut(&T) -> V + Send + 'a) {
        self.0.push(Box::new(move |event| condition(event).into_verdict().map_err(UntilError::Condition)));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the event that met the last condition.
    pub(super) async fn met_by(
        self,
        mut events: BoxStream<'a, Result<T, UntilError>>,
    ) -> Result<T, UntilError> {
        let mut last = None;
        for mut condition in self.0 {
            let mut met = match &last {
                Some(event) => condition(event)?,
                None => false,
            };
            while !met {
                let event = events.next().await.ok_or(UntilError::Ended)??;
                met = condition(&event)?;
                last = Some(event);
            }
        }
        // There is at least one condition, and it was met by an event.
        last.ok_or(UntilError::Ended)
    }
}
