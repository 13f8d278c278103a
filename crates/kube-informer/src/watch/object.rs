//! Waiting for one object to be as it should be.

use kube_core::Resource;

use super::{UntilError, Verdict};
use crate::informer::{InformerError, Phase, SharedInformer};
use crate::object::Object;

/// Waits until one object in an informer's copy is as it should be, and returns it.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{SharedInformer, source::KubeSource, watch};
/// use std::time::Duration;
///
/// fn is_running(pod: &Pod) -> bool {
///     pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # let client = server.client()?;
/// let pods = SharedInformer::new(KubeSource::<Pod>::all(client, &()));
/// pods.start();
/// # server.seed(
/// #     "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: b}]}, status: {phase: Running}}",
/// # )?;
/// let running = watch::wait_for_object(&pods, "default", "web", |pod| pod.is_some_and(|pod| is_running(pod)));
/// let pod = tokio::time::timeout(Duration::from_secs(60), running).await??;
/// assert_eq!(pod.unwrap().name(), "web");
///
/// # server.delete("v1/Pod", "default", "web")?;
/// // Until it is gone.
/// let gone = watch::wait_for_object(&pods, "default", "web", |pod| pod.is_none()).await?;
/// assert!(gone.is_none());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
///
/// The condition is called with the object as the copy has it, or with none if it has none: once as soon as the
/// informer has synced, and again for each state that the copy is found in. States that lasted only for a moment
/// may be missed, the last one never. It may return a `Result` to say that there is nothing more to wait for, for example
/// because a pod has failed. What is returned is what the condition was called with.
///
/// It costs a look at one object whenever the copy has changed, however many objects there are. It waits for as long as
/// the informer runs, and for one that is not started until it is: give up with [`tokio::time::timeout`].
///
/// # Errors
///
/// [`UntilError::Condition`] if the condition fails, and [`UntilError::Informer`] if the informer is stopped.
pub async fn wait_for_object<K, V>(
    informer: &SharedInformer<K>,
    namespace: &str,
    name: &str,
    mut condition: impl FnMut(Option<&Object<K>>) -> V,
) -> Result<Option<Object<K>>, UntilError>
where
    K: Resource + Send + Sync + 'static,
    V: Verdict,
{
    // The status changes after the copy has: whoever looks after that sees what changed.
    let mut status = informer.watch_status();
    let mut seen: Option<Option<Object<K>>> = None;
    loop {
        let (phase, synced) = {
            let status = status.borrow_and_update();
            (status.phase, status.synced)
        };
        if phase == Phase::Stopped {
            return Err(stopped(informer).into());
        }
        let now = informer.store().get(namespace, name);
        // Before it has synced, nothing is known of what the copy does not have.
        if synced && !seen.as_ref().is_some_and(|seen| is_same(seen.as_ref(), now.as_ref())) {
            if condition(now.as_ref()).into_verdict().map_err(UntilError::Condition)? {
                return Ok(now);
            }
            seen = Some(now);
        }
        if status.changed().await.is_err() {
            return Err(stopped(informer).into());
        }
    }
}

fn is_same<K>(one: Option<&Object<K>>, other: Option<&Object<K>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_same(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn stopped<K: Resource + Send + Sync + 'static>(informer: &SharedInformer<K>) -> InformerError {
    InformerError::Stopped { name: informer.name().to_owned() }
}
