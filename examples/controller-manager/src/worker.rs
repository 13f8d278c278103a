//! What all controllers here do the same way: take a key, look at it, try again if that failed.

use std::sync::Arc;
use std::time::Duration;

use kube_controller::workqueue::WorkQueue;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Options;

/// Why a key could not be dealt with; it will be tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The server refused, or could not be reached.
    #[error(transparent)]
    Api(#[from] kube_client::Error),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// What comes of looking at a key.
pub type Outcome<T = ()> = Result<T, SyncError>;

/// When to look at a key again; none for when something changes.
pub type Again = Option<Duration>;

/// Works on keys until it is told to stop, each with one worker at a time.
pub async fn work<F>(
    queue: &WorkQueue<String>,
    workers: usize,
    stop: &CancellationToken,
    options: &Options,
    sync: impl Fn(String) -> F + Send + Sync + 'static,
) where
    F: Future<Output = Outcome<Again>> + Send + 'static,
{
    let sync = Arc::new(sync);
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let (queue, sync, options) = (queue.clone(), Arc::clone(&sync), options.clone());
        tasks.spawn(async move {
            while let Some(work) = queue.get().await {
                match sync(work.clone()).await {
                    Ok(None) => work.forget(),
                    Ok(Some(delay)) => {
                        work.retry_after(delay);
                    }
                    Err(error) => {
                        options.report(&format!("{}: {error}", *work));
                        work.retry();
                    }
                }
            }
        });
    }
    stop.cancelled().await;
    // What waits is found again by whoever comes next.
    queue.shut_down_now();
    while tasks.join_next().await.is_some() {}
}

/// There is no such object, or not any more.
pub fn is_not_found(error: &kube_client::Error) -> bool {
    code(error) == 404
}

/// There is one already.
pub fn is_already_exists(error: &kube_client::Error) -> bool {
    matches!(error, kube_client::Error::Api(status) if status.reason == "AlreadyExists")
}

/// Somebody else has changed it meanwhile.
pub fn is_conflict(error: &kube_client::Error) -> bool {
    code(error) == 409 && !is_already_exists(error)
}

/// The server would not take it, now or ever.
pub fn is_invalid(error: &kube_client::Error) -> bool {
    code(error) == 422
}

/// It cannot be made because its namespace is on its way out.
pub fn is_namespace_terminating(error: &kube_client::Error) -> bool {
    let kube_client::Error::Api(status) = error else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

fn code(error: &kube_client::Error) -> u16 {
    match error {
        kube_client::Error::Api(status) => status.code,
        _ => 0,
    }
}
