//! What all controllers here do the same way: take a key, look at it, try again if that failed.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kube_controller::workqueue::WorkQueue;
use kube_informer::panics;
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
    /// There is a mistake in the program.
    #[error("it has panicked: {0}")]
    Panicked(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// What comes of looking at a key.
pub type Outcome<T = ()> = Result<T, SyncError>;

/// When to look at a key again; none for when something changes.
pub type Again = Option<Duration>;

/// Works on keys until it is told to stop, each with one worker at a time. A key that makes the work panic is told of and
/// tried again like any other that fails; the worker goes on.
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
                // Also a panic before there is a future is one of this key alone.
                let syncing = AssertUnwindSafe(async { sync(work.clone()).await }).catch_unwind();
                let outcome = match &options.leader {
                    Some(leader) => leader.while_leading(syncing).await,
                    None => Some(syncing.await),
                };
                // Another may lead: this ends, and so does everything here.
                let Some(outcome) = outcome else { break };
                let outcome =
                    outcome.unwrap_or_else(|panic| Err(SyncError::Panicked(panics::message(panic))));
                match outcome {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use k8s_openapi::jiff::Timestamp;
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_that_panics_is_told_of_and_tried_again_and_the_only_worker_goes_on() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let options =
            Options::new(|| Timestamp::UNIX_EPOCH).on_report(move |what| log.lock().push(what.to_owned()));
        let queue = WorkQueue::new();
        queue.add("bad".to_owned());
        queue.add("good".to_owned());
        let (stop, tries) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let (done, counted) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(&tries));
        let seen = Arc::clone(&done);
        let sync = move |key: String| {
            // The first time before there is a future, and then in it.
            let number = if key == "bad" { counted.fetch_add(1, Ordering::Relaxed) } else { usize::MAX };
            assert!(number != 0, "at once");
            let seen = Arc::clone(&seen);
            async move {
                assert!(number != 1, "in the middle");
                seen.lock().push(key);
                Ok(None)
            }
        };
        let working = work(&queue, 1, &stop, &options, sync);
        let ended = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            stop.cancel();
        };
        tokio::join!(working, ended);
        assert_eq!(*done.lock(), ["good", "bad"]);
        assert_eq!(*told.lock(), ["bad: it has panicked: at once", "bad: it has panicked: in the middle"]);
    }
}
