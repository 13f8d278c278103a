//! What all controllers here do the same way: take a key, look at it, try again if that failed.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kube_controller::in_words;
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
    #[error("{}", said(.0))]
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

/// What the server said, and nothing else: what Go makes of such an error, and so what the real controllers write into
/// events and conditions.
pub fn said(error: &kube_client::Error) -> String {
    match error {
        kube_client::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => in_words(other),
    }
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
    use kube_controller::leader::LeaderElector;
    use kube_controller::manager::{Manager, ManagerError, Task};
    use kube_core::Status;
    use kube_testserver::TestServer;
    use parking_lot::Mutex;
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn what_a_server_refused_is_told_in_its_words_alone() {
        let refused = Status::failure("pods \"web-\" is forbidden: it is full", "Forbidden").with_code(403);
        let error = SyncError::from(kube_client::Error::Api(refused.boxed()));
        assert_eq!(error.to_string(), "pods \"web-\" is forbidden: it is full");
        let silent = Status { code: 503, ..Status::default() };
        assert_eq!(SyncError::from(kube_client::Error::Api(silent.boxed())).to_string(), "503");
        let mistyped = serde_json::from_str::<u32>("\"hunter2\"").unwrap_err();
        let error = SyncError::from(kube_client::Error::SerdeError(mistyped)).to_string();
        assert!(error.contains("it does not fit its type") && !error.contains("hunter2"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn workers_do_nothing_when_a_frozen_process_wakes_up_after_the_lease() {
        let server = TestServer::start().await.unwrap();
        let election = LeaderElector::builder(server.in_process_client(), "default", "lock").identity("one");
        let manager = Manager::builder().leader_election(election).build().await.unwrap();
        let mut options = Options::new(|| Timestamp::UNIX_EPOCH);
        options.leader = Some(manager.handle());
        let acts = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&acts);
        let queue = WorkQueue::new();
        for number in 0..50 {
            queue.add(number.to_string());
        }
        manager
            .add(Task::new("works", move |stop| async move {
                let act = move |_: String| {
                    let log = Arc::clone(&log);
                    async move {
                        // Some are in the middle of their work, and others wait for their turn.
                        for _ in 0..3 {
                            log.lock().push(Instant::now());
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                        Ok(Some(Duration::from_millis(20)))
                    }
                };
                // As a task of its own: nobody else asks for it.
                let working = tokio::spawn(async move { work(&queue, 8, &stop, &options, act).await });
                Ok(working.await?)
            }))
            .unwrap();
        let running = tokio::spawn(manager.run(CancellationToken::new()));
        // Between two renewals.
        tokio::time::sleep(Duration::from_millis(30_502)).await;
        let frozen = Instant::now();
        assert!(acts.lock().iter().any(|act| frozen - *act < Duration::from_millis(50)), "it works");
        // Nothing of the process runs meanwhile, as with SIGSTOP.
        tokio::time::advance(Duration::from_secs(60)).await;
        let ended = tokio::time::timeout(Duration::from_secs(5), running).await.unwrap().unwrap();
        assert!(matches!(ended, Err(ManagerError::LostLeadership(_))), "{ended:?}");
        let late = acts.lock().iter().filter(|act| **act > frozen + Duration::from_secs(15)).count();
        assert_eq!(late, 0, "acts when another may lead");
    }

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
